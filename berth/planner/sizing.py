"""How many replicas one split on one GPU model needs for a load and its goals, or why none do."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, isfinite

from berth.planner.speed.forecast import ServerSpeed
from berth.planner.speed.serving import Answer
from berth.planner.speed.step import StepTerms

MOST_REPLICAS = 4096
GROWTH = 1.3
"""Of the replicas tried, from one try to the next; the last gap is closed by halving."""
TERM_WORDS = {
    "matrices_ms": "matrices",
    "experts_ms": "experts",
    "cache_ms": "reading the KV cache",
    "attention_ms": "attention of the prompt",
    "all_reduce_ms": "all-reduce",
    "elementwise_ms": "element-wise work",
    "overhead_ms": "launches and scheduling",
    "stage_hops_ms": "hops between pipeline stages",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """Latencies that must hold on the high side of the band; None: any."""

    ttft_ms: float | None = None
    itl_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """The goal that is missed by most, and what makes the time."""

    goal: str
    """ttft_ms, itl_ms or capacity."""
    value: float
    limit: float
    term: str

    @property
    def ratio(self) -> float:
        """How far off."""
        return self.value / self.limit if self.limit else float("inf")

    def words(self) -> str:
        """For a person: value, limit, cause."""
        if self.goal == "capacity":
            return (
                f"{self.limit:.3g} requests/s at most, {self.value:.3g} asked for ({self.term}); "
                "add replicas or lower the load"
            )
        if not isfinite(self.value):
            return f"{self.goal} grows without end against {self.limit:g} ({self.term})"
        return f"{self.goal} {self.value:.4g} on the high side against {self.limit:g} ({self.term})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """Replicas for a load, with what is missed if they are not enough."""

    replicas: int
    answer: Answer
    misses: tuple[Miss, ...]


def size(
    speed: ServerSpeed, goals: Goals, safe_load_share: float, replicas: int | None = None
) -> Sizing:
    """The fewest replicas that hold the goals on the high side, at most at the safe load.

    Args:
        speed: the server under the whole load.
        goals: what must hold.
        safe_load_share: most of the modelled saturation that is used.
        replicas: fixed by the owner; then only their misses are found.
    """

    def tried(count: int) -> Sizing:
        answer = speed.answer(count)
        return Sizing(
            replicas=count,
            answer=answer,
            misses=_misses(speed, goals, safe_load_share, count, answer),
        )

    if replicas is not None:
        return tried(replicas)
    first = tried(_least(speed, safe_load_share))
    if not first.misses:
        return first
    clients = speed.load.concurrency
    idle = tried(max(first.replicas, int(clients) if clients is not None else MOST_REPLICAS))
    if idle.misses:
        return replace(first, misses=idle.misses)
    return _fewest(first.replicas, idle, tried)


def _fewest(failed: int, good: Sizing, tried: Callable[[int], Sizing]) -> Sizing:
    """The smallest count between one that fails and one that holds."""
    count = failed
    while True:
        count = min(good.replicas, max(count + 1, ceil(count * GROWTH)))
        if count >= good.replicas:
            break
        found = tried(count)
        if not found.misses:
            good = found
            break
        failed = count
    while good.replicas - failed > 1:
        found = tried((good.replicas + failed) // 2)
        if found.misses:
            failed = found.replicas
        else:
            good = found
    return good


def _least(speed: ServerSpeed, safe_load_share: float) -> int:
    """Replicas below which the load is above the safe share of saturation."""
    rate = speed.load.requests_per_s
    if rate is None:
        return 1  # clients wait for each other, so any number of replicas answers them
    return max(1, ceil(rate / (safe_load_share * speed.saturation_requests_per_s) - 1e-9))


def _misses(
    speed: ServerSpeed, goals: Goals, safe_load_share: float, replicas: int, answer: Answer
) -> tuple[Miss, ...]:
    found = []
    rate = speed.load.requests_per_s
    most = speed.saturation_requests_per_s * replicas * safe_load_share
    if rate is not None and rate > most * (1 + 1e-9):
        term = f"{safe_load_share:.0%} of the modelled saturation of {replicas} replicas"
        found.append(Miss(goal="capacity", value=rate, limit=most, term=term))
    if goals.itl_ms is not None and answer.itl_ms * speed.itl_band[1] > goals.itl_ms:
        terms = speed.decode_terms(answer.running)
        value = answer.itl_ms * speed.itl_band[1]
        found.append(Miss(goal="itl_ms", value=value, limit=goals.itl_ms, term=largest(terms)))
    if goals.ttft_ms is not None and answer.ttft_ms * speed.ttft_band[1] > goals.ttft_ms:
        tokens = min(speed.load.input_tokens, speed.limits.max_num_batched_tokens)
        terms = speed.prompt_terms(max(1.0, tokens))
        value = answer.ttft_ms * speed.ttft_band[1]
        found.append(Miss(goal="ttft_ms", value=value, limit=goals.ttft_ms, term=largest(terms)))
    return tuple(sorted(found, key=lambda miss: -miss.ratio))


def largest(terms: StepTerms) -> str:
    """The largest part of a step, with its time."""
    parts = {name: getattr(terms, name) for name in TERM_WORDS}
    if terms.floor_ms > sum(parts.values()):
        return f"{terms.floor_ms:.1f} ms of launches outside a CUDA graph"
    name = max(parts, key=lambda each: parts[each])
    return f"{parts[name]:.1f} ms of {TERM_WORDS[name]} in a step of {terms.total_ms:.1f}"
