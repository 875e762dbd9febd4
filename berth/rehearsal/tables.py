"""Where every node and pod is, and what the event meant for each model server."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from berth.catalog.load import load_catalog
from berth.costs.estimate import Estimate, sum_usd
from berth.costs.from_plan import estimate
from berth.costs.money import cents
from berth.planner.plan import Plan, ServerPlan
from berth.planner.startup import plan_startup
from berth.rehearsal.explain import explanation, free_on
from berth.rehearsal.node import TIER_LABEL
from berth.rehearsal.observer import (
    Observer,
    PodTimes,
    is_ready,
    pod_key,
    scheduler_words,
    server_of,
)
from berth.rehearsal.report import NodeRow, PodRow, ServerOutcome
from berth.rehearsal.world import NODE_START_S

WAITED_S: Final = 1.0
"""A pod that had no node for longer waited for one."""


def node_rows(observer: Observer, plan: Plan) -> list[NodeRow]:
    """Every node with its GPUs."""
    resources = {pool.gpu_resource for pool in plan.pools.values()}
    return [
        NodeRow(
            name=node["metadata"]["name"],
            tier=_tier(node),
            gpus=sum(int(node["status"]["allocatable"].get(r, 0)) for r in resources),
            gpus_free=sum(free_on(node, observer.pods, r) for r in resources),
        )
        for node in observer.nodes
    ]


def pod_rows(observer: Observer, plan: Plan) -> list[PodRow]:
    """Every pod with its node, or why it has none."""
    tiers = {node["metadata"]["name"]: _tier(node) for node in observer.nodes}
    rows = []
    for pod in observer.pods:
        node = pod["spec"].get("nodeName") or ""
        words = scheduler_words(pod)
        why = explanation(pod, words, observer.nodes, observer.pods, plan) if words else ""
        rows.append(
            PodRow(
                namespace=pod["metadata"]["namespace"],
                name=pod["metadata"]["name"],
                server=server_of(pod),
                node=node,
                tier=tiers.get(node, ""),
                phase=_phase(pod),
                reason="; ".join(filter(None, (words, why))),
            )
        )
    return rows


def outcomes(observer: Observer, plan: Plan) -> list[ServerOutcome]:
    """What coming up meant for every model server."""
    costs = estimate(plan, load_catalog())
    return [_outcome(observer, plan, server, costs) for server in plan.servers.values()]


def _outcome(observer: Observer, plan: Plan, server: ServerPlan, costs: Estimate) -> ServerOutcome:
    pods = [pod for pod in observer.pods if server_of(pod) == server.name]
    times = {pod["metadata"]["name"]: observer.times[pod_key(pod)] for pod in pods}
    full = len(pods) == server.pods and all(is_ready(pod) for pod in pods)
    load_s = plan_startup(server.weights_bytes).total_s
    node_s = NODE_START_S if any(_waited(each) for each in times.values()) else 0
    seconds = load_s + node_s if full else None
    usd = _usd_per_hour(plan, server, costs) * Decimal(seconds or 0) / 3600
    speed = server.speed if full else None
    return ServerOutcome(
        server=server.name,
        ready_min=0,
        seconds_to_full=seconds,
        ttft_ms=speed.ttft_ms if speed else None,
        itl_ms=speed.itl_ms if speed else None,
        pending=[f"{pod}: {each.waited}" for pod, each in times.items() if each.waited],
        usd=cents(usd),
    )


def _usd_per_hour(plan: Plan, server: ServerPlan, costs: Estimate) -> Decimal:
    """Of the server's share of its tier's GPUs; a block is paid already and costs nothing more."""
    tier = sum_usd(line.plan_usd_per_hour for line in costs.lines if line.tier == server.tier)
    asked = plan.pools[server.tier].gpus_requested
    return tier * server.replicas * server.gpus_per_replica / asked if asked else Decimal(0)


def pods_in_place(rows: Sequence[PodRow], server: ServerPlan) -> int:
    """Replicas that answer on a tier of theirs."""
    tiers = server.tiers or (server.tier,)
    return sum(
        row.server == server.name and row.tier in tiers and row.phase == "Running" for row in rows
    )


def _tier(node: Mapping[str, Any]) -> str:
    return str((node["metadata"].get("labels") or {}).get(TIER_LABEL, ""))


def _phase(pod: Mapping[str, Any]) -> str:
    """As Kubernetes says it; a container that runs and does not answer yet is `Starting`."""
    phase = str(pod["status"].get("phase", "Pending"))
    return "Starting" if phase == "Running" and not is_ready(pod) else phase


def _waited(times: PodTimes) -> bool:
    return bool(times.waited) or (times.scheduled_s or 0.0) - times.seen_s > WAITED_S
