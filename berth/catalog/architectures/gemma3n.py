"""Gemma 3n: inputs of their own per layer, several residual streams, shared caches.

Weights as in vLLM's and the transformers library's classes of this name.
"""

from dataclasses import replace

from berth.catalog.architectures.parts import (
    Body,
    Heads,
    attention,
    kept,
    layer_count,
    layer_windows,
    linear,
    mlp,
    standard_body,
)
from berth.catalog.architectures.tower_parts import EncoderSizes, TowerParts
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Layer, Tower

MOBILE_NET_PARAMETERS = 294_126_912
"""Of `mobilenetv5_300m_enc`, whose sizes no configuration writes: what the published count of E4B
leaves for it; that of E2B leaves the same."""
MOBILE_NET_TOKENS = 256


def build(values: ConfigValues) -> Body:
    """The language model."""
    hidden_size = values.integer("hidden_size")
    heads = Heads.of(values, hidden_size)
    count = layer_count(values)
    inner_sizes = _inner_sizes(values, count)
    streams = values.integer("altup_num_inputs", default=4, high=64)
    rank = values.integer("laurel_rank", default=64)
    extra = values.integer("hidden_size_per_layer_input", default=256)
    sharing = values.integer("num_kv_shared_layers", default=0, low=0, high=1000)
    parts = (
        *attention(heads, hidden_size),
        kept("laurel.linear_left", rank, hidden_size, "column"),
        kept("laurel.linear_right", hidden_size, rank, "row"),
        kept("altup.coefs", streams + streams**2, streams),
        kept("altup.modality_router", streams, hidden_size),
        linear("per_layer_input_gate", extra, hidden_size, "none"),
        linear("per_layer_projection", hidden_size, extra, "none"),
    )
    vectors = 8 * hidden_size + 2 * heads.key_size
    made: dict[tuple[int | None, int, bool], Layer] = {}
    layers = []
    for index, window in enumerate(layer_windows(values, count)):
        key = (window, inner_sizes[index], index >= count - sharing)
        if key not in made:
            cache = None if key[2] else heads.cache(window)
            tensors = (*parts, *mlp(hidden_size, key[1]))
            made[key] = Layer(cache, tensors, vectors, inner_size=key[1])
        layers.append(made[key])
    body = standard_body(values, tuple(layers), heads, tied=True)
    rows = values.integer("vocab_size_per_layer_input", default=body.vocabulary)
    outside = (
        kept("embed_tokens_per_layer", rows, count * extra, "vocab"),
        linear("per_layer_model_projection", count * extra, hidden_size, "column"),
        kept("altup_projections", hidden_size, hidden_size, copies=2 * (streams - 1)),
    )
    return replace(body, final_tensors=outside, final_vector_parameters=hidden_size + extra)


def vision(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """MobileNet, 256 tokens to a picture whatever its size."""
    values = root.section("vision_config")
    if not values.data:
        return None
    size = values.integer("hidden_size", default=2048)
    parts = TowerParts()
    parts.add("timm_model", MOBILE_NET_PARAMETERS // size, size, bias=False)
    parts.vectors += MOBILE_NET_PARAMETERS % size
    _join(parts, values, size, text.integer("hidden_size"))
    sizes = EncoderSizes(size, size, 1, patch=48)
    return parts.tower(sizes, 1, MOBILE_NET_TOKENS, split_by_tensor_parallel=False)


def sound(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """A conformer: feed-forward parts around attention and a convolution."""
    values = root.section("audio_config")
    if not values.data:
        return None
    size = values.integer("hidden_size", default=1536)
    layers = values.integer("conf_num_hidden_layers", default=12, high=1000)
    kernel = values.integer("conf_conv_kernel_size", default=5, high=256)
    heads = values.integer("conf_num_attention_heads", default=8, high=4096)
    mels = values.integer("input_feat_size", default=128, high=4096)
    channels = values.integers("sscp_conv_channel_size", low=1) or (128, 32)
    inner = 4 * size
    parts = TowerParts()
    parts.add("conv_0", channels[0], 9, bias=True)
    parts.add("conv_1", channels[-1], 9 * channels[0], bias=True)
    parts.add("input_proj", size, channels[-1] * -(-mels // 4), bias=False)
    for name, rows, columns in (
        ("ffw_1", inner, size),
        ("ffw_2", size, inner),
    ):
        parts.add(name, rows, columns, copies=2 * layers, bias=False)
    parts.add("attention", size, size, copies=5 * layers, bias=False)
    parts.add("conv_start", 2 * size, size, copies=layers, bias=False)
    parts.add("conv_depthwise", size, kernel, copies=layers, bias=False)
    parts.add("conv_end", size, size, copies=layers, bias=False)
    parts.vectors += layers * (9 * size + max(1, size // heads))
    _join(parts, values, size, text.integer("hidden_size"))
    sizes = EncoderSizes(size, inner, layers, patch=1)
    tokens = root.integer("audio_soft_tokens_per_image", default=188, high=1 << 16)
    return parts.tower(sizes, 4, tokens, split_by_tensor_parallel=False)


def _join(parts: TowerParts, values: ConfigValues, size: int, hidden_size: int) -> None:
    """Hard and soft tokens of a sense, brought to the language model."""
    parts.add("embedding", values.integer("vocab_size", default=128), size, bias=False)
    parts.add("embedding_projection", hidden_size, size, bias=False)
    parts.vectors += 2 * size


def _inner_sizes(values: ConfigValues, count: int) -> tuple[int, ...]:
    """One size per layer, written as a list or as one number."""
    if isinstance(values.data.get("intermediate_size"), list):
        sizes = values.integers("intermediate_size", low=1)
        if len(sizes) < count:
            values.refuse("intermediate_size", f"has {len(sizes)} entries", f"give {count}")
            return (1,) * count
        return sizes
    return (values.integer("intermediate_size"),) * count
