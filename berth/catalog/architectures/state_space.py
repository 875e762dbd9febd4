"""Mamba and its mixtures with attention: Mamba 1 and 2, Jamba, Bamba, Granite 4, LFM2."""

from dataclasses import replace

from berth.catalog.architectures.hybrid import mamba2_layer
from berth.catalog.architectures.parts import (
    Body,
    Heads,
    attention,
    kept,
    layer_count,
    linear,
    mlp,
    routed,
    standard_body,
)
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Layer, StateCache

NO_LIMIT_WRITTEN = 2048
"""What vLLM takes for the length where a configuration names none."""


def build_mamba(values: ConfigValues) -> Body:
    """Mamba and Falcon-Mamba: one mixer per layer, no attention."""
    layer = _mamba1_layer(
        values,
        inner_size=values.integer("intermediate_size"),
        state_size=values.integer("state_size", high=8192),
        kernel=values.integer("conv_kernel", default=4, high=64),
        rank=values.integer("time_step_rank"),
        conv_bias=values.flag("use_conv_bias", default=True),
    )
    return _without_attention(values, layer)


def build_mamba2(values: ConfigValues) -> Body:
    """Mamba 2, Codestral Mamba: as in Nemotron-H, every layer."""
    return _without_attention(values, mamba2_layer(values, values.integer("hidden_size")))


def build_jamba(values: ConfigValues) -> Body:
    """Jamba: one attention in eight layers, experts in every second."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("intermediate_size")
    number = values.integer("num_experts", default=16, high=1 << 14)
    top_k = values.integer("num_experts_per_tok", default=2, high=1024)
    state_size = values.integer("mamba_d_state", default=16, high=8192)
    rank = values.integer("mamba_dt_rank", default=-(-hidden_size // 16))
    mixer = _mamba1_layer(
        values,
        inner_size=values.integer("mamba_expand", default=2, high=64) * hidden_size,
        state_size=state_size,
        kernel=values.integer("mamba_d_conv", default=4, high=64),
        rank=rank,
        conv_bias=values.flag("mamba_conv_bias", default=True),
    )
    mixer = replace(mixer, vector_parameters=mixer.vector_parameters + rank + 2 * state_size)
    full = Layer(heads.cache(), attention(heads, hidden_size), hidden_size)
    feeds = {
        True: (routed(number, hidden_size, inner_size, module="feed_forward"), top_k),
        False: (mlp(hidden_size, inner_size, module="feed_forward"), 0),
    }
    made = {
        (attends, sparse): replace(
            base,
            tensors=(*base.tensors, *feeds[sparse][0]),
            vector_parameters=base.vector_parameters + hidden_size,
            top_k=feeds[sparse][1],
            inner_size=inner_size,
        )
        for attends, base in ((True, full), (False, mixer))
        for sparse in (True, False)
    }
    period = values.integer("attn_layer_period", default=8, high=1000)
    offset = values.integer("attn_layer_offset", default=4, low=0, high=1000)
    step = values.integer("expert_layer_period", default=2, high=1000)
    first = values.integer("expert_layer_offset", default=1, low=0, high=1000)
    layers = tuple(
        made[i % period == offset, number > 1 and i % step == first]
        for i in range(layer_count(values))
    )
    return standard_body(values, layers, heads)


def build_granite_hybrid(values: ConfigValues) -> Body:
    """Granite 4 and Bamba: Mamba-2 in most layers, then a feed-forward part, experts or both."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    number = values.integer("num_local_experts", default=0, low=0, high=1 << 14)
    inner_size = values.integer("intermediate_size")
    top_k = values.integer("num_experts_per_tok", default=0, low=0, high=1024) if number else 0
    shared = values.integer("shared_intermediate_size", default=0, low=0)
    if number:
        feed = routed(
            number, hidden_size, inner_size, module="block_sparse_moe", shared_inner_size=shared
        )
    else:
        feed = mlp(hidden_size, shared or inner_size)
    mixer = mamba2_layer(values, hidden_size)
    full = Layer(heads.cache(), attention(heads, hidden_size), hidden_size)
    made = {
        attends: replace(
            base,
            tensors=(*base.tensors, *feed),
            vector_parameters=base.vector_parameters + hidden_size,
            top_k=top_k,
            inner_size=inner_size if number else shared or inner_size,
        )
        for attends, base in ((True, full), (False, mixer))
    }
    types = values.texts("layer_types") or values.texts("layers_block_type")
    attends_at = set(values.integers("attn_layer_indices"))
    layers = tuple(
        made[types[i] in ("attention", "full_attention") if i < len(types) else i in attends_at]
        for i in range(layer_count(values))
    )
    return standard_body(values, layers, heads, tied=True)


def build_lfm2(values: ConfigValues) -> Body:
    """LFM2: a short convolution in most layers, attention with head norms in the others."""
    inner_size = _lfm2_inner_size(values)
    feed = mlp(values.integer("hidden_size"), inner_size, module="feed_forward")
    return _lfm2(values, [Layer(None, feed, 0, inner_size=inner_size)] * layer_count(values))


def build_lfm2_moe(values: ConfigValues) -> Body:
    """LFM2 with experts behind the first layers."""
    hidden_size = values.integer("hidden_size")
    dense_size = values.integer("intermediate_size")
    inner_size = values.integer("moe_intermediate_size")
    number = values.integer("num_experts", high=1 << 14)
    dense = Layer(
        None, mlp(hidden_size, dense_size, module="feed_forward"), 0, inner_size=dense_size
    )
    sparse = Layer(
        None,
        routed(number, hidden_size, inner_size, module="feed_forward"),
        number if values.flag("use_expert_bias", default=True) else 0,
        top_k=values.integer("num_experts_per_tok", high=1024),
        inner_size=inner_size,
    )
    first = values.integer("num_dense_layers", default=2, low=0, high=1000)
    feeds = [dense if index < first else sparse for index in range(layer_count(values))]
    return _lfm2(values, feeds)


def _lfm2(values: ConfigValues, feeds: list[Layer]) -> Body:
    """Convolutions and attention in front of `feeds`, one per layer."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    kernel = values.integer("conv_L_cache", default=3, high=64)
    full = Layer(heads.cache(), attention(heads, hidden_size), 2 * hidden_size + 2 * heads.key_size)
    conv = Layer(
        StateCache("conv", hidden_size * (kernel - 1), 0),
        (
            linear("conv.in_proj", 3 * hidden_size, hidden_size, "column"),
            kept("conv.conv", hidden_size, kernel, "column"),
            linear("conv.out_proj", hidden_size, hidden_size, "row"),
        ),
        2 * hidden_size,
    )
    types = values.texts("layer_types")
    full_at = set(values.integers("full_attn_idxs"))
    made: dict[tuple[bool, int], Layer] = {}
    layers = []
    for index, feed in enumerate(feeds):
        attends = types[index] == "full_attention" if index < len(types) else index in full_at
        if (attends, id(feed)) not in made:
            mixer = full if attends else conv
            made[attends, id(feed)] = replace(
                feed,
                cache=mixer.cache,
                tensors=(*mixer.tensors, *feed.tensors),
                vector_parameters=mixer.vector_parameters + feed.vector_parameters,
            )
        layers.append(made[attends, id(feed)])
    return standard_body(values, tuple(layers), heads, tied=True)


def _without_attention(values: ConfigValues, layer: Layer) -> Body:
    hidden_size = values.integer("hidden_size")
    return Body(
        layers=(layer,) * layer_count(values),
        tied=values.flag("tie_word_embeddings", default=True),
        max_positions=values.integer(
            "max_position_embeddings", "seq_length", default=NO_LIMIT_WRITTEN, high=1 << 28
        ),
        hidden_size=hidden_size,
        vocabulary=values.integer("vocab_size"),
        attention_heads=1,
        kv_heads=1,
        head_size=1,
        final_vector_parameters=hidden_size,
    )


def _mamba1_layer(
    values: ConfigValues,
    *,
    inner_size: int,
    state_size: int,
    kernel: int,
    rank: int,
    conv_bias: bool,
) -> Layer:
    hidden_size = values.integer("hidden_size")
    tensors = (
        linear("mixer.in_proj", 2 * inner_size, hidden_size, "column"),
        kept("mixer.conv1d", inner_size, kernel, "column"),
        linear("mixer.x_proj", rank + 2 * state_size, inner_size, "row"),
        linear("mixer.dt_proj", inner_size, rank, "column"),
        kept("mixer.A_log", inner_size, state_size, "column"),
        linear("mixer.out_proj", hidden_size, inner_size, "row"),
    )
    vectors = hidden_size + 2 * inner_size + (inner_size if conv_bias else 0)
    state = StateCache("mamba1", inner_size * (kernel - 1), inner_size * state_size)
    return Layer(state, tensors, vectors)


def _lfm2_inner_size(values: ConfigValues) -> int:
    size = values.integer("block_ff_dim", "intermediate_size")
    if not values.flag("block_auto_adjust_ff_dim", default=True):
        return size
    size = 2 * size // 3
    multiple = values.integer("block_multiple_of", default=256)
    share = values.data.get("block_ffn_dim_multiplier")
    if isinstance(share, int | float) and not isinstance(share, bool) and 0 < share < 100:
        size = int(share * size)
    return -(-size // multiple) * multiple
