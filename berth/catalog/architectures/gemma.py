"""Gemma 3 and 4: five layers with a window, then one without."""

from dataclasses import replace

from berth.catalog.architectures.parts import (
    Body,
    Heads,
    attention,
    experts,
    kept,
    layer_count,
    layer_windows,
    linear,
    mlp,
    standard_body,
    with_windows,
)
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Layer, Tensor


def build_gemma3(values: ConfigValues) -> Body:
    """Gemma 3: four norms per layer, head norms, every sixth layer without a window."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("intermediate_size")
    layer = Layer(
        heads.cache(),
        (*attention(heads, hidden_size), *mlp(hidden_size, inner_size)),
        4 * hidden_size + 2 * heads.key_size,
        inner_size=inner_size,
    )
    windows = layer_windows(values, layer_count(values))
    if not values.has("layer_types") and not values.has("sliding_window_pattern"):
        windows = [None if (i + 1) % 6 == 0 else w for i, w in enumerate(windows)]
    return standard_body(values, with_windows(layer, windows), heads, tied=True)


def build_gemma4(values: ConfigValues) -> Body:
    """Gemma 4: wider heads in full layers, keys used as values there, shared caches, experts."""
    hidden_size = values.integer("hidden_size")
    near = Heads.of(values, hidden_size)
    full_size = values.integer("global_head_dim", default=near.key_size, high=8192)
    full_kv = values.integer("num_global_key_value_heads", default=near.kv_heads, high=4096)
    full = Heads(near.query_heads, full_kv, full_size, full_size)
    count = layer_count(values)
    windows = layer_windows(values, count)
    sharing = values.integer("num_kv_shared_layers", default=0, low=0, high=1000)
    extra = values.integer("hidden_size_per_layer_input", default=0, low=0)
    layers = []
    made: dict[tuple[int | None, bool], Layer] = {}
    for index, window in enumerate(windows):
        key = (window, index >= count - sharing)
        if key not in made:
            made[key] = _gemma4_layer(values, near if window else full, *key, extra)
        layers.append(made[key])
    body = standard_body(values, tuple(layers), near, tied=True)
    if not extra:
        return body
    rows = values.integer("vocab_size_per_layer_input", default=body.vocabulary)
    inputs = (
        kept("embed_tokens_per_layer", rows, count * extra, "vocab"),
        linear("per_layer_model_projection", count * extra, hidden_size, "column"),
    )
    return replace(body, final_tensors=inputs, final_vector_parameters=hidden_size + extra)


def _gemma4_layer(
    values: ConfigValues, heads: Heads, window: int | None, reads_other: bool, extra: int
) -> Layer:
    hidden_size = values.integer("hidden_size")
    inner_size = values.integer("intermediate_size")
    keys_serve = values.flag("attention_k_eq_v") and window is None
    tensors: list[Tensor] = list(attention(heads, hidden_size, values=not keys_serve))
    vectors = 4 * hidden_size + 2 * heads.key_size
    if reads_other:
        tensors = [t for t in tensors if not t.module.endswith(("k_proj", "v_proj"))]
        vectors -= heads.key_size
        inner_size *= 2 if values.flag("use_double_wide_mlp") else 1
    tensors += mlp(hidden_size, inner_size)
    top_k = 0
    if values.flag("enable_moe_block"):
        number = values.integer("num_experts", high=1 << 14)
        expert_size = values.integer("moe_intermediate_size")
        top_k = values.integer("top_k_experts", "num_experts_per_tok", high=1024)
        tensors.append(kept("router.proj", number, hidden_size))
        tensors += experts(number, hidden_size, expert_size, module="experts")
        vectors += 3 * hidden_size + hidden_size + number
    if extra:
        tensors.append(linear("per_layer_input_gate", extra, hidden_size, "none"))
        tensors.append(linear("per_layer_projection", hidden_size, extra, "none"))
        vectors += hidden_size
    cache = None if reads_other else heads.cache(window)
    inner = values.integer("moe_intermediate_size") if top_k else inner_size
    return Layer(cache, tuple(tensors), vectors, top_k=top_k, inner_size=inner)
