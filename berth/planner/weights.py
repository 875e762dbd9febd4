"""Bytes of weights on one GPU: what tensor, pipeline and expert parallel leave of each matrix."""

from dataclasses import dataclass, replace
from functools import lru_cache

from berth.catalog.model_shape import Layer, Model, Tensor
from berth.catalog.weight_format import (
    BITS16,
    FP8_CHANNEL,
    FP8_TENSOR,
    INT8_CHANNEL,
    MXFP4,
    NF4,
    NVFP4,
    WeightFormat,
    int4,
)
from berth.planner.allocator import fused_slack_bytes
from berth.planner.weight_kernels import NO_PADDING, Kernels, absorbed_bytes

VOCABULARY_MULTIPLE = 64
"""`VocabParallelEmbedding` pads the vocabulary to a multiple of this."""
FORMATS: dict[str, WeightFormat] = {
    "fp8": FP8_TENSOR,
    "fp8_channel": FP8_CHANNEL,
    "int8": INT8_CHANNEL,
    "awq": int4(128, zero_point=True),
    "gptq": int4(128, zero_point=True),
    "int4": int4(128, zero_point=False),
    "nvfp4": NVFP4,
    "mxfp4": MXFP4,
    "bitsandbytes": NF4,
}
"""What `--quantization` makes of a weight that the checkpoint holds in 16 bits."""


SAME_STORAGE = {"awq": "int4", "gptq": "int4"}
"""Names of formats that store weights alike."""
ONLINE = frozenset({"fp8", "bitsandbytes"})
"""Formats that vLLM makes itself of a checkpoint in 16 bits."""


@dataclass(frozen=True, slots=True)
class StageWeights:
    """One pipeline stage on one tensor-parallel rank."""

    first: int
    """Its first layer."""
    layers: int
    bytes: int
    slack_bytes: int = 0
    """What the allocator takes besides."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """How the weights are divided."""

    tensor: int = 1
    pipeline: int = 1
    experts: int = 1
    """Ranks that share the experts; 1: every expert is divided instead."""
    kernels: Kernels = NO_PADDING


@lru_cache(maxsize=4096)
def stage_weights(
    model: Model, parallel: Parallel, quantization: str, *, towers: bool, value_bytes: int = 2
) -> tuple[StageWeights, ...]:
    """Weights of every pipeline stage, first to last."""
    stages = []
    first = 0
    for index, count in enumerate(pipeline_layers(len(model.layers), parallel.pipeline)):
        layers = model.layers[first : first + count]
        first += count
        total = sum(_layer_bytes(layer, parallel, quantization, value_bytes) for layer in layers)
        if parallel.kernels.absorbs_latent:
            total += sum(absorbed_bytes(model, layer, parallel.tensor) for layer in layers)
        total += _ends_bytes(model, parallel, index, value_bytes)
        if towers and index == 0:
            total += _tower_bytes(model, parallel, value_bytes)
        slack = sum(_slack_bytes(layer, parallel, quantization, value_bytes) for layer in layers)
        stages.append(StageWeights(first - count, count, round(total), round(slack)))
    return tuple(stages)


def resolved_quantization(model: Model, quantization: str) -> str:
    """`auto` where `quantization` is what the checkpoint has anyway, else `quantization`."""
    own = SAME_STORAGE.get(model.quantization, model.quantization)
    return "auto" if SAME_STORAGE.get(quantization, quantization) == own else quantization


def is_made_while_loading(model: Model, quantization: str) -> bool:
    """Whether vLLM quantizes a checkpoint in 16 bits itself."""
    return model.quantization == "none" and quantization in ONLINE


def needs_other_repository(model: Model, quantization: str) -> bool:
    """Whether `quantization` means another repository than `model`, in that format."""
    resolved = resolved_quantization(model, quantization)
    return resolved != "auto" and not is_made_while_loading(model, quantization)


def downloaded_bytes(model: Model, quantization: str) -> int:
    """Bytes of the repository that is downloaded for `quantization`."""
    if not needs_other_repository(model, quantization):
        return model.weights_bytes
    (whole,) = stage_weights(model, Parallel(), quantization, towers=bool(model.towers))
    return whole.bytes


def pipeline_layers(layers: int, stages: int) -> tuple[int, ...]:
    """Layers per stage: the remainder goes one each to the stages before the last, from the back.

    Source: `get_pp_indices` in vLLM's `distributed/utils.py`.
    """
    counts = [layers // stages] * stages
    for index in range(layers % stages):
        counts[max(0, stages - 2 - index)] += 1
    return tuple(counts)


def chosen_format(tensor: Tensor, quantization: str) -> WeightFormat:
    """The format of `tensor` in memory; `auto`: as stored, else as a repository in that format."""
    if quantization == "auto" or not tensor.linear:
        return tensor.format
    return FORMATS.get(quantization, BITS16)


def rank_bytes(tensor: Tensor, parallel: Parallel, chosen: WeightFormat, value_bytes: int) -> float:
    """Bytes of `tensor` on one rank, with its scales."""
    rows, columns, copies = rank_shape(tensor, parallel)
    if chosen.family == "16bit":
        return rows * columns * copies * value_bytes
    scales = chosen.stored_bytes(rows, columns) - rows * columns * chosen.bits / 8
    if chosen.family == "mxfp4" and tensor.split == "expert":
        rows, columns = _padded_expert(tensor, rows, columns, parallel.kernels)
        if parallel.kernels.mxfp4_scales_padded:
            scales = chosen.stored_bytes(rows, columns) - rows * columns * chosen.bits / 8
    padding = 0.0
    if chosen.family == "fp8" and not chosen.group_columns and columns % 512 == 0:
        padding = rows * parallel.kernels.fp8_row_padding_bytes
    return copies * (rows * columns * chosen.bits / 8 + scales + padding)


def rank_shape(tensor: Tensor, parallel: Parallel) -> tuple[float, float, float]:
    """Output and input features and copies of `tensor` on one rank."""
    rows, columns, copies = float(tensor.rows), float(tensor.columns), float(tensor.copies)
    ranks = parallel.tensor
    match tensor.split:
        case "column":
            rows /= ranks
        case "row":
            columns /= ranks
        case "kv":
            rows = rows / tensor.heads * max(1, tensor.heads // ranks)
        case "vocab":
            rows = -(-tensor.rows // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE / ranks
        case "expert" if parallel.experts > 1:
            copies = -(-tensor.copies // parallel.experts)
        case "expert":
            rows, columns = _divided_expert(tensor, ranks)
        case "expert_none" if parallel.experts > 1:
            copies = -(-tensor.copies // parallel.experts)
    return rows, columns, copies


def _padded_expert(
    tensor: Tensor, rows: float, columns: float, kernels: Kernels
) -> tuple[float, float]:
    hidden, inner = kernels.mxfp4_hidden_multiple, kernels.mxfp4_inner_multiple
    if tensor.module.endswith("down_proj"):
        return _multiple(rows, hidden), _multiple(columns, inner)
    halves = 2 if tensor.module.endswith("gate_up_proj") else 1
    return halves * _multiple(rows / halves, inner), _multiple(columns, hidden)


def _multiple(size: float, of: int) -> float:
    return -(-size // of) * of


def _divided_expert(tensor: Tensor, ranks: int) -> tuple[float, float]:
    if tensor.module.endswith("down_proj"):
        return tensor.rows, tensor.columns / ranks
    return tensor.rows / ranks, tensor.columns


def _layer_bytes(layer: Layer, parallel: Parallel, quantization: str, value_bytes: int) -> float:
    total = float(layer.vector_parameters * value_bytes)
    for tensor in layer.tensors:
        chosen = chosen_format(tensor, quantization)
        total += rank_bytes(tensor, parallel, chosen, value_bytes)
    return total


def _slack_bytes(layer: Layer, parallel: Parallel, quantization: str, value_bytes: int) -> float:
    """What the allocator takes beside the weights of `layer`; scales are too small to matter."""
    weights = []
    for tensor in layer.tensors:
        chosen = chosen_format(tensor, quantization)
        rows, columns, copies = rank_shape(tensor, parallel)
        if chosen.family == "mxfp4" and tensor.split == "expert":
            rows, columns = _padded_expert(tensor, rows, columns, parallel.kernels)
        number_bytes = value_bytes if chosen.family == "16bit" else chosen.bits / 8
        weights.append((tensor.module, rows * columns * copies * number_bytes))
    return fused_slack_bytes(weights)


def _ends_bytes(model: Model, parallel: Parallel, stage: int, value_bytes: int) -> float:
    last = stage == parallel.pipeline - 1
    tensors: list[Tensor] = []
    if stage == 0 or (last and model.head is None):
        tensors.append(model.embedding)
    if last and model.head is not None:
        tensors.append(model.head)
    if last:
        tensors += model.final_tensors
    total = sum(rank_bytes(t, parallel, t.format, value_bytes) for t in tensors)
    return total + (model.final_vector_parameters * value_bytes if last else 0)


def _tower_bytes(model: Model, parallel: Parallel, value_bytes: int) -> float:
    total = 0.0
    for tower in model.towers:
        split = parallel if tower.split_by_tensor_parallel else replace(parallel, tensor=1)
        total += tower.vector_parameters * value_bytes
        total += sum(rank_bytes(t, split, t.format, value_bytes) for t in tower.tensors)
    return total
