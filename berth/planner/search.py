"""Where one model fits: what is fixed stays fixed, what is left out is searched."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from berth.catalog.gpu import Gpu
from berth.catalog.instance import Instance
from berth.catalog.load import Catalog
from berth.catalog.model_shape import Model
from berth.planner.engine_options import EngineOptions
from berth.planner.errors import problem
from berth.planner.memory import MemoryVerdict, plan_memory

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

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.options.ranks


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


def ways_to_fit(model: Model, candidate: Candidate, catalog: Catalog, most: int = 3) -> list[str]:
    """Up to `most` nearest changes that make `candidate` fit, each planned; the smallest first."""
    gpu = catalog.gpus[candidate.gpu]
    options, verdict = candidate.options, candidate.verdict
    tries: list[tuple[str, Gpu, EngineOptions]] = []
    if verdict.longest_model_len_tokens:
        length = verdict.longest_model_len_tokens
        tries.append((f"max_model_len {length}", gpu, replace(options, max_model_len=length)))
    if options.kv_cache_dtype == "auto":
        tries.append(("kv_cache_dtype fp8", gpu, replace(options, kv_cache_dtype="fp8")))
    fewer = min(verdict.max_num_seqs, max(1, verdict.num_blocks), 64)
    if fewer < verdict.max_num_seqs:
        tries.append((f"max_num_seqs {fewer}", gpu, replace(options, max_num_seqs=fewer)))
    if model.quantization == "none":
        tries += [
            (f"quantization {name}", gpu, replace(options, quantization=name))
            for name in ("fp8", "awq")
        ]
    tries += [
        (f"tensor_parallel_size {size}", gpu, replace(options, tensor_parallel_size=size))
        for size in PARALLEL_SIZES
        if size > options.tensor_parallel_size
    ]
    tries += [
        (f"gpu {key}", other, options)
        for key, other in sorted(catalog.gpus.items(), key=lambda item: item[1].nameplate_gib)
        if other.tier and other.nameplate_gib > gpu.nameplate_gib
    ]
    ways: list[str] = []
    for text, on, changed in tries:
        if len(ways) == most:
            break
        if plan_memory(model, on, _for_vendor(changed, on, catalog, options)).fits:
            ways.append(text)
    return ways


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
    stages = max(1, request.options.pipeline_parallel_size)
    sizes = [n for n in PARALLEL_SIZES if n * stages <= most] if fixed is None else [fixed]
    for size in sizes or [1]:
        options = replace(request.options, tensor_parallel_size=size)
        options = _with_version(options, gpu, catalog)
        verdict = plan_memory(model, gpu, options)
        if options.ranks > most:
            verdict = _too_many(verdict, options.ranks, most, request.instance_type or key)
        if verdict.fits:
            break
    return Candidate(
        gpu=key,
        instance_type=_instance_type(request, key, options.ranks, catalog.instances),
        options=options,
        verdict=verdict,
        nameplate_gib=gpu.nameplate_gib * options.ranks,
    )


def _most_gpus(request: Request, key: str, instances: Mapping[str, Instance]) -> int:
    if request.instance_type is not None:
        return instances[request.instance_type].gpu_count
    counts = [i.gpu_count for i in instances.values() if i.gpu == key]
    return max(counts, default=GPUS_PER_NODE)


def _instance_type(
    request: Request, key: str, gpus: int, instances: Mapping[str, Instance]
) -> str | None:
    """The given one, else the smallest in the catalog with enough of these GPUs, if any."""
    if request.instance_type is not None:
        return request.instance_type
    enough = [
        (instance.gpu_count, instance.vcpu, name)
        for name, instance in instances.items()
        if instance.gpu == key and instance.gpu_count >= gpus
    ]
    return min(enough)[2] if enough else None


def _too_many(verdict: MemoryVerdict, gpus: int, most: int, where: str) -> MemoryVerdict:
    line = problem(
        "tensor_parallel_size",
        f"{gpus} GPUs per replica are more than the {most} of one {where}",
        f"use {most} or fewer",
    )
    return replace(verdict, fits=False, verdict="fails_at_start", reasons=(line, *verdict.reasons))


def _with_version(options: EngineOptions, gpu: Gpu, catalog: Catalog) -> EngineOptions:
    """`options` with the catalog's version for the GPU's vendor, where none was asked for."""
    if options.vllm_version:
        return options
    return replace(options, vllm_version=catalog.software.vllm[gpu.vendor].version)


def _for_vendor(
    changed: EngineOptions, gpu: Gpu, catalog: Catalog, given: EngineOptions
) -> EngineOptions:
    versions = {engine.version for engine in catalog.software.vllm.values()}
    if given.vllm_version in versions:
        return replace(changed, vllm_version=catalog.software.vllm[gpu.vendor].version)
    return changed
