"""Where one model fits: what is fixed stays fixed, what is left out is searched."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from berth.catalog.gpu import Gpu
from berth.catalog.instance import Instance
from berth.catalog.load import Catalog
from berth.catalog.model_shape import Model
from berth.planner.engine_options import EngineOptions
from berth.planner.errors import problem
from berth.planner.host_fit import HostFit, host_fit
from berth.planner.memory import MemoryVerdict, plan_memory
from berth.planner.memory_checks import option_reasons

PARALLEL_SIZES = (1, 2, 4, 8)
GPUS_PER_NODE = 8
"""Of GPUs that no instance type of the catalog has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person asks: the options, and what is fixed of the rest."""

    options: EngineOptions
    """Without a version where the catalog's is meant: an empty text."""
    gpu: str | None = None
    instance_type: str | None = None
    tensor_parallel_size: int | None = None
    replicas: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One GPU with the smallest split that fits, or the widest where none does."""

    gpu: str
    instance_type: str | None
    options: EngineOptions
    verdict: MemoryVerdict
    nameplate_gib: float
    """Of all GPUs of one replica together."""
    host: HostFit | None = None
    """None: not looked at."""
    instance_fixed: bool = False
    """The instance type was asked for."""

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return replica_gpus(self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The answer: what is chosen, what would do too, and what would not."""

    chosen: Candidate
    alternatives: tuple[Candidate, ...]
    rejected: tuple[Candidate, ...]


def search(model: Model, request: Request, catalog: Catalog) -> Search:
    """The candidate with the least GPU memory in all that fits, and the others.

    With everything fixed there is one candidate, and it is chosen whether it fits or not.
    """
    keys = _gpu_keys(request, catalog)
    found = [_best_split(model, request, key, catalog) for key in keys]
    found.sort(key=lambda c: (not c.verdict.fits, c.nameplate_gib, c.gpus, c.gpu))
    fitting = [c for c in found if c.verdict.fits]
    failing = [c for c in found if not c.verdict.fits]
    chosen = fitting[0] if fitting else max(failing, key=lambda c: c.nameplate_gib)
    return Search(
        chosen=chosen,
        alternatives=tuple(c for c in fitting if c is not chosen),
        rejected=tuple(c for c in failing if c is not chosen),
    )


def _gpu_keys(request: Request, catalog: Catalog) -> list[str]:
    if request.gpu is not None:
        return [request.gpu]
    if request.instance_type is not None:
        gpu = catalog.instances[request.instance_type].gpu
        return [gpu] if gpu is not None else []
    return [key for key, gpu in catalog.gpus.items() if gpu.tier]


def _best_split(model: Model, request: Request, key: str, catalog: Catalog) -> Candidate:
    """The smallest tensor-parallel size that fits on `key`; the widest where none does."""
    gpu = catalog.gpus[key]
    fixed = request.tensor_parallel_size
    most = _most_gpus(request, key, catalog.instances)
    sizes = [n for n in PARALLEL_SIZES if n <= most] if fixed is None else [fixed]
    for size in sizes or [1]:
        options = replace(request.options, tensor_parallel_size=size)
        candidate = _candidate(model, request, key, _for_gpu(options, gpu, catalog), catalog)
        verdict = candidate.verdict
        if verdict.fits or not _may_help(model, gpu, candidate.options, verdict):
            break
    return candidate


def _candidate(
    model: Model, request: Request, key: str, options: EngineOptions, catalog: Catalog
) -> Candidate:
    """One split on one GPU model; tensor parallel stays in a node, the rest may span several."""
    gpu, gpus = catalog.gpus[key], replica_gpus(options)
    most = _most_gpus(request, key, catalog.instances)
    verdict = plan_memory(model, gpu, options)
    instance_type = _instance_type(request, key, gpus, catalog.instances)
    instance = catalog.instances[instance_type] if instance_type else None
    host = host_fit(verdict.weights_bytes, gpus, instance, options.cpu_offload_gib)
    first: tuple[str, ...] = ()
    if options.tensor_parallel_size > most:
        first = (_too_many(options.tensor_parallel_size, most, request.instance_type or key),)
    last = host.reasons(instance_type or key)
    if first or last:
        reasons = (*first, *verdict.reasons, *last)
        verdict = replace(verdict, fits=False, verdict="fails_at_start", reasons=reasons)
    return Candidate(
        gpu=key,
        instance_type=instance_type,
        host=host,
        options=options,
        verdict=verdict,
        nameplate_gib=gpu.nameplate_gib * gpus,
        instance_fixed=request.instance_type is not None,
    )


def _most_gpus(request: Request, key: str, instances: Mapping[str, Instance]) -> int:
    if request.instance_type is not None:
        return instances[request.instance_type].gpu_count
    return gpus_in_one_node(key, instances)


def gpus_in_one_node(key: str, instances: Mapping[str, Instance]) -> int:
    """The most GPUs called `key` that one node holds."""
    counts = [instance.gpu_count for instance in instances.values() if instance.gpu == key]
    return max(counts, default=GPUS_PER_NODE)


def replica_gpus(options: EngineOptions) -> int:
    """GPUs of one replica, the ranks of data parallel together."""
    return max(1, options.ranks) * max(1, options.data_parallel_size)


def _instance_type(
    request: Request, key: str, gpus: int, instances: Mapping[str, Instance]
) -> str | None:
    """The given one, else the smallest in the catalog with enough of these GPUs, if any."""
    if request.instance_type is not None:
        return request.instance_type
    ours = [
        (instance.gpu_count, instance.vcpu, name)
        for name, instance in instances.items()
        if instance.gpu == key
    ]
    enough = [entry for entry in ours if entry[0] >= gpus]
    if enough:
        return min(enough)[2]
    largest = [entry for entry in ours if entry[0] == max(ours)[0]]  # several nodes of it
    return min(largest)[2] if largest else None


def _too_many(ranks: int, most: int, where: str) -> str:
    return problem(
        "tensor_parallel_size",
        f"{ranks} ranks are more than the {most} GPUs of one {where}",
        f"use {most} or fewer, and pipeline_parallel_size across nodes",
    )


def _may_help(model: Model, gpu: Gpu, options: EngineOptions, verdict: MemoryVerdict) -> bool:
    """Whether more GPUs per replica could help, or an option is wrong whatever the split."""
    refused = option_reasons(model, gpu, options)
    if any(not reason.startswith("tensor_parallel_size:") for reason in refused):
        return False
    return any(not reason.startswith("gpu_memory_utilization:") for reason in verdict.reasons)


def _for_gpu(options: EngineOptions, gpu: Gpu, catalog: Catalog) -> EngineOptions:
    """`options` with what is left out and depends on the GPU.

    The catalog's version for its vendor; 16 bits of the kind that it computes, which vLLM would
    choose too, or ask for, by its version.
    """
    if options.dtype == "auto" and "bf16" not in gpu.computes:
        options = replace(options, dtype="fp16")
    if options.vllm_version:
        return options
    return replace(options, vllm_version=catalog.software.vllm[gpu.vendor].version)
