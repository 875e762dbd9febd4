"""Encoders of sound and what joins them to a language model: Whisper and its kin.

Weights as in the classes of the transformers library that bear these names.
"""

from collections.abc import Mapping

from berth.catalog.architectures import gemma3n
from berth.catalog.architectures.parts import Body, Heads, attention, kept, mlp
from berth.catalog.architectures.tower_parts import EncoderSizes, TowerBuilder, TowerParts
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import HeadCache, Layer, Tower

SOURCE_POSITIONS = 1500
"""Frames of thirty seconds behind Whisper's convolutions."""


def build_whisper(values: ConfigValues) -> Body:
    """Whisper: a decoder that looks at itself and at the source, tied, learned positions."""
    size = values.integer("d_model")
    query_heads = values.integer("decoder_attention_heads", high=4096)
    if size % query_heads:
        values.refuse("decoder_attention_heads", f"do not divide {size}", "give a divisor")
    head_size = max(1, size // query_heads)
    heads = Heads(query_heads, query_heads, head_size, head_size)
    inner = values.integer("decoder_ffn_dim")
    source = values.integer("max_source_positions", default=SOURCE_POSITIONS, high=1 << 16)
    parts = (
        *attention(heads, size),
        *attention(heads, size, module="encoder_attn"),
        *mlp(size, inner, gated=False),
    )
    vectors = 2 * 3 * size + inner + size + 3 * 2 * size
    layer = Layer(
        heads.cache(),
        parts,
        vectors,
        inner_size=inner,
        second_cache=HeadCache(query_heads, head_size, head_size, source_tokens=source),
    )
    count = values.integer("decoder_layers", high=1000)
    positions = values.integer("max_target_positions", default=448, high=1 << 16)
    return Body(
        layers=(layer,) * count,
        tied=True,
        max_positions=positions,
        hidden_size=size,
        vocabulary=values.integer("vocab_size"),
        attention_heads=query_heads,
        kv_heads=query_heads,
        head_size=head_size,
        final_tensors=(kept("embed_positions", positions, size),),
        final_vector_parameters=2 * size,
    )


def whisper(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Whisper's own encoder."""
    parts, sizes, frames = _encoder(root, positions=True)
    return parts.tower(sizes, 1, frames)


def qwen2_audio(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Qwen2-Audio: Whisper's encoder, two frames to a token, one layer that projects them."""
    values = root.section("audio_config")
    if not values.data:
        return None
    parts, sizes, frames = _encoder(values, positions=True)
    parts.add("projector", text.integer("hidden_size"), sizes.hidden)
    return parts.tower(sizes, 2, frames // 2)


def voxtral(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Voxtral: Whisper's encoder, four frames to a token, two layers that project them."""
    values = root.section("audio_config")
    if not values.data:
        return None
    parts, sizes, frames = _encoder(values, positions=True)
    hidden_size = text.integer("hidden_size")
    wide = values.integer("intermediate_size")
    parts.add("projector.linear_1", hidden_size, wide, "column", bias=False)
    parts.add("projector.linear_2", hidden_size, hidden_size, "row", bias=False)
    return parts.tower(sizes, 4, frames // 4)


def qwen2_omni(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Qwen2.5-Omni: Whisper's encoder without a table of positions, one projection."""
    values = root.section("audio_config")
    if not values.data:
        return None
    parts, sizes, frames = _encoder(values, positions=False)
    parts.add("proj", text.integer("hidden_size"), sizes.hidden)
    return parts.tower(sizes, 2, frames // 2)


def qwen3_omni(root: ConfigValues, text: ConfigValues) -> Tower | None:
    """Qwen3-Omni: three strided convolutions over the picture of the sound, two projections."""
    values = root.section("audio_config")
    if not values.data:
        return None
    sizes = _sizes(values)
    size = sizes.hidden
    channels = values.integer("downsample_hidden_size", default=480, high=1 << 14)
    mels = values.integer("num_mel_bins", default=128, high=4096)
    parts = TowerParts()
    parts.add("conv2d1", channels, 9)
    parts.add("conv2d2", channels, 9 * channels, copies=2)
    parts.add("conv_out", size, channels * -(-mels // 8), bias=False)
    parts.encoder(sizes.layers, size, sizes.inner, bias=True, gated=False, norm_values=4 * size)
    parts.add("proj1", size, size)
    parts.add("proj2", values.integer("output_dim", default=text.integer("hidden_size")), size)
    parts.vectors += 2 * size
    return parts.tower(sizes, 1, SOURCE_POSITIONS // 4)


def _sizes(values: ConfigValues) -> EncoderSizes:
    return EncoderSizes(
        values.integer("d_model", "hidden_size"),
        values.integer("encoder_ffn_dim", "intermediate_size"),
        values.integer("encoder_layers", "num_hidden_layers", high=1000),
        patch=1,
    )


def _encoder(values: ConfigValues, *, positions: bool) -> tuple[TowerParts, EncoderSizes, int]:
    """Whisper's encoder and its frames: two convolutions, keys without a bias."""
    sizes = _sizes(values)
    size = sizes.hidden
    mels = values.integer("num_mel_bins", default=128, high=4096)
    frames = values.integer("max_source_positions", default=SOURCE_POSITIONS, high=1 << 16)
    parts = TowerParts()
    parts.add("conv1", size, 3 * mels)
    parts.add("conv2", size, 3 * size)
    if positions:
        parts.add("embed_positions", frames, size, bias=False)
    parts.encoder(sizes.layers, size, sizes.inner, bias=True, gated=False, norm_values=4 * size)
    parts.vectors += 2 * size - sizes.layers * size
    return parts, sizes, frames


SOUND_TOWERS: Mapping[str, TowerBuilder] = {
    "Gemma3nForConditionalGeneration": gemma3n.sound,
    "Qwen2AudioForConditionalGeneration": qwen2_audio,
    "Qwen2_5OmniModel": qwen2_omni,
    "Qwen2_5OmniThinkerForConditionalGeneration": qwen2_omni,
    "Qwen3OmniMoeForConditionalGeneration": qwen3_omni,
    "Qwen3OmniMoeThinkerForConditionalGeneration": qwen3_omni,
    "VoxtralForConditionalGeneration": voxtral,
    "WhisperForConditionalGeneration": whisper,
}
"""Encoders of sound by class name."""
