"""The nearest ways to make a server fit: small changes first, each planned before it is said."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from berth.catalog.gpu import Gpu
from berth.catalog.load import Catalog
from berth.catalog.model_shape import Model
from berth.planner.engine_options import EngineOptions
from berth.planner.memory import MemoryVerdict, plan_memory
from berth.planner.search import PARALLEL_SIZES, Candidate, gpus_in_one_node

Way = tuple[str, str, EngineOptions]
"""A change in words, the GPU that it is for, and the options with it."""
FEWER_SEQUENCES = 64
FORMATS = ("fp8", "awq")
"""Nearest first: half the bytes, a quarter."""


def ways_to_fit(model: Model, candidate: Candidate, catalog: Catalog, most: int = 3) -> list[str]:
    """Up to `most` changes that make `candidate` fit, the smallest first and unlike each other.

    Several changes are tried together only where single ones are not enough.
    """
    singles = _singles(model, candidate, catalog)
    found = _first_of_each(model, singles, catalog, most)
    if len(found) < most:
        pairs = _pairs(model, candidate, catalog)
        new = {kind: tries for kind, tries in pairs.items() if kind not in found}
        found |= _first_of_each(model, new, catalog, most - len(found))
    ways = list(found.values())
    more = (way for way in singles["gpu"] if way[0] not in ways)
    more_fitting = (text for text, key, options in more if _fits(model, key, options, catalog))
    return [*ways, *islice(more_fitting, most - len(ways))]


def _first_of_each(
    model: Model, kinds: Mapping[str, list[Way]], catalog: Catalog, most: int
) -> dict[str, str]:
    """By kind, the first way that fits."""
    found: dict[str, str] = {}
    for kind, tries in kinds.items():
        if len(found) == most:
            break
        fitting = (text for text, key, options in tries if _fits(model, key, options, catalog))
        way = next(fitting, None)
        if way is not None:
            found[kind] = way
    return found


def _fits(model: Model, key: str, options: EngineOptions, catalog: Catalog) -> bool:
    gpu = catalog.gpus[key]
    versions = {engine.version for engine in catalog.software.vllm.values()}
    if options.vllm_version in versions:  # the catalog's, which goes by the vendor
        version = catalog.software.vllm[gpu.vendor].version
        options = replace(options, vllm_version=version)
    return plan_memory(model, gpu, options).fits


def _singles(model: Model, candidate: Candidate, catalog: Catalog) -> Mapping[str, list[Way]]:
    options, verdict, key = candidate.options, candidate.verdict, candidate.gpu
    kinds: dict[str, list[Way]] = {"options": [], "length": [], "sequences": []}
    for text, changed in _left_out(options, catalog.gpus[key]):
        kinds["options"].append((text, key, changed))
    for text, changed in _shorter(options, verdict):
        kinds["length"].append((text, key, changed))
    for text, changed in _fewer(options, verdict):
        kinds["sequences"].append((text, key, changed))
    if options.kv_cache_dtype == "auto":
        changed = replace(options, kv_cache_dtype="fp8")
        kinds["cache"] = [("kv_cache_dtype fp8", key, changed)]
    kinds["format"] = [(f"quantization {n}", key, o) for n, o in _narrower(model, options)]
    kinds["split"] = [
        (f"tensor_parallel_size {size}", key, replace(options, tensor_parallel_size=size))
        for size in _other_sizes(candidate, catalog)
    ]
    kinds["gpu"] = [(f"gpu {other}", other, options) for other in _larger(candidate, catalog)]
    return kinds


def _pairs(model: Model, candidate: Candidate, catalog: Catalog) -> Mapping[str, list[Way]]:
    """Two changes: another split with fewer bits, or with another GPU."""
    options, key = candidate.options, candidate.gpu
    formats: list[Way] = [
        (f"quantization {name} with tensor_parallel_size {size}", key, _split(changed, size))
        for size in _other_sizes(candidate, catalog)
        for name, changed in _narrower(model, options)
    ]
    gpus: list[Way] = [
        (f"gpu {other} with tensor_parallel_size {size}", other, _split(options, size))
        for other in _larger(candidate, catalog)
        for size in PARALLEL_SIZES
        if size <= gpus_in_one_node(other, catalog.instances)
        and size != options.tensor_parallel_size
    ]
    return {"format": formats, "gpu": gpus}


def _split(options: EngineOptions, size: int) -> EngineOptions:
    return replace(options, tensor_parallel_size=size)


def _left_out(options: EngineOptions, gpu: Gpu) -> Iterator[tuple[str, EngineOptions]]:
    """Options of one's own that ask for too much, each put back or brought into range."""
    if options.gpu_memory_utilization is not None:
        free_gib = gpu.visible_gib - (
            gpu.used_at_baseline_parallel_gib if options.ranks > 1 else gpu.used_at_baseline_gib
        )
        share = int(free_gib / gpu.visible_gib * 100) / 100
        for value in (share, 0.9):
            changed = replace(options, gpu_memory_utilization=value)
            yield f"gpu_memory_utilization {value:g}", changed
        yield "enforce_eager", replace(options, enforce_eager=True)
    if options.kv_cache_memory_bytes is not None:
        changed = replace(options, kv_cache_memory_bytes=None)
        yield "kv_cache_memory_bytes left out", changed
    if options.kv_cache_dtype != "auto":
        yield "kv_cache_dtype auto", replace(options, kv_cache_dtype="auto")
    if options.quantization != "auto":
        yield "quantization left out", replace(options, quantization="auto")
    if options.block_size is not None:
        yield "block_size left out", replace(options, block_size=None)


def _shorter(options: EngineOptions, verdict: MemoryVerdict) -> Iterator[tuple[str, EngineOptions]]:
    length = verdict.longest_model_len_tokens
    if length and length < verdict.max_model_len:
        yield f"max_model_len {length}", replace(options, max_model_len=length)


def _fewer(options: EngineOptions, verdict: MemoryVerdict) -> Iterator[tuple[str, EngineOptions]]:
    fewer = min(verdict.max_num_seqs, max(1, verdict.num_blocks), FEWER_SEQUENCES)
    if fewer < verdict.max_num_seqs:
        yield f"max_num_seqs {fewer}", replace(options, max_num_seqs=fewer)


def _narrower(model: Model, options: EngineOptions) -> Iterator[tuple[str, EngineOptions]]:
    if model.quantization == "none":
        for name in FORMATS:
            if name != options.quantization:
                yield name, replace(options, quantization=name)


def _other_sizes(candidate: Candidate, catalog: Catalog) -> list[int]:
    """Splits that one node of the same kind holds: the next wider first, then narrower ones."""
    given, stages = candidate.options.tensor_parallel_size, candidate.options.pipeline_parallel_size
    most = gpus_in_one_node(candidate.gpu, catalog.instances)
    if candidate.instance_fixed and candidate.instance_type is not None:
        most = catalog.instances[candidate.instance_type].gpu_count
    sizes = [size for size in PARALLEL_SIZES if size * max(1, stages) <= most]
    wider = [size for size in sizes if size > given]
    return wider + [size for size in reversed(sizes) if size < given]


def _larger(candidate: Candidate, catalog: Catalog) -> list[str]:
    """GPUs of tiers with more memory, or with a newer kind of compute; the smallest first."""
    own = catalog.gpus[candidate.gpu]
    others = [
        (gpu.nameplate_gib, key)
        for key, gpu in catalog.gpus.items()
        if gpu.tier and key != candidate.gpu and gpu.nameplate_gib >= own.nameplate_gib
    ]
    return [key for _, key in sorted(others)]
