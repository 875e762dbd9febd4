"""Vision towers: the encoder in front of a language model, with what joins them."""

from collections.abc import Mapping
from dataclasses import replace

from berth.catalog.architectures import gemma3n as gemma3n_towers
from berth.catalog.architectures import mllama
from berth.catalog.architectures.clip import (
    clip_and_projector,
    intern_vit,
    siglip_and_linear,
    siglip_parts,
)
from berth.catalog.architectures.tower_parts import EncoderSizes, TowerBuilder, TowerParts, side
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Tower

QWEN_LARGEST_TOKENS = 16_384
"""Largest image that the Qwen processors let through: 65,536 patches."""
GLM_LARGEST_TOKENS = 6144
"""Largest image that the GLM-4.1V processor lets through: 4.8 million pixels of 28 x 28."""


def qwen3_vl(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Qwen3-VL and Qwen3.5: layer norms, a learned grid, mergers after several layers."""
    values = root.section("vision_config")
    if not values.data:
        return None
    size = values.integer("hidden_size")
    inner = values.integer("intermediate_size")
    layers = values.integer("depth", high=1000)
    patch_values = _patch_values(values)
    merge = values.integer("spatial_merge_size", default=2, high=16)
    parts = TowerParts()
    parts.add("patch_embed", size, patch_values)
    parts.add("pos_embed", values.integer("num_position_embeddings"), size, bias=False)
    parts.encoder(layers, size, inner, bias=True, gated=False, norm_values=4 * size)
    wide = size * merge**2
    output = values.integer("out_hidden_size")
    mergers = 1 + len(values.integers("deepstack_visual_indexes"))
    parts.add("merger.fc1", wide, wide, "column", mergers)
    parts.add("merger.fc2", output, wide, "row", mergers)
    parts.vectors += 2 * size + (mergers - 1) * 2 * wide
    return Tower(
        tuple(parts.tensors),
        parts.vectors,
        size,
        inner,
        patch_values,
        merge**2,
        QWEN_LARGEST_TOKENS,
    )


def qwen2_vl(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Qwen2-VL and Qwen2.5-VL."""
    values = root.section("vision_config")
    if not values.data:
        return None
    newer = values.has("intermediate_size")
    size = values.integer("hidden_size" if newer else "embed_dim", default=1280)
    output = values.integer("out_hidden_size" if newer else "hidden_size")
    inner = values.integer("intermediate_size", default=4 * size)
    layers = values.integer("depth", default=32, high=1000)
    patch_values = _patch_values(values)
    merge = values.integer("spatial_merge_size", default=2, high=16)
    parts = TowerParts()
    parts.add("patch_embed", size, patch_values, bias=False)
    norm_values = 2 * size if newer else 4 * size
    parts.encoder(layers, size, inner, bias=True, gated=newer, norm_values=norm_values)
    wide = size * merge**2
    parts.add("merger.mlp.0", wide, wide, "column")
    parts.add("merger.mlp.2", output, wide, "row")
    parts.vectors += size if newer else 2 * size
    return Tower(
        tuple(parts.tensors),
        parts.vectors,
        size,
        inner,
        patch_values,
        merge**2,
        QWEN_LARGEST_TOKENS,
        gated=newer,
    )


def gemma4(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Gemma 4: head norms, gated feed-forward, tables of positions for both directions."""
    values = root.section("vision_config")
    if not values.data:
        return None
    sizes = EncoderSizes.of(values, patch=None)
    size = sizes.hidden
    heads = values.integer("num_attention_heads", high=4096)
    head_size = values.integer("head_dim", default=size // heads, high=8192)
    pool = values.integer("pooling_kernel_size", default=3, high=16)
    parts = TowerParts()
    parts.add("patch_embedder.input_proj", size, sizes.patch_values, bias=False)
    positions = values.integer("position_embedding_size", default=10_240)
    parts.add("patch_embedder.positions", 2 * positions, size, bias=False)
    norm_values = 4 * size + 2 * head_size
    parts.encoder(sizes.layers, size, sizes.inner, bias=False, gated=True, norm_values=norm_values)
    parts.add("embed_vision", text.integer("hidden_size"), size, bias=False)
    tokens = root.integer("vision_soft_tokens_per_image", default=280)
    return parts.tower(sizes, pool**2, tokens, split_by_tensor_parallel=False, gated=True)


def gemma3(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Gemma 3: SigLIP of 896 x 896 pixels, pooled to 256 tokens."""
    values = root.section("vision_config")
    if not values.data:
        return None
    sizes = EncoderSizes.of(values)
    parts, patches = siglip_parts(values, sizes, default_image=896)
    tokens = root.integer("mm_tokens_per_image", default=256)
    parts.add("mm_input_projection", sizes.hidden, text.integer("hidden_size"), bias=False)
    parts.vectors += sizes.hidden
    return parts.tower(sizes, max(1, patches // tokens), tokens)


def glm4v(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """GLM-4.1V and 4.5V: gated layers as wide as the language model, merged two by two."""
    values = root.section("vision_config")
    if not values.data:
        return None
    size = values.integer("hidden_size")
    output = values.integer("out_hidden_size")
    inner = values.integer("intermediate_size")
    layers = values.integer("depth", default=24, high=1000)
    patch = values.integer("patch_size", default=14, high=256)
    patches = (values.integer("image_size", default=336) // patch) ** 2
    merge = values.integer("spatial_merge_size", default=2, high=16)
    patch_values = _patch_values(values)
    parts = TowerParts()
    parts.add("patch_embed", size, patch_values)
    parts.add("position_embedding", patches, size, bias=False)
    parts.encoder(layers, size, output, bias=False, gated=True, norm_values=2 * size)
    parts.add("downsample", output, size * merge**2)
    parts.add("merger.proj", output, output, bias=False)
    parts.add("merger.gate_up", 2 * inner, output, "column", bias=False)
    parts.add("merger.down", output, inner, "row", bias=False)
    parts.vectors += 2 * size + 2 * output
    sizes = EncoderSizes(size, output, layers, patch)
    return replace(
        parts.tower(sizes, merge**2, GLM_LARGEST_TOKENS, gated=True), patch_values=patch_values
    )


def pixtral(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Mistral 3 and Pixtral: merged two by two in Mistral 3, with biases in Pixtral."""
    values = root.section("vision_config")
    if not values.data:
        return None
    sizes = EncoderSizes.of(values, hidden=1024, inner=4096, layers=24, patch=16)
    size = sizes.hidden
    newer = (root.texts("architectures") or ("",))[0].startswith("Mistral3")
    merges = newer or root.has("spatial_merge_size")
    merge = root.integer("spatial_merge_size", default=2, high=16) if merges else 1
    hidden_size = text.integer("hidden_size")
    parts = TowerParts()
    parts.add("patch_conv", size, sizes.patch_values, bias=False)
    parts.encoder(sizes.layers, size, sizes.inner, bias=False, gated=True, norm_values=2 * size)
    if merges:
        parts.add("patch_merger", size, size * merge**2, bias=False)
    parts.add("projector.linear_1", hidden_size, size, "column", bias=not newer)
    parts.add("projector.linear_2", hidden_size, hidden_size, "row", bias=not newer)
    parts.vectors += 2 * size if merges else size
    tokens = max(1, side(values, "image_size", 1540) // (sizes.patch * merge)) ** 2
    return parts.tower(sizes, merge**2, tokens, gated=True)


def llava(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """LLaVA's joint behind CLIP or SigLIP, or behind Pixtral's encoder."""
    if root.section("vision_config").text("model_type") == "pixtral":
        return pixtral(root, text)
    return clip_and_projector(root, text)


def llama4(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Llama 4: tiles of 336 pixels, an adapter and a projection."""
    values = root.section("vision_config")
    if not values.data:
        return None
    sizes = EncoderSizes.of(values)
    size = sizes.hidden
    patches = (values.integer("image_size", default=336) // sizes.patch) ** 2
    adapter = values.integer("projector_output_dim", default=4096)
    parts = TowerParts()
    parts.add("patch_embedding", size, sizes.patch_values, bias=False)
    parts.add("positional_embedding", patches + 1, size, bias=False)
    parts.encoder(sizes.layers, size, sizes.inner, bias=True, gated=False, norm_values=4 * size)
    adapter_input = values.integer("projector_input_dim", default=4096)
    parts.add("adapter.fc1", adapter_input, sizes.inner, bias=False)
    parts.add("adapter.fc2", adapter, adapter, bias=False)
    vision_output = values.integer("vision_output_dim", default=4096)
    parts.add("projector", text.integer("hidden_size"), vision_output, bias=False)
    parts.vectors += 5 * size
    tiles = 17  # sixteen and the whole picture, the processor's limit
    return parts.tower(sizes, 4, tiles * patches // 4)


def moonvit(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Kimi K2.5 and later: MoonViT, merged two by two."""
    values = root.section("vision_config")
    if not values.data:
        return None
    size = values.integer("vt_hidden_size", "hidden_size")
    inner = values.integer("vt_intermediate_size", "intermediate_size")
    layers = values.integer("vt_num_hidden_layers", "num_hidden_layers", high=1000)
    width = values.integer("qkv_hidden_size", default=size)
    patch = values.integer("patch_size", default=14, high=256)
    bias = values.flag("attn_bias", default=True)
    plain = values.flag("linear_bias", default=True)
    rows = values.integer("init_pos_emb_height", default=64)
    columns = values.integer("init_pos_emb_width", default=64)
    parts = TowerParts()
    parts.add(
        "patch_embed", size, 3 * patch**2, bias=values.flag("patch_embed_proj_bias", default=True)
    )
    parts.add("pos_emb", rows * columns, size, bias=False)
    parts.add("qkv", 3 * width, size, "column", layers, bias=bias)
    parts.add("proj", size, width, "row", layers, bias=bias)
    parts.add("fc1", inner, size, "column", layers, bias=plain)
    parts.add("fc2", size, inner, "row", layers, bias=plain)
    parts.vectors += layers * 4 * size + 4 * size
    wide = 4 * size
    parts.add("projector.1", wide, wide)
    parts.add("projector.2", text.integer("hidden_size"), wide)
    return Tower(tuple(parts.tensors), parts.vectors, size, inner, 3 * patch**2, 4, 4096)


def _patch_values(values: ConfigValues) -> int:
    channels = values.integer("in_channels", "in_chans", default=3, high=64)
    frames = values.integer("temporal_patch_size", default=2, high=64)
    return channels * frames * values.integer("patch_size", default=14, high=256) ** 2


TOWERS: Mapping[str, TowerBuilder] = {
    "Gemma3ForConditionalGeneration": gemma3,
    "Gemma3nForConditionalGeneration": gemma3n_towers.vision,
    "Gemma4ForConditionalGeneration": gemma4,
    "Glm4vForConditionalGeneration": glm4v,
    "Glm4vMoeForConditionalGeneration": glm4v,
    "InternVLChatModel": intern_vit,
    "InternVLForConditionalGeneration": intern_vit,
    "KimiK25ForConditionalGeneration": moonvit,
    "KimiK3ForConditionalGeneration": moonvit,
    "Llama4ForConditionalGeneration": llama4,
    "LlavaForConditionalGeneration": llava,
    "LlavaNextForConditionalGeneration": clip_and_projector,
    "LlavaOnevisionForConditionalGeneration": clip_and_projector,
    "Mistral3ForConditionalGeneration": pixtral,
    "MllamaForConditionalGeneration": mllama.tower,
    "PaliGemmaForConditionalGeneration": siglip_and_linear,
    "PixtralForConditionalGeneration": pixtral,
    "Qwen2VLForConditionalGeneration": qwen2_vl,
    "Qwen2_5OmniModel": qwen2_vl,
    "Qwen2_5OmniThinkerForConditionalGeneration": qwen2_vl,
    "Qwen2_5_VLForConditionalGeneration": qwen2_vl,
    "Qwen3OmniMoeForConditionalGeneration": qwen3_vl,
    "Qwen3OmniMoeThinkerForConditionalGeneration": qwen3_vl,
    "Qwen3VLForConditionalGeneration": qwen3_vl,
    "Qwen3VLMoeForConditionalGeneration": qwen3_vl,
    "Qwen3_5ForConditionalGeneration": qwen3_vl,
    "Qwen3_5MoeForConditionalGeneration": qwen3_vl,
}
"""Towers by class name."""
