"""Decoders that keep a state of fixed size in most layers: Mamba, gated delta nets, Kimi delta."""

from dataclasses import replace

from berth.catalog.architectures.latent import (
    Latent,
    latent_body,
    latent_tensors,
    latent_vectors,
    sparse_layers,
)
from berth.catalog.architectures.parts import (
    Body,
    Heads,
    attention,
    experts,
    kept,
    layer_count,
    linear,
    mlp,
    routed,
    standard_body,
)
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Layer, StateCache, Tensor

PATTERN = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
"""Letters of `hybrid_override_pattern`."""


def build_qwen_next(values: ConfigValues) -> Body:
    """Qwen3-Next and Qwen3.5 to 3.8: three gated delta nets, then one attention with a gate."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    count = layer_count(values)
    number = values.integer("num_experts", default=0, low=0, high=1 << 14)
    feed, feed_size, top_k = _qwen_feed(values, hidden_size, number)
    older = values.text("model_type").startswith("qwen3_next")
    state, state_tensors, state_vectors = _delta_net(values, hidden_size, fused=older)
    vectors = 2 * hidden_size
    full = Layer(
        heads.cache(),
        (*attention(heads, hidden_size, gate=True), *feed),
        vectors + 2 * heads.key_size,
        top_k=top_k,
        inner_size=feed_size,
    )
    linear_layer = Layer(
        state, (*state_tensors, *feed), vectors + state_vectors, top_k=top_k, inner_size=feed_size
    )
    types = values.texts("layer_types")
    every = values.integer("full_attention_interval", default=4, high=1000)
    layers = tuple(
        full
        if (types[i] == "full_attention" if i < len(types) else (i + 1) % every == 0)
        else linear_layer
        for i in range(count)
    )
    body = standard_body(values, layers, heads)
    extra = values.integer(
        "mtp_num_hidden_layers", "num_nextn_predict_layers", default=0, low=0, high=16
    )
    fusion = kept("mtp.fc", hidden_size, 2 * hidden_size)
    mtp = replace(
        full,
        tensors=(*full.tensors, fusion),
        vector_parameters=full.vector_parameters + 3 * hidden_size,
    )
    return replace(body, mtp_layers=(mtp,) * extra)


def build_nemotron_h(values: ConfigValues) -> Body:
    """Nemotron-H and Nemotron 3: a layer is either Mamba-2, attention, feed-forward or experts."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    kinds = _nemotron_kinds(values)
    made: dict[str, Layer] = {}
    for kind in set(kinds):
        made[kind] = _nemotron_layer(values, kind, heads, hidden_size)
    body = standard_body(values, tuple(made[kind] for kind in kinds), heads)
    extra = values.texts("mtp_layers_block_type")
    layers = tuple(_nemotron_layer(values, kind, heads, hidden_size) for kind in extra[:16])
    return replace(body, mtp_layers=layers)


def build_kimi_linear(values: ConfigValues) -> Body:
    """Kimi Linear and Kimi K3: three Kimi delta layers, then one with latent attention."""
    hidden_size = values.integer("hidden_size")
    latent = Latent.of(values)
    count = layer_count(values)
    setting = values.section("linear_attn_config")
    full_at = set(setting.integers("full_attn_layers"))
    state, state_tensors, state_vectors = _kimi_delta(setting, hidden_size)
    number = values.integer("num_experts", "n_routed_experts", high=1 << 14)
    inner_size = values.integer("moe_intermediate_size")
    expert_size = values.integer("routed_expert_hidden_size", default=hidden_size)
    shared = values.integer("num_shared_experts", "n_shared_experts", default=0, low=0, high=64)
    top_k = values.integer("num_experts_per_token", "num_experts_per_tok", high=1024)
    dense_size = values.integer("intermediate_size")
    feed: list[Tensor] = [
        kept("block_sparse_moe.gate", number, hidden_size),
        *experts(number, expert_size, inner_size, module="block_sparse_moe.experts"),
        *mlp(hidden_size, shared * inner_size, module="block_sparse_moe.shared_experts"),
    ]
    norm = 0
    if expert_size != hidden_size:
        feed += [
            linear("block_sparse_moe.routed_expert_down_proj", expert_size, hidden_size, "none"),
            linear("block_sparse_moe.routed_expert_up_proj", hidden_size, expert_size, "none"),
        ]
        norm = expert_size if values.flag("latent_moe_use_norm") else 0
    sparse_at = sparse_layers(values, count, number)
    gate = _latent_gate(values, latent, hidden_size)
    residual = 4 * hidden_size if values.has("attn_res_block_size") else 0
    layers = []
    made: dict[tuple[bool, bool], Layer] = {}
    for index in range(count):
        key = (index + 1 in full_at, sparse_at[index])
        if key not in made:
            part = (
                (*latent_tensors(latent, hidden_size, index=False), *gate)
                if key[0]
                else state_tensors
            )
            own = latent_vectors(latent, index=False) if key[0] else state_vectors
            made[key] = Layer(
                latent.cache() if key[0] else state,
                (*part, *(feed if key[1] else mlp(hidden_size, dense_size))),
                2 * hidden_size + residual + own + (number + norm if key[1] else 0),
                top_k=top_k if key[1] else 0,
                inner_size=inner_size if key[1] else dense_size,
            )
        layers.append(made[key])
    return latent_body(values, tuple(layers), latent)


def _qwen_feed(
    values: ConfigValues, hidden_size: int, number: int
) -> tuple[tuple[Tensor, ...], int, int]:
    """Feed-forward part, its inner size and the experts per token."""
    if not number:
        inner_size = values.integer("intermediate_size")
        return mlp(hidden_size, inner_size), inner_size, 0
    inner_size = values.integer("moe_intermediate_size")
    shared = values.integer("shared_expert_intermediate_size", default=0, low=0)
    parts = routed(
        number,
        hidden_size,
        inner_size,
        shared_inner_size=shared,
        shared="shared_expert",
        shared_gate=bool(shared),
    )
    return parts, inner_size, values.integer("num_experts_per_tok", high=1024)


def _delta_net(
    values: ConfigValues, hidden_size: int, *, fused: bool
) -> tuple[StateCache, tuple[Tensor, ...], int]:
    """State, weights and vectors of one gated delta net; `fused` is how Qwen3-Next names them."""
    key_heads = values.integer("linear_num_key_heads", high=4096)
    value_heads = values.integer("linear_num_value_heads", high=4096)
    key_size = values.integer("linear_key_head_dim", high=8192)
    value_size = values.integer("linear_value_head_dim", high=8192)
    kernel = values.integer("linear_conv_kernel_dim", default=4, high=64)
    keys, outputs = key_heads * key_size, value_heads * value_size
    channels = 2 * keys + outputs
    module = "linear_attn"
    if fused:
        inputs = [
            linear(f"{module}.in_proj_qkvz", channels + outputs, hidden_size, "column"),
            kept(f"{module}.in_proj_ba", 2 * value_heads, hidden_size, "column"),
        ]
    else:
        inputs = [
            linear(f"{module}.in_proj_qkv", channels, hidden_size, "column"),
            linear(f"{module}.in_proj_z", outputs, hidden_size, "column"),
            kept(f"{module}.in_proj_b", value_heads, hidden_size, "column"),
            kept(f"{module}.in_proj_a", value_heads, hidden_size, "column"),
        ]
    tensors = (
        *inputs,
        kept(f"{module}.conv1d", channels, kernel, "column"),
        linear(f"{module}.out_proj", hidden_size, outputs, "row"),
    )
    wide = values.text("mamba_ssm_dtype", "bfloat16" if fused else "float32") == "float32"
    state = StateCache(
        "gdn",
        channels * (kernel - 1),
        value_heads * key_size * value_size,
        state_in_model_dtype=not wide,
    )
    return state, tensors, 2 * value_heads + value_size


def _kimi_delta(
    setting: ConfigValues, hidden_size: int
) -> tuple[StateCache, tuple[Tensor, ...], int]:
    head_count = setting.integer("num_heads", high=4096)
    head_size = setting.integer("head_dim", high=8192)
    kernel = setting.integer("short_conv_kernel_size", default=4, high=64)
    rows = head_count * head_size
    module = "self_attn"
    full_gate = setting.flag("use_full_rank_gate")
    gate = (
        (linear(f"{module}.g_proj", rows, hidden_size, "column"),)
        if full_gate
        else (
            linear(f"{module}.g_a_proj", head_size, hidden_size, "none"),
            linear(f"{module}.g_b_proj", rows, head_size, "column"),
        )
    )
    tensors = (
        linear(f"{module}.q_proj", rows, hidden_size, "column"),
        linear(f"{module}.k_proj", rows, hidden_size, "column"),
        linear(f"{module}.v_proj", rows, hidden_size, "column"),
        kept(f"{module}.conv1d", 3 * rows, kernel, "column"),
        linear(f"{module}.f_a_proj", head_size, hidden_size, "none"),
        linear(f"{module}.f_b_proj", rows, head_size, "column"),
        linear(f"{module}.b_proj", head_count, hidden_size, "column"),
        *gate,
        linear(f"{module}.o_proj", hidden_size, rows, "row"),
    )
    state = StateCache("kda", 3 * rows * (kernel - 1), head_count * head_size * head_size)
    return state, tensors, rows + head_count + head_size


def _latent_gate(values: ConfigValues, latent: Latent, hidden_size: int) -> tuple[Tensor, ...]:
    if not values.flag("mla_use_output_gate"):
        return ()
    return (linear("self_attn.g_proj", latent.heads * latent.value_size, hidden_size, "column"),)


def _nemotron_kinds(values: ConfigValues) -> list[str]:
    kinds = list(values.texts("layers_block_type"))
    if kinds:
        unknown = set(kinds) - set(PATTERN.values())
    else:
        pattern = values.text("hybrid_override_pattern")[:1000]
        unknown = set(pattern) - set(PATTERN)
        kinds = [PATTERN.get(letter, "mlp") for letter in pattern]
    if unknown or not kinds:
        values.refuse(
            "layers_block_type",
            f"has {', '.join(sorted(unknown)) or 'no entries'}",
            f"use {', '.join(PATTERN.values())}, or hybrid_override_pattern of {''.join(PATTERN)}",
        )
        return []
    return kinds[:1000]


def _nemotron_layer(values: ConfigValues, kind: str, heads: Heads, hidden_size: int) -> Layer:
    if kind == "attention":
        return Layer(heads.cache(), attention(heads, hidden_size, module="mixer"), hidden_size)
    if kind == "mamba":
        return mamba2_layer(values, hidden_size)
    if kind == "mlp":
        inner_size = values.integer("intermediate_size")
        tensors = mlp(hidden_size, inner_size, module="mixer", gated=False)
        return Layer(None, tensors, hidden_size, inner_size=inner_size)
    number = values.integer("n_routed_experts", high=1 << 14)
    inner_size = values.integer("moe_intermediate_size")
    latent = values.integer("moe_latent_size", default=0, low=0)
    shared = values.integer("moe_shared_expert_intermediate_size", default=0, low=0)
    tensors = (
        kept("mixer.gate", number, hidden_size),
        *experts(number, latent or hidden_size, inner_size, module="mixer.experts", gated=False),
        *(mlp(hidden_size, shared, module="mixer.shared_experts", gated=False) if shared else ()),
    )
    if latent:
        tensors += (
            linear("mixer.fc1_latent_proj", latent, hidden_size, "none"),
            linear("mixer.fc2_latent_proj", hidden_size, latent, "none"),
        )
    top_k = values.integer("num_experts_per_tok", high=1024)
    return Layer(None, tensors, hidden_size + number, top_k=top_k, inner_size=inner_size)


def mamba2_layer(values: ConfigValues, hidden_size: int) -> Layer:
    """One Mamba-2 mixer with its norm."""
    head_count = values.integer("mamba_num_heads", "mamba_n_heads", "num_heads", high=1 << 16)
    head_size = values.integer("mamba_head_dim", "mamba_d_head", "head_dim", high=8192)
    groups = values.integer("n_groups", "mamba_n_groups", default=1, high=4096)
    state_size = values.integer("ssm_state_size", "mamba_d_state", "state_size", high=8192)
    kernel = values.integer("conv_kernel", "mamba_d_conv", default=4, high=64)
    rows = head_count * head_size
    channels = rows + 2 * groups * state_size
    tensors = (
        linear("mixer.in_proj", rows + channels + head_count, hidden_size, "column"),
        kept("mixer.conv1d", channels, kernel, "column"),
        linear("mixer.out_proj", hidden_size, rows, "row"),
    )
    vectors = hidden_size + rows + 3 * head_count
    if values.flag("use_conv_bias", default=values.flag("mamba_conv_bias", default=True)):
        vectors += channels
    narrow = values.text("mamba_ssm_cache_dtype", "float32") != "float32"
    state = StateCache(
        "mamba2",
        channels * (kernel - 1),
        rows * state_size,
        state_in_model_dtype=narrow,
        groups=groups,
        group_conv_values=2 * state_size * (kernel - 1),
    )
    return Layer(state, tensors, vectors)
