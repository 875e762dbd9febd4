"""Mixtures of experts under names of their own: DBRX, Ling, Hunyuan, Step-3."""

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
from berth.catalog.model_shape import Layer


def build_dbrx(values: ConfigValues) -> Body:
    """DBRX: sizes of attention and experts in sections of their own, norms without a bias."""
    size = values.integer("d_model")
    query_heads = values.integer("n_heads", high=4096)
    kv_heads = values.section("attn_config").integer("kv_n_heads", default=query_heads, high=4096)
    if query_heads % kv_heads or size % query_heads:
        values.refuse(
            "n_heads",
            f"{query_heads} heads, {kv_heads} KV heads and {size} values do not divide",
            "give divisors",
        )
    head_size = max(1, size // query_heads)
    heads = Heads(query_heads, kv_heads, head_size, head_size)
    feed = values.section("ffn_config")
    inner_size = feed.integer("ffn_hidden_size")
    parts = routed(feed.integer("moe_num_experts", high=1 << 14), size, inner_size, module="ffn")
    layer = Layer(
        heads.cache(),
        (*attention(heads, size), *parts),
        2 * size,
        top_k=feed.integer("moe_top_k", high=1024),
        inner_size=inner_size,
    )
    return standard_body(values, (layer,) * layer_count(values), heads)


def build_ling(values: ConfigValues) -> Body:
    """Ling and Ring: dense first layers, shared experts; head norms in version 2."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("moe_intermediate_size")
    dense_size = values.integer("intermediate_size")
    number = values.integer("num_experts", high=1 << 14)
    shared = values.integer("num_shared_experts", default=0, low=0, high=64)
    vectors = 2 * hidden_size
    if values.flag("use_qkv_bias"):
        vectors += heads.qkv_rows
    if values.flag("use_qk_norm"):
        vectors += 2 * heads.key_size
    own = attention(heads, hidden_size)
    parts = routed(number, hidden_size, inner_size, shared_inner_size=shared * inner_size)
    bias = number if values.flag("moe_router_enable_expert_bias") else 0
    sparse = Layer(
        heads.cache(),
        (*own, *parts),
        vectors + bias,
        top_k=values.integer("num_experts_per_tok", high=1024),
        inner_size=inner_size,
    )
    dense = Layer(
        heads.cache(), (*own, *mlp(hidden_size, dense_size)), vectors, inner_size=dense_size
    )
    first = values.integer("first_k_dense_replace", default=0, low=0, high=1000)
    count = layer_count(values)
    layers = (dense,) * min(first, count) + (sparse,) * max(0, count - first)
    return standard_body(values, layers, heads)


def build_hunyuan(values: ConfigValues) -> Body:
    """Hunyuan A13B: the same experts and shared experts in every layer, head norms, tied."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = _first(values, "moe_intermediate_size", "intermediate_size")
    shared = _first(values, "num_shared_expert") if values.flag("use_mixed_mlp_moe") else 0
    parts = routed(
        values.integer("num_experts", high=1 << 14),
        hidden_size,
        inner_size,
        shared_inner_size=shared * values.integer("intermediate_size"),
        shared="shared_mlp",
    )
    vectors = 2 * hidden_size + (2 * heads.key_size if values.flag("use_qk_norm") else 0)
    layer = Layer(
        heads.cache(),
        (*attention(heads, hidden_size), *parts),
        vectors,
        top_k=_first(values, "moe_topk"),
        inner_size=inner_size,
    )
    return standard_body(values, (layer,) * layer_count(values), heads, tied=True)


def build_step3_text(values: ConfigValues) -> Body:
    """Step-3: one KV head, queries by way of a narrow projection that is on every rank."""
    hidden_size = values.integer("hidden_size")
    query_heads = values.integer("num_attention_heads", high=4096)
    head_size = values.integer("head_dim", high=8192)
    heads = Heads(query_heads, 1, head_size, head_size)
    narrow = values.integer("share_q_dim", default=head_size)
    own = (
        linear("self_attn.qkv_proj", narrow + 2 * head_size, hidden_size, "none"),
        linear("self_attn.wq", query_heads * head_size, narrow, "column"),
        linear("self_attn.o_proj", hidden_size, query_heads * head_size, "row"),
    )
    inner_size = values.integer("moe_intermediate_size")
    dense_size = values.integer("intermediate_size")
    parts = routed(
        values.integer("moe_num_experts", high=1 << 14),
        hidden_size,
        inner_size,
        module="moe",
        shared_inner_size=values.integer("share_expert_dim", default=inner_size),
    )
    vectors = 2 * hidden_size + narrow
    sparse = Layer(
        heads.cache(),
        (*own, *parts),
        vectors,
        top_k=values.integer("moe_top_k", high=1024),
        inner_size=inner_size,
    )
    dense = Layer(
        heads.cache(), (*own, *mlp(hidden_size, dense_size)), vectors, inner_size=dense_size
    )
    count = layer_count(values)
    written = values.text("moe_layers_enum")
    numbers = [part.strip() for part in written.split(",")] if written else []
    if not all(part.isdecimal() and len(part) < 5 for part in numbers):
        values.refuse("moe_layers_enum", "is no list of numbers", "write them with commas")
        numbers = []
    sparse_at = {int(part) for part in numbers} or set(range(1, count))
    layers = tuple(sparse if index in sparse_at else dense for index in range(count))
    positions = values.integer("max_position_embedding", default=65_536, high=1 << 28)
    return standard_body(values, layers, heads, positions=positions)


def _first(values: ConfigValues, *keys: str) -> int:
    """A number, or the only one of a list with one equal entry per layer."""
    for key in keys:
        if isinstance(values.data.get(key), list):
            numbers = values.integers(key, low=1)
            if len(set(numbers)) > 1:
                values.refuse(key, "differs between layers", "give one number")
            return numbers[0] if numbers else 1
    return values.integer(*keys)
