"""Plans beside start-up logs of real servers: how far apart, by GPU, model and version."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from berth.catalog.gpu import Gpu
from berth.catalog.model_shape import Model
from berth.planner.activation import GIB
from berth.planner.engine_options import EngineOptions
from berth.planner.lora import IN_WEIGHTS_LINE_FROM
from berth.planner.memory import MemoryVerdict, plan_memory
from berth.planner.memory_terms import Terms, memory_terms

WEIGHTS_LIMIT_SHARE = 0.005
"""A plan of the weights that is further off is named with its reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartLog:
    """What one log or table says about one start."""

    id: str
    model: str
    gpu: str
    visible_gib: float | None
    options: EngineOptions
    length_stated: bool
    presumed: str
    """What was not in the log but concluded from it; empty: nothing."""
    not_comparable: str
    """Why cache and verdict cannot be compared; empty: they can."""
    why_off: str
    """Why the plan of the cache is known to be off, as far as that is known."""
    why_weights_off: str
    """The same of the weights."""
    weights_gib: float | None
    kv_cache_gib: float | None
    kv_cache_tokens: int | None
    num_blocks: int | None
    served: bool
    settled: bool
    """It was memory that decided how the start ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One plan beside its log. Shares are plan less log."""

    log: StartLog
    kind: str
    """Kind of model: dense, experts, hybrid and so on."""
    kv_share: float | None
    """Of the GPU's memory."""
    weights_share: float | None
    """Of the logged weights."""
    token_error: int | None
    """Tokens computed from the logged bytes, less the logged tokens."""
    token_rounding: float
    """What half a hundredth of a GiB and one block are worth, in tokens."""
    fits: bool
    verdict: MemoryVerdict

    @property
    def verdict_right(self) -> bool | None:
        """Whether the plan says what happened; None where the log does not settle it.

        A log that names neither the card nor the length settles nothing.
        """
        log = self.log
        if log.not_comparable or not log.settled or not log.length_stated:
            return None
        if "card" in log.presumed:
            return None
        return self.fits == self.log.served


def read_start_log(row: Mapping[str, str]) -> StartLog:
    """One line of the file of logs."""
    return StartLog(
        id=row["id"],
        model=row["model"],
        gpu=row["gpu"],
        visible_gib=_float(row["visible_gib"]),
        options=EngineOptions(
            vllm_version=row["vllm_version"],
            quantization=row["quantization"],
            kv_cache_dtype="fp8" if row["kv_cache_dtype"] == "fp8" else "auto",
            tensor_parallel_size=int(row["tensor_parallel_size"]),
            pipeline_parallel_size=int(row["pipeline_parallel_size"]),
            expert_parallel=row["expert_parallel"] == "yes",
            max_model_len=_int(row["max_model_len"]),
            gpu_memory_utilization=_float(row["gpu_memory_utilization"]),
            max_num_seqs=_int(row["max_num_seqs"]),
            max_num_batched_tokens=_int(row["max_num_batched_tokens"]),
            enforce_eager=row["enforce_eager"] == "yes",
            prefix_caching=row["prefix_caching"] == "yes",
            block_size=_int(row["block_size"]),
            rope_settings=row["rope_settings"] == "yes",
            max_loras=_int(row["max_loras"]) or 0,
            max_lora_rank=_int(row["max_lora_rank"]) or 16,
        ),
        length_stated=bool(row["max_model_len"]),
        presumed=row["presumed"],
        not_comparable=row["not_comparable"],
        why_off=row["why_off"],
        why_weights_off=row["why_weights_off"],
        weights_gib=_float(row["weights_gib"]),
        kv_cache_gib=_float(row["kv_cache_gib"]),
        kv_cache_tokens=_int(row["kv_cache_tokens"]),
        num_blocks=_int(row["num_blocks"]),
        served=row["outcome"] == "served",
        settled=row["outcome"] not in ("startup_fail_other", "other"),
    )


def compare(log: StartLog, gpu: Gpu, model: Model) -> Comparison:
    """The plan for what `log` says was started, beside what it says came of it."""
    if log.visible_gib is not None:
        gpu = gpu.model_copy(update={"visible_gib": log.visible_gib})
    verdict = plan_memory(model, gpu, log.options)
    terms = memory_terms(model, gpu, log.options)
    logged_kv = None if log.not_comparable else _logged_kv_gib(log, terms)
    kv_share = None if logged_kv is None else (terms.kv_bytes / GIB - logged_kv) / gpu.visible_gib
    weights_share = None
    if log.weights_gib is not None:
        weights_share = _planned_weights_gib(terms) / log.weights_gib - 1
    token_error, rounding = _token_error(log, terms)
    return Comparison(
        log=log,
        kind=model_kind(model),
        kv_share=kv_share,
        weights_share=weights_share,
        token_error=token_error,
        token_rounding=rounding,
        fits=verdict.fits,
        verdict=verdict,
    )


def model_kind(model: Model) -> str:
    """Dense or experts, and the attention where it is not full everywhere."""
    parts = ["experts" if any(layer.top_k for layer in model.distinct_layers) else "dense"]
    if model.attention != ("full",):
        parts.append("+".join(model.attention))
    if model.towers:
        parts.append("vision")
    return ", ".join(parts)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of `values` lie, interpolated."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def report(comparisons: Sequence[Comparison], tiers: Iterable[str]) -> str:
    """The comparison as a Markdown page."""
    named = set(tiers)
    rows = [c for c in comparisons if c.kv_share is not None]
    return "\n".join(
        [
            "# How right the memory planner is",
            "",
            "Plans beside start-up logs that other people published (`tests/data/start_logs.csv`). "
            "KV cache: plan less log per GPU, as a share of the GPU's memory. This page is "
            "written by "
            "`make accuracy`.",
            "",
            *_table(
                "Rows",
                [
                    ("all", rows),
                    ("named tiers", [c for c in rows if c.log.gpu in named]),
                    ("everything stated in the log", [c for c in rows if not c.log.presumed]),
                    ("something presumed", [c for c in rows if c.log.presumed]),
                ],
            ),
            *_table("GPU", _grouped(rows, lambda c: c.log.gpu)),
            *_table("Model", _grouped(rows, lambda c: c.kind)),
            *_table("vLLM", _grouped(rows, lambda c: _era(c.log.options.vllm_version))),
            *_weights_lines(comparisons),
            *_token_lines(comparisons),
            *_verdict_lines(comparisons),
            *_worst_lines(rows),
            *_left_out_lines(comparisons),
            "",
        ]
    )


def _planned_weights_gib(terms: Terms) -> float:
    """What this version's line about the weights holds; room for adapters only from 0.8 on."""
    logged = terms.weights_bytes
    if terms.rules.version < IN_WEIGHTS_LINE_FROM:
        logged -= terms.lora_bytes
    return logged / GIB


def _logged_kv_gib(log: StartLog, terms: Terms) -> float | None:
    if log.kv_cache_gib is not None:
        return log.kv_cache_gib
    if not log.served or not terms.layout.block_bytes:
        return None
    if log.num_blocks is not None:
        return log.num_blocks * terms.layout.block_bytes / GIB
    if log.kv_cache_tokens is not None and len(terms.layout.groups) == 1:
        return log.kv_cache_tokens / terms.layout.block_tokens * terms.layout.block_bytes / GIB
    return None


def _token_error(log: StartLog, terms: Terms) -> tuple[int | None, float]:
    if log.kv_cache_gib is None or log.kv_cache_tokens is None or log.kv_cache_gib <= 0:
        return None, 0.0
    block_bytes = terms.layout.block_bytes
    if log.options.pipeline_parallel_size > 1 or not block_bytes:
        return None, 0.0  # the logged bytes are those of another stage
    blocks = int(log.kv_cache_gib * GIB) // block_bytes
    tokens = terms.printed_tokens(blocks)
    rounding = 0.005 / log.kv_cache_gib * log.kv_cache_tokens + tokens / max(1, blocks)
    return tokens - log.kv_cache_tokens, rounding


def _grouped(
    rows: Sequence[Comparison], key: Callable[[Comparison], str]
) -> list[tuple[str, list[Comparison]]]:
    groups: dict[str, list[Comparison]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return sorted(groups.items())


def _table(title: str, groups: Sequence[tuple[str, Sequence[Comparison]]]) -> list[str]:
    lines = [
        f"| {title} | n | median | 95th percentile | bias |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, rows in groups:
        shares = [c.kv_share for c in rows if c.kv_share is not None]
        if not shares:
            continue
        sizes = [abs(share) for share in shares]
        lines.append(
            f"| {name} | {len(shares)} | {median(sizes):.2%} | {quantile(sizes, 0.95):.2%} "
            f"| {sum(shares) / len(shares):+.2%} |"
        )
    return [*lines, ""]


def _weights_lines(comparisons: Sequence[Comparison]) -> list[str]:
    shares = [c.weights_share for c in comparisons if c.weights_share is not None]
    sizes = [abs(share) for share in shares]
    within = sum(size <= WEIGHTS_LIMIT_SHARE for size in sizes)
    others = [
        f"- {c.log.id}, {c.log.model}, {c.weights_share:+.2%}: "
        f"{c.log.why_weights_off or 'not explained'}"
        for c in comparisons
        if c.weights_share is not None and abs(c.weights_share) > WEIGHTS_LIMIT_SHARE
    ]
    return [
        f"Weights, as a share of the logged ones: {len(shares)} rows, median {median(sizes):.2%}, "
        f"{within} within 0.5 %, worst {max(shares, key=abs):+.2%}. The others:",
        "",
        *others,
        "",
    ]


def _token_lines(comparisons: Sequence[Comparison]) -> list[str]:
    rows = [c for c in comparisons if c.token_error is not None]
    exact = [c for c in rows if abs(c.token_error or 0) <= c.token_rounding]
    others = ", ".join(
        f"{c.log.id} {c.token_error:+,}" for c in rows if abs(c.token_error or 0) > c.token_rounding
    )
    return [
        f"KV tokens from the logged bytes: {len(exact)} of {len(rows)} rows within one block and "
        "the "
        f"rounding of the printed GiB{'; not: ' + others if others else ''}.",
        "",
    ]


def _verdict_lines(comparisons: Sequence[Comparison]) -> list[str]:
    settled = [c for c in comparisons if c.verdict_right is not None]
    wrong = [c for c in settled if not c.verdict_right]
    crashed = [c for c in wrong if c.fits]
    shown = ", ".join(
        f"{c.log.id} ({'planned to fit, failed' if c.fits else 'planned to fail, served'})"
        for c in wrong
    )
    return [
        f"Verdicts: {len(settled) - len(wrong)} of {len(settled)} right, {len(crashed)} planned "
        "to fit "
        f"that failed{'; wrong: ' + shown if shown else ''}.",
        "",
    ]


def _worst_lines(rows: Sequence[Comparison]) -> list[str]:
    worst = sorted(rows, key=lambda c: -abs(c.kv_share or 0.0))[:10]
    lines = [
        "| Worst ten | model | GPU | vLLM | KV error | presumed | reason |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for c in worst:
        lines.append(
            f"| {c.log.id} | {c.log.model} | {c.log.gpu} | {c.log.options.vllm_version} "
            f"| {c.kv_share or 0.0:+.2%} | {c.log.presumed or 'nothing'} "
            f"| {c.log.why_off or 'not known'} |"
        )
    return [*lines, ""]


def _left_out_lines(comparisons: Sequence[Comparison]) -> list[str]:
    left = [c for c in comparisons if c.log.not_comparable]
    lines = [f"- {c.log.id}: {c.log.not_comparable}" for c in left]
    return ["Left out of cache and verdicts:", "", *lines]


ERAS = ((7, "0.6 to 0.7"), (16, "0.8 to 0.16"), (20, "0.17 to 0.20"), (26, "0.21 to 0.26"))
"""Versions that share their largest terms, by their last minor."""


def _era(version: str) -> str:
    minor = int(version.split(".")[1])
    return next((name for last, name in ERAS if minor <= last), "0.27 and later")


def _float(text: str) -> float | None:
    return float(text) if text else None


def _int(text: str) -> int | None:
    return int(text) if text else None
