"""Whether a server's memory works out, as vLLM would account for it, and where it goes."""

import math
from dataclasses import dataclass
from typing import Literal

from berth.catalog.gpu import Gpu
from berth.catalog.model_shape import Model
from berth.planner.activation import GIB
from berth.planner.engine_options import EngineOptions
from berth.planner.load_peak import quantization_argument
from berth.planner.memory_checks import option_reasons
from berth.planner.memory_terms import Terms, memory_terms
from berth.planner.plan import MemoryPlan
from berth.planner.vllm_rules import parse_version
from berth.planner.weights import downloaded_bytes, needs_other_repository

Verdict = Literal["fits", "fails_at_start", "too_little_kv", "preempts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVerdict:
    """What becomes of one server on one GPU model."""

    memory: MemoryPlan
    fits: bool
    """It starts and holds one request of full length. A server that preempts still fits."""
    reasons: tuple[str, ...]
    """Why not, or under which load it preempts; one line each."""
    verdict: Verdict
    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int
    longest_model_len_tokens: int
    """Longest request that the cache holds, at most the model's limit."""
    block_tokens: int
    num_blocks: int
    weights_bytes: int
    """Downloaded; with a format that vLLM makes while loading, still the 16 bits."""
    quantization_argument: str | None
    """What `--quantization` has to say; None: vLLM reads it from the checkpoint."""
    other_repository: bool
    """The plan is for another repository than the model named, in the format asked for."""
    terms: Terms
    """The same in bytes."""
    load_peak_gib: float
    """Most that weights take on one GPU while they are loaded and converted."""


def plan_memory(model: Model, gpu: Gpu, options: EngineOptions) -> MemoryVerdict:
    """Where the memory of each GPU goes and whether the server starts.

    Args:
        model: its weights and what each layer keeps.
        gpu: what a process sees of its memory, and its formats.
        options: the server's arguments; what is None is vLLM's default of that version and GPU.

    Returns:
        The verdict; impossible options are reasons with `fits` False, never exceptions.

    Source:
        vLLM, `v1/worker/gpu_worker.py` (`determine_available_memory`), `v1/core/kv_cache_utils.py`.
    """
    reasons = option_reasons(model, gpu, options)
    terms = memory_terms(model, gpu, options)
    verdict, found = _verdict(gpu, options, terms)
    if reasons:
        verdict = "fails_at_start"
    return MemoryVerdict(
        memory=_memory_plan(gpu, terms, options),
        fits=not reasons and verdict in ("fits", "preempts"),
        reasons=(*reasons, *found),
        verdict=verdict,
        max_num_seqs=terms.max_num_seqs,
        max_num_batched_tokens=terms.max_num_batched_tokens,
        max_model_len=terms.max_model_len,
        longest_model_len_tokens=terms.longest_model_len(),
        block_tokens=terms.layout.block_tokens,
        num_blocks=terms.num_blocks,
        weights_bytes=downloaded_bytes(model, options.quantization),
        quantization_argument=quantization_argument(
            model, options.quantization, terms.rules.version
        ),
        other_repository=needs_other_repository(model, options.quantization),
        terms=terms,
        load_peak_gib=terms.load_peak_bytes / GIB,
    )


def _verdict(gpu: Gpu, options: EngineOptions, terms: Terms) -> tuple[Verdict, list[str]]:
    """The first of the ways to fail that applies, and its lines."""
    start = _start_problems(gpu, terms)
    if start:
        return "fails_at_start", start
    if terms.needed_bytes > terms.usable_kv_bytes:
        longest = terms.longest_model_len()
        fix = f"set max_model_len to {longest} or lower" if longest else "use more GPUs per replica"
        margin = f" and {terms.margin_bytes / GIB:.2f} as margin" if terms.margin_bytes else ""
        return "too_little_kv", [
            f"max_model_len: a request of {terms.max_model_len} tokens needs "
            f"{terms.needed_bytes / GIB:.2f} GiB of KV cache per GPU{margin}, and "
            f"{terms.kv_bytes / GIB:.2f} GiB are left; {fix}"
        ]
    if terms.states_share_blocks and terms.max_num_seqs > terms.num_blocks:
        return "fails_at_start", [
            f"max_num_seqs: {terms.max_num_seqs} is above the {terms.num_blocks} blocks for "
            "states; "
            f"set it to {terms.num_blocks} or lower"
        ]
    if options.load_requests and options.load_tokens:
        held = terms.num_blocks // max(1, terms.request_blocks(options.load_tokens))
        if options.load_requests > held:
            return "preempts", [
                f"load: {options.load_requests} requests of {options.load_tokens} tokens at once, "
                "and the "
                f"KV cache holds {held}; add replicas or GPUs, or set max_num_seqs to "
                f"{max(1, held)}"
            ]
    return "fits", []


def _start_problems(gpu: Gpu, terms: Terms) -> list[str]:
    """Why the server ends before it has a KV cache."""
    problems = []
    visible_gib = gpu.visible_gib
    free_gib = visible_gib - terms.baseline_bytes / GIB
    if terms.load_peak_bytes / GIB > free_gib:
        problems.append(
            f"weights: {terms.load_peak_bytes / GIB:.1f} GiB per GPU while loading, "
            f"{free_gib:.1f} GiB are "
            "free; use more GPUs per replica or a smaller format"
        )
    elif terms.kv_bytes <= 0:
        problems.append(
            f"memory: weights {terms.weights_bytes / GIB:.1f}, activation "
            f"{terms.activation_bytes / GIB:.1f}, "
            f"graphs {terms.budget_graph_bytes / GIB:.1f} and other {terms.other_bytes / GIB:.1f} "
            "GiB leave "
            f"{terms.kv_bytes / GIB:.2f} of the {terms.requested_bytes / GIB:.1f} GiB requested "
            "per GPU; "
            "use more GPUs per replica or a smaller format"
        )
    problems += _fixed_cache_problems(free_gib, terms)
    if terms.utilization > free_gib / visible_gib and not terms.fixed_kv:
        problems.append(
            f"gpu_memory_utilization: {terms.utilization:g} of {visible_gib:.2f} GiB is more than "
            "the "
            f"{free_gib:.2f} GiB free at start; set it to "
            f"{math.floor(free_gib / visible_gib * 100) / 100:g}"
        )
    elif not terms.rules.graphs_in_budget and terms.kv_bytes > 0 and not terms.fixed_kv:
        slack = (visible_gib * GIB - terms.requested_bytes) / GIB - 0.2
        if terms.graph_bytes / GIB > slack:
            problems.append(
                f"gpu_memory_utilization: CUDA graphs take {terms.graph_bytes / GIB:.1f} GiB "
                "beside the "
                f"{terms.utilization:g} requested and {max(slack, 0):.1f} GiB are left; lower it "
                "or set "
                "enforce_eager"
            )
    return problems


def _fixed_cache_problems(free_gib: float, terms: Terms) -> list[str]:
    """A cache whose size the owner set is allocated whatever the profile run has found."""
    if not terms.fixed_kv:
        return []
    taken = terms.weights_bytes + terms.other_bytes + terms.activation_bytes + terms.graph_bytes
    left_gib = free_gib - taken / GIB
    if terms.kv_bytes / GIB <= left_gib:
        return []
    most = max(0, math.floor(left_gib * GIB))
    fix = f"set it to {most} or lower" if most else "use more GPUs per replica or a smaller format"
    return [
        f"kv_cache_memory_bytes: {terms.kv_bytes / GIB:.2f} GiB beside {taken / GIB:.1f} GiB of "
        f"weights, activation and graphs, and {free_gib:.1f} GiB are free; {fix}"
    ]


def _memory_plan(gpu: Gpu, terms: Terms, options: EngineOptions) -> MemoryPlan:
    return MemoryPlan(
        visible_gib=gpu.visible_gib,
        requested_gib=terms.requested_bytes / GIB,
        weights_gib=terms.weights_bytes / GIB,
        non_torch_gib=terms.other_bytes / GIB,
        activation_peak_gib=terms.activation_bytes / GIB,
        cuda_graphs_gib=terms.graph_bytes / GIB,
        kv_cache_gib=max(0.0, terms.kv_bytes) / GIB,
        kv_cache_tokens=terms.kv_cache_tokens,
        max_concurrency=terms.max_concurrency,
        needed_kv_gib=terms.needed_bytes / GIB,
        error_gib=_error_gib(gpu, terms),
        cold_start_extra_gib=_cold_start_gib(gpu, options),
    )


def _error_gib(gpu: Gpu, terms: Terms) -> float:
    """Half width of the band that holds 95 % of the start-up logs compared (docs/accuracy.md).

    2.4 % of the card where it was measured, 6.5 % elsewhere; half of the graph estimate where that
    is the larger part of what is not known. On AMD that estimate lies between two figures, half
    and 1.8 times as high, and is taken beside the other error.
    """
    if terms.fixed_kv:
        return 0.0
    share = 0.024 if gpu.evidence == "measured" else 0.065
    graphs = terms.budget_graph_bytes / GIB
    if gpu.vendor == "amd":
        return math.hypot(share * gpu.visible_gib, 0.8 * graphs)
    return max(share * gpu.visible_gib, graphs / 2)


def _cold_start_gib(gpu: Gpu, options: EngineOptions) -> float:
    """Compiler temporaries of a first start, which vLLM counts as activation from 0.27.

    Source: https://github.com/vllm-project/vllm/issues/54122 and 54383: about 1 GiB on 24 GB cards,
    up to 2.5 on larger ones.
    """
    version = parse_version(options.vllm_version)
    if options.enforce_eager or (version is not None and version < (0, 27, 0)):
        return 0.0
    return 1.0 if gpu.visible_gib < 31 else 2.5
