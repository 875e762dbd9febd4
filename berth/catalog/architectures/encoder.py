"""Encoders without a KV cache: BERT, ModernBERT, Nomic, GTE; for embeddings and ranking."""

from dataclasses import replace

from berth.catalog.architectures.parts import (
    Body,
    Heads,
    attention,
    experts,
    kept,
    layer_count,
    mlp,
    standard_body,
)
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Layer


def build_bert(values: ConfigValues) -> Body:
    """BERT, RoBERTa and XLM-RoBERTa: biases everywhere, tables of positions and types."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("intermediate_size")
    tensors = (*attention(heads, hidden_size), *mlp(hidden_size, inner_size, gated=False))
    vectors = 4 * hidden_size + heads.qkv_rows + hidden_size + inner_size + hidden_size
    layer = Layer(None, tensors, vectors, inner_size=inner_size)
    body = standard_body(values, (layer,) * layer_count(values), heads, tied=True)
    tables = (
        kept("position_embeddings", body.max_positions, hidden_size),
        kept(
            "token_type_embeddings",
            values.integer("type_vocab_size", default=2, low=0),
            hidden_size,
        ),
        kept("pooler", hidden_size, hidden_size),
    )
    return replace(
        body, tied=True, pooling=True, final_tensors=tables, final_vector_parameters=3 * hidden_size
    )


def build_modern_bert(values: ConfigValues) -> Body:
    """ModernBERT: gated feed-forward, no biases, no tables."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("intermediate_size")
    tensors = (*attention(heads, hidden_size), *mlp(hidden_size, inner_size))
    layer = Layer(None, tensors, 2 * hidden_size, inner_size=inner_size)
    body = standard_body(values, (layer,) * layer_count(values), heads, tied=True)
    head = (kept("head.dense", hidden_size, hidden_size),)
    return replace(
        body, tied=True, pooling=True, final_tensors=head, final_vector_parameters=2 * hidden_size
    )


def build_nomic_bert(values: ConfigValues) -> Body:
    """Nomic Embed: turned positions, gated and without biases; in version 2 experts with them."""
    hidden_size = values.integer("n_embd", "hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("n_inner", "intermediate_size", default=4 * hidden_size)
    gated = values.text("activation_function", "gelu").endswith("glu")
    own = attention(heads, hidden_size)
    vectors = 4 * hidden_size
    if values.flag("qkv_proj_bias"):
        vectors += heads.qkv_rows + hidden_size
    feed = mlp(hidden_size, inner_size, gated=gated)
    bias = inner_size * (2 if gated else 1) if values.flag("mlp_fc1_bias") else 0
    bias += hidden_size if values.flag("mlp_fc2_bias") else 0
    dense = Layer(None, (*own, *feed), vectors + bias, inner_size=inner_size)
    number = values.integer("num_experts", default=0, low=0, high=1 << 14)
    every = values.integer("moe_every_n_layers", default=0, low=0, high=1000)
    sparse = dense
    if number and every:
        parts = experts(number, hidden_size, inner_size, gated=False)
        sparse = Layer(
            None,
            (*own, kept("mlp.router", number, hidden_size), *parts),
            vectors + hidden_size,
            top_k=values.integer("moe_top_k", default=2, high=1024),
            inner_size=inner_size,
        )
    layers = tuple(
        sparse if every and index % every == 1 else dense for index in range(layer_count(values))
    )
    body = standard_body(values, layers, heads, tied=True)
    return _with_types(values, body)


def build_gte(values: ConfigValues) -> Body:
    """GTE 1.5 and Snowflake's: turned positions, gated, biases but on the way up."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("intermediate_size")
    tensors = (*attention(heads, hidden_size), *mlp(hidden_size, inner_size))
    vectors = 4 * hidden_size + heads.qkv_rows + 2 * hidden_size
    layer = Layer(None, tensors, vectors, inner_size=inner_size)
    body = standard_body(values, (layer,) * layer_count(values), heads, tied=True)
    return _with_types(values, body)


def _with_types(values: ConfigValues, body: Body) -> Body:
    """With the table of token types and one norm behind the embedding."""
    types = values.integer("type_vocab_size", default=2, low=0)
    return replace(
        body,
        pooling=True,
        final_tensors=(kept("token_type_embeddings", types, body.hidden_size),),
        final_vector_parameters=2 * body.hidden_size,
    )
