"""Decoders whose feed-forward part is a choice of experts, with attention by heads."""

from dataclasses import replace

from berth.catalog.architectures.parts import (
    Body,
    Heads,
    attention,
    kept,
    layer_count,
    layer_windows,
    mlp,
    routed,
    standard_body,
    with_windows,
)
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Layer, Tensor


def build_mixtral(values: ConfigValues) -> Body:
    """Mixtral, PhiMoE and what shares their layers: the same experts in every layer."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    count = layer_count(values)
    inner_size = values.integer("intermediate_size")
    number = values.integer("num_local_experts", "num_experts", high=1 << 14)
    shared = values.integer("shared_intermediate_size", default=0, low=0)
    parts = routed(
        number, hidden_size, inner_size, module="block_sparse_moe", shared_inner_size=shared
    )
    vectors = 2 * hidden_size + _qkv_bias(values, heads, hidden_size)
    layer = _expert_layer(
        values, heads, (*attention(heads, hidden_size), *parts), vectors, inner_size
    )
    return standard_body(values, _windowed(values, layer, count), heads)


def build_qwen_moe(values: ConfigValues) -> Body:
    """Qwen2-MoE, Qwen3-MoE, OLMoE: `decoder_sparse_step` and `mlp_only_layers` keep some dense."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    kind = values.text("model_type")
    vectors = 2 * hidden_size + _qkv_bias(values, heads, hidden_size)
    if kind.startswith("qwen2"):
        vectors += heads.qkv_rows
    elif kind.startswith("olmoe"):
        vectors += (heads.query_heads + heads.kv_heads) * heads.key_size
    else:
        vectors += 2 * heads.key_size
    inner_size = values.integer("moe_intermediate_size", "intermediate_size")
    shared = values.integer("shared_expert_intermediate_size", default=0, low=0)
    parts = routed(
        values.integer("num_experts", "num_local_experts", high=1 << 14),
        hidden_size,
        inner_size,
        shared_inner_size=shared,
        shared="shared_expert",
        shared_gate=bool(shared),
    )
    sparse = _expert_layer(
        values, heads, (*attention(heads, hidden_size), *parts), vectors, inner_size
    )
    dense = _dense_layer(values, heads, hidden_size, vectors, "intermediate_size")
    step = values.integer("decoder_sparse_step", default=1, high=1000)
    kept_dense = set(values.integers("mlp_only_layers"))
    layers = tuple(
        dense if index in kept_dense or (index + 1) % step else sparse
        for index in range(layer_count(values))
    )
    return standard_body(values, layers, heads)


def build_gpt_oss(values: ConfigValues) -> Body:
    """gpt-oss: biases everywhere, a sink per head, a window in every second layer."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("intermediate_size")
    number = values.integer("num_local_experts", high=1 << 14)
    parts = list(routed(number, hidden_size, inner_size, router="router"))
    parts.append(kept("mlp.experts.gate_up_proj_bias", 2 * inner_size, 1, "expert_none", number))
    parts.append(kept("mlp.experts.down_proj_bias", hidden_size, 1, "expert_none", number))
    vectors = 2 * hidden_size + heads.qkv_rows + hidden_size + heads.query_heads + number
    layer = _expert_layer(
        values, heads, (*attention(heads, hidden_size), *parts), vectors, inner_size
    )
    return standard_body(values, _windowed(values, layer, layer_count(values)), heads)


def build_minimax_m2(values: ConfigValues) -> Body:
    """MiniMax-M2: norms over all query and all key heads, a bias in the router."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("intermediate_size")
    number = values.integer("num_local_experts", high=1 << 14)
    vectors = 2 * hidden_size + (heads.query_heads + heads.kv_heads) * heads.key_size
    parts = routed(number, hidden_size, inner_size, module="block_sparse_moe")
    layer = _expert_layer(
        values, heads, (*attention(heads, hidden_size), *parts), vectors, inner_size
    )
    return standard_body(values, (layer,) * layer_count(values), heads)


def build_minimax_m3(values: ConfigValues) -> Body:
    """MiniMax-M3: an index that picks blocks, head norms, one shared expert."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    sparse = values.section("sparse_attention_config")
    index_heads = sparse.integer("sparse_num_index_heads", default=4, high=4096)
    index_size = sparse.integer("sparse_index_dim", default=128, high=8192)
    index = (
        kept("self_attn.indexer.q_proj", index_heads * index_size, hidden_size),
        kept("self_attn.indexer.k_proj", index_size, hidden_size),
    )
    inner_size = values.integer("moe_intermediate_size", "intermediate_size")
    parts = routed(
        values.integer("num_local_experts", high=1 << 14),
        hidden_size,
        inner_size,
        module="block_sparse_moe",
        shared_inner_size=values.integer("shared_intermediate_size", default=0, low=0),
    )
    vectors = 2 * hidden_size + 2 * heads.key_size
    base = attention(heads, hidden_size)
    routed_layer = _expert_layer(
        values, heads, (*base, *index, *parts), vectors + 2 * index_size, inner_size
    )
    routed_layer = replace(routed_layer, cache=replace(heads.cache(), index_size=index_size))
    dense = _dense_layer(values, heads, hidden_size, vectors, "dense_intermediate_size")
    layers = _pick(values, dense, routed_layer, "moe_layer_freq", "first_k_dense_replace")
    return standard_body(values, layers, heads)


def build_glm4_moe(values: ConfigValues) -> Body:
    """GLM-4.5 and later with heads, dots.llm1, ERNIE 4.5: dense first layers, shared experts."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("moe_intermediate_size")
    vectors = 2 * hidden_size + _qkv_bias(values, heads, hidden_size, output=False)
    if values.flag("use_qk_norm"):
        vectors += 2 * heads.key_size
    number = values.integer("n_routed_experts", "moe_num_experts", high=1 << 14)
    shared = values.integer("n_shared_experts", "moe_num_shared_experts", default=0, low=0, high=64)
    parts = routed(number, hidden_size, inner_size, shared_inner_size=shared * inner_size)
    sparse = _expert_layer(
        values, heads, (*attention(heads, hidden_size), *parts), vectors + number, inner_size
    )
    dense = _dense_layer(values, heads, hidden_size, vectors, "intermediate_size")
    first = values.integer(
        "first_k_dense_replace", "moe_layer_start_index", default=0, low=0, high=1000
    )
    count = layer_count(values)
    layers = (dense,) * min(first, count) + (sparse,) * max(0, count - first)
    body = standard_body(values, layers, heads)
    return replace(body, mtp_layers=_next_token_layers(values, sparse, body))


def build_mimo_v2(values: ConfigValues) -> Body:
    """MiMo-V2: twice the KV heads and a sink in layers with a window; keys wider than values."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    full = replace(heads, value_size=values.integer("v_head_dim", high=8192))
    near = Heads(
        values.integer("swa_num_attention_heads", default=heads.query_heads, high=4096),
        values.integer("swa_num_key_value_heads", default=2 * heads.kv_heads, high=4096),
        values.integer("swa_head_dim", default=heads.key_size, high=8192),
        values.integer("swa_v_head_dim", default=full.value_size, high=8192),
    )
    window = values.integer("sliding_window", "sliding_window_size")
    inner_size = values.integer("moe_intermediate_size")
    number = values.integer("n_routed_experts", high=1 << 14)
    count = layer_count(values)
    pattern = values.integers("hybrid_layer_pattern", high=1)
    sparse = values.integers("moe_layer_freq", high=1)
    if len(pattern) < count or len(sparse) < count:
        values.refuse(
            "hybrid_layer_pattern", f"has {len(pattern)} entries", f"give one per {count} layers"
        )
        return standard_body(values, (), full)
    dense_parts = mlp(hidden_size, values.integer("intermediate_size"))
    expert_parts = routed(number, hidden_size, inner_size)
    made: dict[tuple[int, int], Layer] = {}
    for key in {(a, b) for a, b in zip(pattern, sparse, strict=False)}:
        used = near if key[0] else full
        parts = expert_parts if key[1] else dense_parts
        vectors = 2 * hidden_size + (near.query_heads if key[0] else 0) + (number if key[1] else 0)
        layer = Layer(
            used.cache(window if key[0] else None),
            (*attention(used, hidden_size), *parts),
            vectors,
            top_k=values.integer("num_experts_per_tok", high=1024) if key[1] else 0,
            inner_size=inner_size if key[1] else values.integer("intermediate_size"),
        )
        made[key] = layer
    layers = tuple(made[pattern[i], sparse[i]] for i in range(count))
    return standard_body(values, layers, full)


def build_step3(values: ConfigValues) -> Body:
    """Step-3.5 and 3.7: a gate per head, a window in three of four layers, one shared expert."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    setting = values.section("attention_other_setting")
    near = replace(
        heads,
        query_heads=setting.integer(
            "num_attention_heads",
            default=values.integer(
                "num_sliding_attention_heads", default=heads.query_heads, high=4096
            ),
            high=4096,
        ),
    )
    inner_size = values.integer("moe_intermediate_size")
    number = values.integer("n_routed_experts", "moe_num_experts", "num_experts", high=1 << 14)
    top_k = values.integer("num_experts_per_tok", "moe_top_k", high=1024)
    shared = values.integer("share_expert_dim", "share_expert_dims", default=inner_size, low=0)
    first = values.integer("first_k_dense_replace", default=3, low=0, high=1000)
    expert_parts = routed(number, hidden_size, inner_size, module="moe", shared_inner_size=shared)
    dense_size = values.integer("intermediate_size")
    dense_parts = mlp(hidden_size, dense_size)
    windows = layer_windows(values, layer_count(values))

    def layer(window: int | None, *, sparse: bool) -> Layer:
        used = near if window else heads
        gate = kept("self_attn.g_proj", used.query_heads, hidden_size, "column")
        tensors = (*attention(used, hidden_size), gate, *(expert_parts if sparse else dense_parts))
        vectors = 2 * hidden_size + 2 * heads.key_size + (number if sparse else 0)
        return Layer(
            used.cache(window),
            tensors,
            vectors,
            top_k=top_k if sparse else 0,
            inner_size=inner_size if sparse else dense_size,
        )

    made = {
        (window, sparse): layer(window, sparse=sparse)
        for window in set(windows)
        for sparse in (False, True)
    }
    layers = tuple(made[window, index >= first] for index, window in enumerate(windows))
    return standard_body(values, layers, heads)


def build_llama4(values: ConfigValues) -> Body:
    """Llama 4: experts in every or every second layer, three of four layers look at a chunk."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("intermediate_size")
    dense_size = values.integer("intermediate_size_mlp")
    number = values.integer("num_local_experts", high=1 << 14)
    expert_parts = routed(
        number,
        hidden_size,
        inner_size,
        module="feed_forward",
        router="router",
        shared_inner_size=inner_size,
        shared="shared_expert",
    )
    dense_parts = mlp(hidden_size, dense_size, module="feed_forward")
    chunk = values.integer("attention_chunk_size", default=8192)
    step = values.integer("interleave_moe_layer_step", default=1, high=1000)
    global_every = values.integer("no_rope_layer_interval", default=4, high=1000)
    rope = values.integers("no_rope_layers", high=1)
    top_k = values.integer("num_experts_per_tok", high=1024)
    made: dict[tuple[bool, bool], Layer] = {}
    layers = []
    for index in range(layer_count(values)):
        near = bool(rope[index]) if index < len(rope) else (index + 1) % global_every != 0
        sparse = (index + 1) % step == 0
        if (near, sparse) not in made:
            parts = expert_parts if sparse else dense_parts
            made[near, sparse] = Layer(
                heads.cache(chunk=chunk if near else None),
                (*attention(heads, hidden_size), *parts),
                2 * hidden_size,
                top_k=top_k if sparse else 0,
                inner_size=inner_size if sparse else dense_size,
            )
        layers.append(made[near, sparse])
    return standard_body(values, tuple(layers), heads)


def _expert_layer(
    values: ConfigValues, heads: Heads, tensors: tuple[Tensor, ...], vectors: int, inner_size: int
) -> Layer:
    top_k = values.integer(
        "num_experts_per_tok", "experts_per_token", "moe_k", "top_k_experts", high=1024
    )
    return Layer(heads.cache(), tensors, vectors, top_k=top_k, inner_size=inner_size)


def _dense_layer(
    values: ConfigValues, heads: Heads, hidden_size: int, vectors: int, key: str
) -> Layer:
    inner_size = values.integer(key, default=hidden_size)
    tensors = (*attention(heads, hidden_size), *mlp(hidden_size, inner_size))
    return Layer(heads.cache(), tensors, vectors, inner_size=inner_size)


def _windowed(values: ConfigValues, layer: Layer, count: int) -> tuple[Layer, ...]:
    return with_windows(layer, layer_windows(values, count))


def _qkv_bias(values: ConfigValues, heads: Heads, hidden_size: int, *, output: bool = True) -> int:
    if not values.flag("attention_bias"):
        return 0
    return heads.qkv_rows + (hidden_size if output else 0)


def _pick(
    values: ConfigValues, dense: Layer, sparse: Layer, pattern_key: str, first_key: str
) -> tuple[Layer, ...]:
    count = layer_count(values)
    pattern = (
        values.integers(pattern_key, high=1)
        if isinstance(values.data.get(pattern_key), list)
        else ()
    )
    if len(pattern) >= count:
        return tuple(sparse if pattern[index] else dense for index in range(count))
    first = values.integer(first_key, default=0, low=0, high=1000)
    return (dense,) * min(first, count) + (sparse,) * max(0, count - first)


def _next_token_layers(values: ConfigValues, layer: Layer, body: Body) -> tuple[Layer, ...]:
    """Multi-token-prediction layers, with the embedding and head that the checkpoint repeats."""
    count = values.integer("num_nextn_predict_layers", default=0, low=0, high=16)
    if not count:
        return ()
    return (next_token_layer(layer, body.hidden_size, body.vocabulary),) * count


def next_token_layer(layer: Layer, hidden_size: int, vocabulary: int) -> Layer:
    """`layer` with the projection, norms, embedding and head that predict one more token."""
    extra = (
        kept("eh_proj", hidden_size, 2 * hidden_size),
        kept("embed_tokens", vocabulary, hidden_size),
        kept("shared_head.head", vocabulary, hidden_size),
    )
    return replace(
        layer,
        tensors=(*layer.tensors, *extra),
        vector_parameters=layer.vector_parameters + 3 * hidden_size,
    )
