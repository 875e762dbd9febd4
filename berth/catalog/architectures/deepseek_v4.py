"""DeepSeek V4: one shared key-value head, compressed tokens, an index, hyper-connections."""

from dataclasses import replace

from berth.catalog.architectures.experts import next_token_layer
from berth.catalog.architectures.parts import (
    Body,
    Heads,
    kept,
    layer_count,
    linear,
    routed,
    standard_body,
)
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import CompressedCache, Layer, Tensor

RATIOS = (0, 4, 128)


def build(values: ConfigValues) -> Body:
    """DeepSeek V4 Flash and Pro."""
    hidden_size = values.integer("hidden_size")
    head_size = values.integer("head_dim", high=8192)
    query_heads = values.integer("num_attention_heads", high=4096)
    number = values.integer("n_routed_experts", high=1 << 14)
    inner_size = values.integer("moe_intermediate_size")
    shared = values.integer("n_shared_experts", default=1, low=0, high=64)
    window = values.integer("sliding_window", default=128)
    count = layer_count(values)
    ratios = values.integers("compress_ratios", high=1024)
    if len(ratios) < count or any(ratio not in RATIOS for ratio in ratios):
        values.refuse("compress_ratios", f"are not {count} of {RATIOS}", "give one ratio per layer")
        ratios = (0,) * count
    top_k = values.integer("num_experts_per_tok", high=1024)
    hashed = values.integer("num_hash_layers", default=0, low=0, high=1000)
    attention = _attention(values, hidden_size, query_heads, head_size)
    feed = routed(
        number, hidden_size, inner_size, module="ffn", shared_inner_size=shared * inner_size
    )
    streams = values.integer("hc_mult", default=4, high=64)
    mixes = (2 + streams) * streams
    connections = (
        kept("attn_hc.fn", mixes, streams * hidden_size),
        kept("ffn_hc.fn", mixes, streams * hidden_size),
    )
    vectors = 2 * hidden_size + values.integer("q_lora_rank") + head_size + query_heads
    vectors += 2 * (mixes + 3)
    made: dict[tuple[int, bool], Layer] = {}
    layers = []
    for index, ratio in enumerate(ratios[:count]):
        key = (ratio, index < hashed)
        if key not in made:
            compressor, extra = _compressor(values, hidden_size, head_size, ratio)
            made[key] = Layer(
                CompressedCache(ratio, window),
                (*attention, *compressor, *feed, *connections),
                vectors + extra + (0 if key[1] else number),
                top_k=top_k,
                inner_size=inner_size,
            )
        layers.append(made[key])
    body = standard_body(values, tuple(layers), Heads(query_heads, 1, head_size, 0))
    extra_layers = values.integer("num_nextn_predict_layers", default=0, low=0, high=16)
    mtp = (next_token_layer(layers[-1], hidden_size, body.vocabulary),) if layers else ()
    return replace(
        body,
        mtp_layers=mtp * extra_layers,
        final_tensors=(kept("hc_head.fn", streams, streams * hidden_size),),
        final_vector_parameters=hidden_size + streams + 1,
    )


def _attention(
    values: ConfigValues, hidden_size: int, query_heads: int, head_size: int
) -> tuple[Tensor, ...]:
    rank = values.integer("q_lora_rank")
    groups = values.integer("o_groups", high=4096)
    output_rank = values.integer("o_lora_rank")
    module = "attn"
    return (
        linear(f"{module}.q_a_proj", rank, hidden_size, "none"),
        linear(f"{module}.q_b_proj", query_heads * head_size, rank, "column"),
        linear(f"{module}.kv_proj", head_size, hidden_size, "none"),
        linear(
            f"{module}.o_a_proj", groups * output_rank, query_heads * head_size // groups, "column"
        ),
        linear(f"{module}.o_b_proj", hidden_size, groups * output_rank, "row"),
    )


def _compressor(
    values: ConfigValues, hidden_size: int, head_size: int, ratio: int
) -> tuple[tuple[Tensor, ...], int]:
    """Weights and vectors that turn `ratio` tokens into one, with the index where ratio is 4."""
    if ratio == 0:
        return (), 0
    width = head_size * (2 if ratio == 4 else 1)
    module = "attn.compressor"
    tensors = [
        kept(f"{module}.kv_proj", width, hidden_size),
        kept(f"{module}.gate_proj", width, hidden_size),
        kept(f"{module}.position_bias", ratio, width),
    ]
    vectors = head_size
    if ratio == 4:
        index_heads = values.integer("index_n_heads", high=4096)
        index_size = values.integer("index_head_dim", high=8192)
        rank = values.integer("q_lora_rank")
        tensors += [
            kept(f"{module}.indexer.kv_proj", 2 * index_size, hidden_size),
            kept(f"{module}.indexer.gate_proj", 2 * index_size, hidden_size),
            kept(f"{module}.indexer.position_bias", ratio, 2 * index_size),
            linear(f"{module}.indexer.q_b_proj", index_heads * index_size, rank, "none"),
            kept(f"{module}.indexer.weights_proj", index_heads, hidden_size),
        ]
        vectors += index_size
    return tuple(tensors), vectors
