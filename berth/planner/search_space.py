"""What a search goes through: the formats and the ways to divide a model that are worth a try."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from berth.catalog.gpu import Gpu
from berth.catalog.model_shape import LatentCache, Model
from berth.planner.engine_options import EngineOptions
from berth.planner.node_choice import NodeOffer

TENSOR_SIZES = (1, 2, 4, 8)
STAGES = (1, 2, 4)
PCIE_RANKS = 2
"""Most tensor-parallel ranks over PCIe that are searched: with four, adding up takes longer than
computing. A stack or a flag may ask for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """What the owner has decided; None: searched."""

    options: EngineOptions
    """Everything but the parallel sizes and the format holds as it stands."""
    formats: tuple[str, ...] | None = None
    tensor_parallel_size: int | None = None
    pipeline_parallel_size: int | None = None
    replicas: int | None = None
    in_one_node: bool = False
    """A replica may not span nodes."""


def formats_for(model: Model, gpu: Gpu, fixed: Fixed) -> tuple[str, ...]:
    """Formats to try: those allowed, of which the GPU computes or stores the weights."""
    if fixed.formats is not None:
        return fixed.formats
    if model.quantization != "none":
        return ("auto",)
    computes_fp8 = bool({"fp8", "fp8_fnuz"} & set(gpu.computes))
    return ("auto", "fp8") if computes_fp8 else ("auto",)


def splits(
    model: Model, gpu: Gpu, offers: Sequence[NodeOffer], base: EngineOptions, fixed: Fixed
) -> Iterable[EngineOptions]:
    """Ways to divide the model over GPUs: tensor parallel in a node, stages on PCIe or across."""
    most = max((offer.gpus for offer in offers), default=1)
    if gpu.fabric.domain_gpus == 1:
        most = 1
    linked = gpu.fabric.kind != "pcie"
    tensor_fixed, stages_fixed = fixed.tensor_parallel_size, fixed.pipeline_parallel_size
    ranks = TENSOR_SIZES if tensor_fixed is None else (tensor_fixed,)
    stages = STAGES if stages_fixed is None else (stages_fixed,)
    for tensor in ranks:
        if tensor_fixed is None and (
            tensor > (most if linked else min(PCIE_RANKS, most)) or model.attention_heads % tensor
        ):
            continue
        for pipeline in stages:
            if stages_fixed is None and pipeline > 1:
                across = linked and (tensor != most or pipeline > 2)
                if (
                    across
                    or pipeline > len(model.layers)
                    or (not linked and tensor * pipeline > most)
                ):
                    continue
            if fixed.in_one_node and tensor * pipeline * base.data_parallel_size > most:
                continue
            yield replace(base, tensor_parallel_size=tensor, pipeline_parallel_size=pipeline)
    if tensor_fixed is None and stages_fixed is None and base.data_parallel_size == 1:
        yield from _shared_experts(model, base, most if linked else 1)


def _shared_experts(model: Model, base: EngineOptions, most: int) -> Iterable[EngineOptions]:
    """Data-parallel attention with shared experts, where tensor parallel would copy the cache."""
    latent = any(isinstance(cache, LatentCache) for cache in model.caches)
    routed = any(layer.top_k for layer in model.distinct_layers)
    if latent and routed and most >= TENSOR_SIZES[-1]:
        yield replace(base, tensor_parallel_size=1, data_parallel_size=most, expert_parallel=True)
