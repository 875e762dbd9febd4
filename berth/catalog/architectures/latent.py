"""Decoders with latent attention (MLA): DeepSeek V2 and V3, Kimi K2, GLM-5 and their kin."""

from dataclasses import dataclass, replace

from berth.catalog.architectures.experts import next_token_layer
from berth.catalog.architectures.parts import (
    Body,
    Heads,
    kept,
    layer_count,
    linear,
    mlp,
    routed,
    standard_body,
)
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import LatentCache, Layer, Tensor


@dataclass(frozen=True, slots=True)
class Latent:
    """The sizes of latent attention."""

    heads: int
    query_rank: int
    """0: queries are not compressed."""
    rank: int
    nope_size: int
    rope_size: int
    value_size: int
    index_heads: int
    index_size: int

    @classmethod
    def of(cls, values: ConfigValues) -> "Latent":
        """The usual keys."""
        return cls(
            heads=values.integer("num_attention_heads", high=4096),
            query_rank=values.integer("q_lora_rank", default=0, low=0),
            rank=values.integer("kv_lora_rank"),
            nope_size=values.integer("qk_nope_head_dim", high=8192),
            rope_size=values.integer("qk_rope_head_dim", low=0, high=8192),
            value_size=values.integer("v_head_dim", high=8192),
            index_heads=values.integer("index_n_heads", default=0, low=0, high=4096),
            index_size=values.integer("index_head_dim", default=0, low=0, high=8192),
        )

    def cache(self, *, index: bool = True) -> LatentCache:
        """What such a layer keeps; without `index` it reads another layer's."""
        own = self.index_size if self.index_heads and index else 0
        return LatentCache(self.rank, self.rope_size, own, sparse=bool(self.index_heads))


def build(values: ConfigValues) -> Body:
    """DeepSeek V2 and V3, Kimi K2, GLM-4.7 Flash, with an index DeepSeek V3.2 and GLM-5."""
    hidden_size = values.integer("hidden_size")
    latent = Latent.of(values)
    count = layer_count(values)
    own_index = index_owners(values, latent, count)
    tensors = {own: latent_tensors(latent, hidden_size, index=own) for own in set(own_index)}
    inner_size = values.integer("moe_intermediate_size", default=0, low=0)
    number = values.integer("n_routed_experts", "num_experts", default=0, low=0, high=1 << 14)
    shared = values.integer("n_shared_experts", "num_shared_experts", default=0, low=0, high=64)
    top_k = values.integer(
        "num_experts_per_tok", "num_experts_per_token", default=0, low=0, high=1024
    )
    dense_size = values.integer("intermediate_size")
    expert_parts = routed(number, hidden_size, inner_size, shared_inner_size=shared * inner_size)
    dense_parts = mlp(hidden_size, dense_size)
    sparse_at = sparse_layers(values, count, number)
    bias = (
        number
        if values.text("topk_method") == "noaux_tc" or values.text("scoring_func") == "sigmoid"
        else 0
    )
    made: dict[tuple[bool, bool], Layer] = {}
    layers = []
    for index in range(count):
        key = (own_index[index], sparse_at[index])
        if key not in made:
            parts = expert_parts if key[1] else dense_parts
            vectors = (
                2 * hidden_size + latent_vectors(latent, index=key[0]) + (bias if key[1] else 0)
            )
            made[key] = Layer(
                latent.cache(index=key[0]),
                (*tensors[key[0]], *parts),
                vectors,
                top_k=top_k if key[1] else 0,
                inner_size=inner_size if key[1] else dense_size,
            )
        layers.append(made[key])
    return latent_body(values, tuple(layers), latent)


def latent_body(values: ConfigValues, layers: tuple[Layer, ...], latent: Latent) -> Body:
    """A body around layers with latent attention."""
    heads = Heads(latent.heads, 1, latent.rank + latent.rope_size, latent.value_size)
    body = standard_body(values, layers, heads)
    extra = values.integer("num_nextn_predict_layers", default=0, low=0, high=16)
    mtp: tuple[Layer, ...] = ()
    if extra and layers:
        mtp = (next_token_layer(layers[-1], body.hidden_size, body.vocabulary),) * extra
    return replace(body, mtp_layers=mtp, latent_query_size=latent.nope_size + latent.value_size)


def latent_tensors(latent: Latent, hidden_size: int, *, index: bool) -> tuple[Tensor, ...]:
    """The projections of one layer; the compressed ones are on every rank."""
    query_size = latent.nope_size + latent.rope_size
    module = "self_attn"
    tensors: list[Tensor] = []
    if latent.query_rank:
        tensors.append(linear(f"{module}.q_a_proj", latent.query_rank, hidden_size, "none"))
        query_columns = latent.query_rank
        name = "q_b_proj"
    else:
        query_columns, name = hidden_size, "q_proj"
    tensors += [
        linear(f"{module}.{name}", latent.heads * query_size, query_columns, "column"),
        linear(f"{module}.kv_a_proj_with_mqa", latent.rank + latent.rope_size, hidden_size, "none"),
        linear(
            f"{module}.kv_b_proj",
            latent.heads * (latent.nope_size + latent.value_size),
            latent.rank,
            "column",
        ),
        linear(f"{module}.o_proj", hidden_size, latent.heads * latent.value_size, "row"),
    ]
    if latent.index_heads and index:
        rows = latent.index_heads * latent.index_size
        tensors += [
            linear(f"{module}.indexer.wq_b", rows, latent.query_rank, "none"),
            linear(f"{module}.indexer.wk", latent.index_size, hidden_size, "none"),
            kept(f"{module}.indexer.weights_proj", latent.index_heads, hidden_size),
        ]
    return tuple(tensors)


def latent_vectors(latent: Latent, *, index: bool) -> int:
    """Norms of the compressed query and latent, and of the index key with its bias."""
    return (
        latent.query_rank
        + latent.rank
        + (2 * latent.index_size if latent.index_heads and index else 0)
    )


def index_owners(values: ConfigValues, latent: Latent, count: int) -> list[bool]:
    """Which layers pick tokens by an index of their own, and not by another layer's."""
    if not latent.index_heads:
        return [False] * count
    types = values.texts("indexer_types")
    if len(types) >= count:
        return [kind != "shared" for kind in types[:count]]
    pattern = values.text("index_topk_pattern")
    if len(pattern) >= count:
        return [letter != "S" for letter in pattern[:count]]
    every = values.integer("index_topk_freq", default=1, high=1000)
    offset = values.integer("index_skip_topk_offset", default=2, low=0, high=1000)
    return [max(index - offset + 1, 0) % every == 0 for index in range(count)]


def sparse_layers(values: ConfigValues, count: int, number: int) -> list[bool]:
    """Which layers have experts: from `first_k_dense_replace` on, every `moe_layer_freq`-th."""
    if not number:
        return [False] * count
    types = values.texts("mlp_layer_types")
    if len(types) >= count:
        return [kind == "sparse" for kind in types[:count]]
    first = values.integer("first_k_dense_replace", default=0, low=0, high=1000)
    if isinstance(values.data.get("moe_layer_freq"), list):
        pattern = values.integers("moe_layer_freq", high=1)
        return [bool(pattern[i]) if i < len(pattern) else True for i in range(count)]
    every = values.integer("moe_layer_freq", default=1, high=1000)
    return [index >= first and index % every == 0 for index in range(count)]
