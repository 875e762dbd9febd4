"""What a rehearsal found; its JSON shape is a contract."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from berth.planner.plan import Plan
from berth.rehearsal.charts import Chart
from berth.rehearsal.observer import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One node and its GPUs."""

    name: str
    tier: str
    """Empty on nodes of no tier."""
    gpus: int
    gpus_free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRow:
    """Where a pod runs, or why it does not."""

    namespace: str
    name: str
    server: str
    """The model server that it is a replica of; empty for all others."""
    node: str
    tier: str
    phase: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOutcome:
    """What an event meant for one model server; times in life, not on the faster clock."""

    server: str
    ready_min: int
    """The fewest replicas that answered meanwhile."""
    seconds_to_full: int | None
    """Until all replicas answered; None: they did not."""
    ttft_ms: float | None
    itl_ms: float | None
    """Both as planned for the full number of replicas; None without a load."""
    pending: list[str]
    """Replicas that had to wait for a node, with the scheduler's words."""
    usd: str
    """What the server's share of the nodes cost until it was full."""


@dataclass(slots=True, kw_only=True)
class Event:
    """One thing that was done."""

    event: str
    ok: bool = True
    seconds: float = 0.0
    lines: list[str] = field(default_factory=list)
    servers: list[ServerOutcome] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Rehearsed:
    """Everything about one rehearsal."""

    stack: str
    plan: Plan
    speed: float
    settled: bool = False
    seconds: float = 0.0
    nodes: Sequence[NodeRow] = ()
    pods: Sequence[PodRow] = ()
    events: list[Event] = field(default_factory=list)
    charts: Sequence[Chart] = ()
    moments: Sequence[Moment] = ()
    refusals: list[str] = field(default_factory=list)
    """Why the exit code is not 0, one line each."""


def rehearsed_document(rehearsed: Rehearsed) -> dict[str, Any]:
    """The report as others read it."""
    return {
        "stack": rehearsed.stack,
        "settled": rehearsed.settled,
        "nodes": [asdict(node) for node in rehearsed.nodes],
        "pods": [asdict(pod) for pod in rehearsed.pods],
        "events": [
            {**asdict(event), "seconds": round(event.seconds, 1)} for event in rehearsed.events
        ],
        "speed": rehearsed.speed,
        "charts": [
            {"name": chart.name, "version": chart.version, "origin": chart.origin}
            for chart in rehearsed.charts
        ],
        "time_line": [
            {"at_s": round(moment.at_s, 1), "text": moment.text} for moment in rehearsed.moments
        ],
    }
