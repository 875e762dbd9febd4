"""Encoders of the CLIP family, and what joins them to a language model: LLaVA, InternVL, PaliGemma.

Weights as in the classes of the transformers library that bear these names.
"""

from berth.catalog.architectures.tower_parts import EncoderSizes, TowerParts, side
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Tower

ONE_VIEW = 1
LLAVA_NEXT_VIEWS = 5
"""Four tiles and the whole picture: the largest of the grids that LLaVA 1.6 names."""
ONEVISION_VIEWS = 10
"""Nine tiles and the whole picture, to which LLaVA-OneVision brings larger ones down."""
INTERNVL_TILES = 12
"""Tiles at most where a configuration of InternVL names no number."""


def clip_and_projector(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """LLaVA: CLIP or SigLIP, and two layers that project its output."""
    values = root.section("vision_config")
    if not values.data:
        return None
    hidden_size = text.integer("hidden_size")
    name = (root.texts("architectures") or ("",))[0]
    views = ONE_VIEW
    if name.startswith("LlavaNext"):
        views = LLAVA_NEXT_VIEWS
    elif name.startswith("LlavaOnevision"):
        views = ONEVISION_VIEWS
    if values.text("model_type").startswith("siglip"):
        sizes = EncoderSizes.of(values)
        parts, patches = siglip_parts(values, sizes, default_image=384)
    else:
        sizes = EncoderSizes.of(values, hidden=1024, inner=4096, layers=24)
        parts, patches = _clip_parts(values, sizes)
    bias = root.flag("multimodal_projector_bias", default=True)
    parts.add("projector.linear_1", hidden_size, sizes.hidden, "column", bias=bias)
    parts.add("projector.linear_2", hidden_size, hidden_size, "row", bias=bias)
    parts.vectors += hidden_size if views > ONE_VIEW else 0
    return parts.tower(sizes, 1, views * patches)


def intern_vit(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """InternVL: InternViT, four patches to a token, two layers that project them."""
    values = root.section("vision_config")
    if not values.data:
        return None
    sizes = EncoderSizes.of(values)
    size = sizes.hidden
    patches = (side(values, "image_size", 448) // sizes.patch) ** 2
    norms = 2 * size * (1 if values.text("norm_type") == "rms_norm" else 2)
    heads_normed = values.flag("qk_normalization") or values.flag("use_qk_norm")
    scales = 2 * size
    parts = TowerParts()
    parts.add("patch_embedding", size, sizes.patch_values)
    parts.add("position_embedding", patches + 1, size, bias=False)
    parts.encoder(
        sizes.layers,
        size,
        sizes.inner,
        bias=True,
        gated=False,
        norm_values=norms + scales + (2 * size if heads_normed else 0),
        qkv_bias=values.flag("qkv_bias", default=values.flag("attention_bias")),
    )
    merged = 4
    hidden_size = text.integer("hidden_size")
    parts.add("mlp1.1", hidden_size, merged * size)
    parts.add("mlp1.3", hidden_size, hidden_size)
    parts.vectors += size + 2 * merged * size
    tiles = root.integer("max_dynamic_patch", default=INTERNVL_TILES, high=1000) + 1
    return parts.tower(sizes, merged, tiles * patches // merged)


def siglip_and_linear(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """PaliGemma: SigLIP and one layer that projects its output."""
    values = root.section("vision_config")
    if not values.data:
        return None
    sizes = EncoderSizes.of(values)
    parts, patches = siglip_parts(values, sizes, default_image=224)
    parts.add("projector", text.integer("hidden_size"), sizes.hidden)
    return parts.tower(sizes, 1, patches)


def siglip_parts(
    values: ConfigValues, sizes: EncoderSizes, *, default_image: int
) -> tuple[TowerParts, int]:
    """SigLIP without a class token, and its patches."""
    size = sizes.hidden
    patches = (values.integer("image_size", default=default_image) // sizes.patch) ** 2
    parts = TowerParts()
    parts.add("patch_embedding", size, sizes.patch_values)
    parts.add("position_embedding", patches, size, bias=False)
    parts.encoder(sizes.layers, size, sizes.inner, bias=True, gated=False, norm_values=4 * size)
    parts.vectors += 2 * size
    return parts, patches


def _clip_parts(values: ConfigValues, sizes: EncoderSizes) -> tuple[TowerParts, int]:
    """CLIP: a class token, a norm before and one after the layers."""
    size = sizes.hidden
    patches = (values.integer("image_size", default=336) // sizes.patch) ** 2
    parts = TowerParts()
    parts.add("patch_embedding", size, sizes.patch_values, bias=False)
    parts.add("position_embedding", patches + 1, size, bias=False)
    parts.encoder(sizes.layers, size, sizes.inner, bias=True, gated=False, norm_values=4 * size)
    parts.vectors += size + 4 * size
    return parts, patches
