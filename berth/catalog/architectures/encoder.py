"""Encoders without a KV cache: BERT and its kin, for embeddings, ranking and classification."""

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
