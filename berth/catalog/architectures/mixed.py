"""Decoders that mix tokens in two ways at once or by turns: Falcon-H1, MiniMax-Text-01 and M1."""

from dataclasses import replace

from berth.catalog.architectures.hybrid import mamba2_layer
from berth.catalog.architectures.parts import (
    Body,
    Heads,
    attention,
    layer_count,
    linear,
    mlp,
    routed,
    standard_body,
)
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Layer, StateCache


def build_falcon_h1(values: ConfigValues) -> Body:
    """Falcon-H1: attention and Mamba-2 side by side in every layer, then a feed-forward part."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("intermediate_size")
    mixer = mamba2_layer(values, hidden_size)
    rows = values.integer("mamba_d_ssm", default=2 * hidden_size)
    vectors = mixer.vector_parameters + hidden_size
    if not values.flag("mamba_rms_norm"):
        vectors -= rows
    layer = Layer(
        heads.cache(),
        (*attention(heads, hidden_size), *mixer.tensors, *mlp(hidden_size, inner_size)),
        vectors,
        inner_size=inner_size,
        second_cache=mixer.cache,
    )
    return standard_body(values, (layer,) * layer_count(values), heads)


def build_minimax_text(values: ConfigValues) -> Body:
    """MiniMax-Text-01 and M1: seven layers of lightning attention, then one with heads."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("intermediate_size")
    number = values.integer("num_local_experts", high=1 << 14)
    feed = routed(number, hidden_size, inner_size, module="block_sparse_moe")
    rows = heads.query_heads * heads.key_size
    state = StateCache(
        "lightning", 0, heads.query_heads * heads.key_size**2, state_in_model_dtype=True
    )
    lightning = (
        linear("self_attn.qkv_proj", 3 * rows, hidden_size, "column"),
        linear("self_attn.output_gate", rows, hidden_size, "column"),
        linear("self_attn.out_proj", hidden_size, rows, "row"),
    )
    top_k = values.integer("num_experts_per_tok", high=1024)
    base = Layer(heads.cache(), (), 2 * hidden_size, top_k=top_k, inner_size=inner_size)
    full = replace(base, tensors=(*attention(heads, hidden_size), *feed))
    near = replace(
        base,
        cache=state,
        tensors=(*lightning, *feed),
        vector_parameters=base.vector_parameters + rows,
    )
    count = layer_count(values)
    kinds = values.integers("attn_type_list", high=1) or values.integers("layer_types", high=1)
    if len(kinds) < count:
        values.refuse("attn_type_list", f"has {len(kinds)} entries", f"give one per {count} layers")
        return standard_body(values, (), heads)
    layers = tuple(full if kind else near for kind in kinds[:count])
    return standard_body(values, layers, heads)
