"""The most that weights take on one GPU while they are loaded and converted."""

from berth.catalog.model_shape import Model
from berth.planner.engine_options import EngineOptions
from berth.planner.vllm_rules import Version
from berth.planner.weights import Parallel, stage_weights

LAYERWISE_FROM: Version = (0, 32, 0)
"""From here 16-bit weights are quantized layer by layer as they arrive (`model_loader/reload`);
read in 0.32, so older versions are counted with the whole model in 16 bits."""
ONLINE = frozenset({"fp8", "fp8_channel", "int8", "bitsandbytes"})
"""Formats that vLLM makes itself of a 16-bit checkpoint."""


def load_peak_bytes(
    model: Model, parallel: Parallel, options: EngineOptions, loaded_bytes: float, version: Version
) -> float:
    """Bytes of the worst pipeline stage: what stays, or more where vLLM converts while loading."""
    if model.quantization != "none" or options.quantization not in ONLINE:
        return loaded_bytes
    towers = bool(model.towers) and not options.language_model_only
    wide = max(stage_weights(model, parallel, "none", towers=towers), key=lambda stage: stage.bytes)
    if version < LAYERWISE_FROM:
        return float(wide.bytes)
    return loaded_bytes + wide.bytes / max(1, len(wide.layers))
