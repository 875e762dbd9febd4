"""Llama 3.2 Vision: layers that look at the picture between those that look at the text.

Weights as in the classes of the transformers library that bear this name.
"""

from dataclasses import replace

from berth.catalog.architectures.dense import LLAMA, build_as
from berth.catalog.architectures.parts import Body, kept
from berth.catalog.architectures.tower_parts import EncoderSizes, TowerParts
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Tower

EXTRA_ENTRIES = 8
"""Of the embedding, beyond the vocabulary of the head."""


def build(values: ConfigValues) -> Body:
    """The language model; a layer across has head norms and two gates besides."""
    body = build_as(values, LLAMA)
    across_at = set(values.integers("cross_attention_layers"))
    plain = body.layers[0] if body.layers else None
    if plain is None:
        return body
    across = replace(plain, vector_parameters=plain.vector_parameters + 2 * body.head_size + 2)
    layers = tuple(across if i in across_at else plain for i in range(len(body.layers)))
    extra = kept("embed_tokens.extra", EXTRA_ENTRIES, body.hidden_size)
    return replace(body, layers=layers, final_tensors=(extra,))


def tower(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Tiles with positions of their own, local and global layers, one projection."""
    values = root.section("vision_config")
    if not values.data:
        return None
    sizes = EncoderSizes.of(values, hidden=1280, inner=5120, layers=32)
    size = sizes.hidden
    far_layers = values.integer("num_global_layers", default=8, high=1000)
    patches = (values.integer("image_size", default=560) // sizes.patch) ** 2 + 1
    tiles = values.integer("max_num_tiles", default=4, high=64)
    ratios = len(values.data.get("supported_aspect_ratios") or range(8)) + 1
    parts = TowerParts()
    parts.add("patch_embedding", size, sizes.patch_values, bias=False)
    parts.add("positions", patches, size, bias=False)
    parts.add("tile_positions", ratios, tiles * patches * size, bias=False)
    parts.add("tile_embeddings", 2 * ratios, tiles * size, bias=False)
    for layers, gates in ((sizes.layers, 0), (far_layers, 2)):
        norms = 4 * size + gates
        parts.add("qkv", 3 * size, size, "column", layers, bias=False)
        parts.add("proj", size, size, "row", layers, bias=False)
        parts.add("fc1", sizes.inner, size, "column", layers)
        parts.add("fc2", size, sizes.inner, "row", layers)
        parts.vectors += layers * norms
    output = values.integer("vision_output_dim", default=6 * size)
    parts.add("projector", text.integer("hidden_size"), output)
    parts.vectors += size + 4 * size + 3
    return parts.tower(sizes, 1, tiles * patches)
