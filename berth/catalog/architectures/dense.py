"""Dense decoders: one attention and one feed-forward part per layer."""

from dataclasses import dataclass, replace

from berth.catalog.architectures.parts import (
    Body,
    Heads,
    attention,
    kept,
    layer_count,
    layer_windows,
    mlp,
    standard_body,
    with_windows,
)
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import HeadCache, Layer, Tensor


@dataclass(frozen=True, slots=True)
class Traits:
    """What sets one dense family apart from Llama."""

    qkv_bias: bool = False
    """Query, key and value carry a bias unless the configuration says otherwise."""
    all_bias: bool = False
    """Every projection carries a bias."""
    head_norms: bool = False
    """One norm weight per value of a query and a key head."""
    whole_norms: bool = False
    """One norm weight per value of all query and all key heads."""
    norms: int = 2
    """Norms of hidden size per layer."""
    norm_bias: bool = False
    gated: bool = True
    tied: bool = False
    windows_used: bool = True
    """`sliding_window` counts without `use_sliding_window`."""
    mtp: bool = False


LLAMA = Traits()
QWEN2 = Traits(qkv_bias=True, windows_used=False)
QWEN3 = Traits(head_norms=True, windows_used=False)
MIMO = Traits(qkv_bias=True, windows_used=False, mtp=True)
GEMMA = Traits(tied=True)
GEMMA2 = Traits(norms=4, tied=True)
GLM4 = Traits(norms=4, qkv_bias=True)
OLMO = Traits(norms=0)
OLMO2 = Traits(whole_norms=True)
MINI_CPM = Traits(tied=True)
COHERE = Traits(norms=1, tied=True)
STARCODER2 = Traits(all_bias=True, norm_bias=True, gated=False, tied=True)
NEMOTRON = Traits(norm_bias=True, gated=False)
ARCEE = Traits(gated=False)
PHI3 = Traits()
STABLELM = Traits(norm_bias=True)
HEAD_NORMS = Traits(head_norms=True)
APERTUS = Traits(head_norms=True, gated=False)
SEED_OSS = Traits(qkv_bias=True)
SMOLLM3 = Traits(tied=True, windows_used=False)


def build_as(values: ConfigValues, traits: Traits) -> Body:
    """The body of a family with `traits`."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    inner_size = values.integer("intermediate_size")
    count = layer_count(values)
    layer = Layer(
        heads.cache(),
        (*attention(heads, hidden_size), *mlp(hidden_size, inner_size, gated=traits.gated)),
        _vectors(values, traits, heads, hidden_size, inner_size),
        inner_size=inner_size,
    )
    windows = layer_windows(values, count, used=traits.windows_used)
    body = standard_body(values, with_windows(layer, windows), heads, tied=traits.tied)
    if traits.norm_bias:
        body = replace(body, final_vector_parameters=2 * hidden_size)
    if traits.mtp and values.has("num_nextn_predict_layers"):
        extra = values.integer("num_nextn_predict_layers", low=0, high=16)
        body = replace(body, mtp_layers=(layer,) * extra)
    return body


def build_classifier(values: ConfigValues, traits: Traits) -> Body:
    """A decoder that ranks or classifies: a small head for labels instead of the vocabulary."""
    body = build_as(values, traits)
    labels = values.integer("num_labels", default=max(1, len(values.section("id2label").data)))
    score = kept("score", labels, body.hidden_size)
    return replace(body, tied=True, generates=False, final_tensors=(score,))


def build_embedder(values: ConfigValues, traits: Traits) -> Body:
    """A decoder without a head, whose last hidden state is the embedding of a text."""
    return replace(build_as(values, traits), tied=True, generates=False)


def build_olmo(values: ConfigValues) -> Body:
    """OLMo 1: norms without weights."""
    return replace(build_as(values, OLMO), final_vector_parameters=0)


def build_chat_glm(values: ConfigValues) -> Body:
    """ChatGLM 2 and 3, GLM-4 9B: Llama's parts under names of their own."""
    hidden_size = values.integer("hidden_size")
    query_heads = values.integer("num_attention_heads", high=4096)
    head_size = values.integer("kv_channels", default=128, high=8192)
    groups = values.integer("multi_query_group_num", default=query_heads, high=4096)
    if not values.flag("multi_query_attention", default=True):
        groups = query_heads
    if query_heads % groups:
        values.refuse(
            "multi_query_group_num",
            f"{groups} does not divide the {query_heads} attention heads",
            "give a divisor of them",
        )
    heads = Heads(query_heads, groups, head_size, head_size)
    inner_size = values.integer("ffn_hidden_size")
    vectors = 2 * hidden_size
    if values.flag("add_qkv_bias") or values.flag("add_bias_linear"):
        vectors += heads.qkv_rows
    if values.flag("add_bias_linear"):
        vectors += 2 * hidden_size + 2 * inner_size
    layer = Layer(
        heads.cache(),
        (*attention(heads, hidden_size), *mlp(hidden_size, inner_size)),
        vectors,
        inner_size=inner_size,
    )
    return standard_body(values, (layer,) * layer_count(values), heads)


def build_gemma2(values: ConfigValues) -> Body:
    """Gemma 2: every second layer looks through a window, from the first on."""
    body = build_as(values, GEMMA2)
    if values.texts("layer_types") or not values.has("sliding_window"):
        return body
    window = values.integer("sliding_window")
    windows = [window if index % 2 == 0 else None for index in range(len(body.layers))]
    return replace(body, layers=with_windows(body.layers[0], windows))


def build_cohere(values: ConfigValues) -> Body:
    """Command R: attention and feed-forward side by side behind one norm; head norms in R+."""
    head_norms = values.flag("use_qk_norm")
    body = build_as(values, COHERE)
    if not head_norms:
        return body
    rows = (body.attention_heads + body.kv_heads) * body.head_size
    layer = replace(body.layers[0], vector_parameters=body.layers[0].vector_parameters + rows)
    return replace(body, layers=(layer,) * len(body.layers))


def build_nas(values: ConfigValues) -> Body:
    """Models found by architecture search (Nemotron Super 49B): every layer has its own sizes."""
    hidden_size = values.integer("hidden_size")
    base = Heads.of(values, hidden_size)
    blocks = values.data.get("block_configs")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        values.refuse("block_configs", "is no list of layers", "give one mapping per layer")
        blocks = []
    layers = tuple(
        _searched_layer(
            ConfigValues(block, f"{values.where}: block_configs", values.errors), base, hidden_size
        )
        for block in blocks[:1000]
    )
    caches = [layer.cache for layer in layers if isinstance(layer.cache, HeadCache)]
    kv_heads = max((cache.kv_heads for cache in caches), default=1)
    return standard_body(values, layers, replace(base, kv_heads=kv_heads))


def _searched_layer(block: ConfigValues, base: Heads, hidden_size: int) -> Layer:
    part = block.section("attention")
    feed = block.section("ffn")
    tensors: list[Tensor] = []
    cache = None
    vectors = 0
    if not part.flag("no_op"):
        vectors += hidden_size
        per_group = part.integer("n_heads_in_group", default=1, high=4096)
        heads = replace(base, kv_heads=max(1, base.query_heads // per_group))
        tensors += attention(heads, hidden_size)
        cache = heads.cache()
    inner_size = 0
    if not feed.flag("no_op"):
        vectors += hidden_size
        share = feed.data.get("ffn_mult")
        if not isinstance(share, int | float) or isinstance(share, bool) or not 0 < share < 100:
            feed.refuse("ffn_mult", f"{str(share)[:40]} is no multiple", "give 0.1 to 10")
            share = 1
        inner_size = -(-int(2 * share * hidden_size / 3) // 256) * 256
        tensors += mlp(hidden_size, inner_size)
    return Layer(cache, tuple(tensors), vectors, inner_size=inner_size)


def _vectors(
    values: ConfigValues, traits: Traits, heads: Heads, hidden_size: int, inner_size: int
) -> int:
    """Norms and biases of one layer."""
    vectors = traits.norms * hidden_size * (2 if traits.norm_bias else 1)
    every = values.flag("use_bias", default=traits.all_bias)
    attention_bias = values.flag("attention_bias") or every
    if attention_bias or values.flag("qkv_bias") or traits.qkv_bias:
        vectors += heads.qkv_rows
    if attention_bias and not traits.qkv_bias:
        vectors += hidden_size
    if values.flag("mlp_bias") or every:
        vectors += (2 if traits.gated else 1) * inner_size + hidden_size
    if traits.head_norms:
        vectors += 2 * heads.key_size
    if traits.whole_norms:
        vectors += (heads.query_heads + heads.kv_heads) * heads.key_size
    return vectors
