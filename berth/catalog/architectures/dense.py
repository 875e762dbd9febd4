"""Dense decoders of the Llama family: one attention and one gated feed-forward part per layer."""

from berth.catalog.architectures.parts import Body, Heads, attention, gated_mlp
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Layer

QKV_BIAS = frozenset({"qwen2", "qwen2_moe", "qwen2_vl_text", "qwen2_5_vl_text"})
"""Model types whose projections of query, key and value always carry a bias."""
HEAD_NORMS = frozenset({"qwen3", "qwen3_moe"})
"""Model types that normalise every query and key head, with one weight per head value."""


def build(values: ConfigValues) -> Body:
    """Llama, Mistral, Qwen2, Qwen3 and what shares their layers."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("intermediate_size")
    count = values.integer("num_hidden_layers", high=1000)
    model_type = values.text("model_type")
    window = sliding_window(values)
    vectors = 2 * hidden_size + attention_vectors(values, heads, hidden_size, model_type)
    if values.flag("mlp_bias"):
        vectors += 2 * inner_size + hidden_size
    tensors = (*attention(heads, hidden_size), *gated_mlp(hidden_size, inner_size))
    layer = Layer(heads.cache(window), tensors, vectors, inner_size=inner_size)
    return Body(
        layers=(layer,) * count,
        tied=values.flag("tie_word_embeddings"),
        max_positions=values.integer("max_position_embeddings"),
        hidden_size=hidden_size,
        vocabulary=values.integer("vocab_size"),
        attention_heads=heads.query_heads,
        kv_heads=heads.kv_heads,
        head_size=heads.key_size,
        final_vector_parameters=hidden_size,
    )


def attention_vectors(values: ConfigValues, heads: Heads, hidden_size: int, model_type: str) -> int:
    """Biases and head norms of one attention part."""
    qkv_rows = (
        heads.query_heads + heads.kv_heads
    ) * heads.key_size + heads.kv_heads * heads.value_size
    vectors = 0
    if values.flag("attention_bias", default=model_type in QKV_BIAS) or values.flag("qkv_bias"):
        vectors += qkv_rows
    if values.flag("attention_bias") and model_type not in QKV_BIAS:
        vectors += hidden_size
    if model_type in HEAD_NORMS:
        vectors += 2 * heads.key_size
    return vectors


def sliding_window(values: ConfigValues) -> int | None:
    """The window of every layer, where the configuration uses one in all of them."""
    if not values.has("sliding_window") or not values.flag("use_sliding_window", default=True):
        return None
    return values.integer("sliding_window")
