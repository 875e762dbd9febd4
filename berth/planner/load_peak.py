"""The most that weights take on one GPU while they are loaded and converted."""

from berth.catalog.model_shape import Model
from berth.planner.engine_options import EngineOptions
from berth.planner.vllm_rules import Version
from berth.planner.weights import Parallel, is_made_while_loading, stage_weights

MATRIX_BY_MATRIX = "bitsandbytes"
"""vLLM quantizes each matrix as it is read, and only that one is on the GPU in 16 bits besides
(`model_loader/bitsandbytes_loader.py`, `_unquantized_generator`); one layer is counted."""
LAYERWISE_FROM: Version = (0, 24, 0)
"""From here 16-bit weights are quantized layer by layer as they arrive (`model_loader/reload`);
read in 0.24, 0.28, 0.31 and 0.32."""
BOTH_COPIES_FROM: Version = (0, 13, 0)
"""0.13 ran out of 139.7 GiB with a model of 135.4 GiB in 16 bits, where 0.12 had started
(https://github.com/vllm-project/vllm/issues/31273): from here both copies are counted."""
PER_TENSOR_FROM: Version = (0, 24, 0)
"""From here `fp8_per_tensor` is a value of `--quantization`; from 0.31 plain `fp8` is refused for a
checkpoint in 16 bits."""


def load_peak_bytes(
    model: Model, parallel: Parallel, options: EngineOptions, loaded_bytes: float, version: Version
) -> float:
    """Bytes of the worst pipeline stage: what stays, or more where vLLM converts while loading."""
    if not is_made_while_loading(model, options.quantization):
        return loaded_bytes
    towers = bool(model.towers) and not options.language_model_only
    wide = max(stage_weights(model, parallel, "none", towers=towers), key=lambda stage: stage.bytes)
    if options.quantization == MATRIX_BY_MATRIX:
        return loaded_bytes + wide.bytes / max(1, wide.layers)
    if version < BOTH_COPIES_FROM:
        return float(wide.bytes)
    if version < LAYERWISE_FROM:
        return wide.bytes + loaded_bytes
    return loaded_bytes + wide.bytes / max(1, wide.layers)


def quantization_argument(model: Model, quantization: str, version: Version) -> str | None:
    """What `--quantization` has to say; None where vLLM reads it from the checkpoint."""
    if not is_made_while_loading(model, quantization):
        return None
    if quantization == "fp8" and version >= PER_TENSOR_FROM:
        return "fp8_per_tensor"
    return quantization
