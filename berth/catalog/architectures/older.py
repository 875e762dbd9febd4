"""Decoders of 2019 to 2023: learned positions, biases everywhere, feed-forward without a gate."""

from dataclasses import replace

from berth.catalog.architectures.parts import (
    Body,
    Heads,
    attention,
    kept,
    layer_count,
    mlp,
    standard_body,
)
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Layer

OPT_EXTRA_POSITIONS = 2
FALCON_POSITIONS = 2048
"""Of every Falcon whose configuration does not say."""
BLOOM_POSITIONS = 2048
"""What BLOOM was trained on; its configuration names no limit."""


def build_gpt2(values: ConfigValues) -> Body:
    """GPT-2: learned positions, tied embeddings."""
    size = values.integer("n_embd")
    inner = values.integer("n_inner", default=4 * size)
    body = _body(values, size, inner, norms=2, tied=True)
    positions = values.integer("n_positions")
    return replace(body, final_tensors=(kept("wpe", positions, size),))


def build_neox(values: ConfigValues) -> Body:
    """GPT-NeoX and Pythia: rotary positions, embeddings of their own at both ends."""
    size = values.integer("hidden_size")
    return _body(values, size, values.integer("intermediate_size"), norms=2, tied=False)


def build_opt(values: ConfigValues) -> Body:
    """OPT: learned positions, tied embeddings; the smallest project their embeddings."""
    size = values.integer("hidden_size")
    if values.integer("word_embed_proj_dim", default=size) != size:
        values.refuse("word_embed_proj_dim", "differs from hidden_size", "use another OPT")
    body = _body(values, size, values.integer("ffn_dim"), norms=2, tied=True)
    positions = values.integer("max_position_embeddings") + OPT_EXTRA_POSITIONS
    return replace(body, final_tensors=(kept("embed_positions", positions, size),))


def build_phi(values: ConfigValues) -> Body:
    """Phi 1 to 2: one norm per layer, a bias on the head too."""
    size = values.integer("hidden_size")
    body = _body(values, size, values.integer("intermediate_size"), norms=1, tied=False)
    vectors = body.final_vector_parameters + body.vocabulary
    return replace(body, final_vector_parameters=vectors)


def build_falcon(values: ConfigValues) -> Body:
    """Falcon: one or a few KV heads, no biases unless the configuration says so."""
    size = values.integer("hidden_size")
    query_heads = values.integer("num_attention_heads", "n_head", high=4096)
    grouped = values.flag("new_decoder_architecture")
    kv_heads = query_heads
    if grouped:
        kv_heads = values.integer("num_kv_heads", "n_head_kv", default=query_heads, high=4096)
    elif values.flag("multi_query", default=True):
        kv_heads = 1
    if query_heads % kv_heads or size % query_heads:
        values.refuse("num_attention_heads", "do not divide", "give divisors")
    head_size = max(1, size // query_heads)
    heads = Heads(query_heads, kv_heads, head_size, head_size)
    norms = 2 if grouped or not values.flag("parallel_attn", default=True) else 1
    inner = values.integer("ffn_hidden_size", default=4 * size)
    vectors = norms * 2 * size
    if values.flag("bias"):
        vectors += heads.qkv_rows + size + inner + size
    layer = Layer(
        heads.cache(),
        (*attention(heads, size), *mlp(size, inner, gated=False)),
        vectors,
        inner_size=inner,
    )
    return Body(
        layers=(layer,) * layer_count(values),
        tied=values.flag("tie_word_embeddings", default=True),
        max_positions=values.integer(
            "max_position_embeddings", default=FALCON_POSITIONS, high=1 << 28
        ),
        hidden_size=size,
        vocabulary=values.integer("vocab_size"),
        attention_heads=query_heads,
        kv_heads=kv_heads,
        head_size=head_size,
        final_vector_parameters=2 * size,
    )


def build_big_code(values: ConfigValues) -> Body:
    """GPT BigCode (StarCoder, SantaCoder): GPT-2 with one KV head for all query heads."""
    size = values.integer("n_embd")
    inner = values.integer("n_inner", default=4 * size)
    kv_heads = 1 if values.flag("multi_query", default=True) else None
    body = _body(values, size, inner, norms=2, tied=True, kv_heads=kv_heads)
    positions = values.integer("n_positions")
    return replace(body, final_tensors=(kept("wpe", positions, size),))


def build_bloom(values: ConfigValues) -> Body:
    """BLOOM: positions by slopes, a norm behind the embedding, tied embeddings."""
    size = values.integer("hidden_size", "n_embed")
    body = _body(values, size, 4 * size, norms=2, tied=True, positions=BLOOM_POSITIONS)
    return replace(body, final_vector_parameters=4 * size)


def build_gpt_j(values: ConfigValues) -> Body:
    """GPT-J: one norm per layer, biases in the feed-forward part and on the head only."""
    size = values.integer("n_embd")
    inner = values.integer("n_inner", default=4 * size)
    body = _body(values, size, inner, norms=1, tied=False, attention_bias=False)
    return replace(body, final_vector_parameters=2 * size + body.vocabulary)


def build_mpt(values: ConfigValues) -> Body:
    """MPT: no bias anywhere, positions by slopes, tied embeddings."""
    size = values.integer("d_model")
    inner = values.integer("expansion_ratio", default=4, high=64) * size
    kv_heads = values.section("attn_config").integer("kv_n_heads", default=0, low=0, high=4096)
    body = _body(values, size, inner, norms=1, tied=True, kv_heads=kv_heads or None)
    layer = replace(body.layers[0], vector_parameters=2 * size)
    return replace(body, layers=(layer,) * len(body.layers), final_vector_parameters=size)


def build_qwen(values: ConfigValues) -> Body:
    """Qwen 1: Llama with a bias on query, key and value; the written inner size counts twice."""
    size = values.integer("hidden_size")
    heads = Heads.of(values, size)
    inner = values.integer("intermediate_size") // 2
    layer = Layer(
        heads.cache(),
        (*attention(heads, size), *mlp(size, inner)),
        2 * size + heads.qkv_rows,
        inner_size=inner,
    )
    return standard_body(values, (layer,) * layer_count(values), heads)


def _body(
    values: ConfigValues,
    size: int,
    inner: int,
    *,
    norms: int,
    tied: bool,
    kv_heads: int | None = None,
    attention_bias: bool = True,
    positions: int | None = None,
) -> Body:
    """A decoder with a bias on every projection and every norm."""
    heads = Heads.of(values, size)
    if kv_heads is not None and heads.query_heads % kv_heads == 0:
        heads = replace(heads, kv_heads=kv_heads)
    vectors = (heads.qkv_rows + size if attention_bias else 0) + inner + size + norms * 2 * size
    layer = Layer(
        heads.cache(),
        (*attention(heads, size), *mlp(size, inner, gated=False)),
        vectors,
        inner_size=inner,
    )
    layers = (layer,) * layer_count(values)
    body = standard_body(values, layers, heads, tied=tied, positions=positions)
    return replace(body, final_vector_parameters=2 * size)
