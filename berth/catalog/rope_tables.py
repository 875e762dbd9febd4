"""Tables of rotary positions: cosines and sines that a model keeps beside its weights.

Source: vLLM, `model_executor/layers/rotary_embedding`: one table of positions x rotated values per
kind of rotation, shared by all layers, on every rank.
"""

from collections.abc import Mapping

from berth.catalog.architectures.parts import Body
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import HeadCache, LatentCache, Layer

WITHOUT = frozenset(
    {
        "BloomForCausalLM",
        "FalconMambaForCausalLM",
        "GPT2LMHeadModel",
        "GPTBigCodeForCausalLM",
        "JambaForCausalLM",
        "KimiK3ForConditionalGeneration",
        "KimiLinearForCausalLM",
        "MPTForCausalLM",
        "Mamba2ForCausalLM",
        "MambaForCausalLM",
        "MptForCausalLM",
        "NemotronHForCausalLM",
        "OPTForCausalLM",
        "WhisperForConditionalGeneration",
    }
)
"""Classes whose attention knows positions otherwise, or not at all."""
ROTATED_SHARE: Mapping[str, float] = {
    "ChatGLM": 0.5,
    "GPTNeoX": 0.25,
    "Glm": 0.5,
    "MiMoV2": 0.334,
    "MiniMax": 0.5,
    "PhiForCausalLM": 0.5,
    "Qwen3Next": 0.25,
    "Qwen3_5": 0.25,
    "StableLm": 0.25,
}
"""Of a head, by how the class begins, where the configuration does not say."""
FOR_VIDEO = ("Qwen2VL", "Qwen2_5", "Qwen3VL", "Qwen3Omni", "Qwen3_5", "Glm4v")
"""Classes that count positions in three directions; their table is four times as long."""
FOR_VIDEO_TIMES = 4
NEAR_AND_FAR = ("Gemma3", "Gemma4", "MiMoV2", "Olmo3", "Step3p")
"""Classes that turn layers with a window at another speed, and never farther than trained."""
WIDE = ("GptOss",)
"""Classes whose table stays in fp32."""


def rope_table_bytes(architecture: str, text: ConfigValues, body: Body) -> int:
    """Bytes of all tables on one rank."""
    if architecture in WITHOUT or body.pooling:
        return 0
    setting = text.section("rope_scaling" if text.has("rope_scaling") else "rope_parameters")
    sizes = _head_sizes(body.layers)
    share = _share(architecture, text, setting)
    rotated = [
        text.integer("rotary_dim", default=round(size * share), low=0, high=8192) for size in sizes
    ]
    rows = _positions(architecture, text, setting, body)
    values = rows * sum(rotated)
    if len(rotated) == 1 and architecture.startswith(NEAR_AND_FAR):
        values += body.max_positions * sum(rotated)
    return values * (4 if architecture.startswith(WIDE) else 2)


def _head_sizes(layers: tuple[Layer, ...]) -> list[int]:
    """Sizes of the part of a head that is turned, each once; latent attention has it apart."""
    caches = {cache for layer in layers for cache in layer.caches}
    return sorted(
        {
            cache.key_size if isinstance(cache, HeadCache) else cache.rope_size
            for cache in caches
            if isinstance(cache, HeadCache | LatentCache)
        }
    )


def _share(architecture: str, text: ConfigValues, setting: ConfigValues) -> float:
    for values, key in (
        (text, "partial_rotary_factor"),
        (setting, "partial_rotary_factor"),
        (text, "rotary_pct"),
    ):
        written = values.data.get(key)
        if isinstance(written, int | float) and not isinstance(written, bool) and 0 < written <= 1:
            return float(written)
    return next((s for start, s in ROTATED_SHARE.items() if architecture.startswith(start)), 1.0)


def _positions(architecture: str, text: ConfigValues, setting: ConfigValues, body: Body) -> int:
    """Rows of a table."""
    rows = body.max_positions
    kind = setting.text("rope_type") or setting.text("type")
    factor = _factor(setting)
    if kind in ("yarn", "deepseek_yarn") and factor > 1:
        original = setting.integer("original_max_position_embeddings", default=rows, high=1 << 28)
        rows = int(original * factor)
    elif kind in ("linear", "dynamic"):
        rows = int(rows * factor)
    elif kind in ("longrope", "su"):
        rows += text.integer("original_max_position_embeddings", default=0, low=0, high=1 << 28)
    return rows * (FOR_VIDEO_TIMES if architecture.startswith(FOR_VIDEO) else 1)


def _factor(setting: ConfigValues) -> float:
    """How much longer than trained; 1 where it is not said or absurd."""
    written = setting.data.get("factor")
    if isinstance(written, int | float) and not isinstance(written, bool) and 1 < written < 1e4:
        return float(written)
    return 1.0
