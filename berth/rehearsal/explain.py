"""The scheduler's words about a pod that waits, with what they mean for the stack."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from berth.config.capacity import CapacityBlock
from berth.planner.blocks import is_open
from berth.planner.plan import Plan
from berth.rehearsal.node import TIER_LABEL
from berth.rehearsal.quantity import amount, amounts, less, pod_requests, total

LACKS: Final = re.compile(r"Insufficient ([\w./-]+)")
TAINT: Final = re.compile(r"untolerated taint\(?s?\)? ?\{([^:}]+)")


def explanation(
    pod: Mapping[str, Any],
    words: str,
    nodes: Sequence[Mapping[str, Any]],
    pods: Sequence[Mapping[str, Any]],
    plan: Plan,
) -> str:
    """What the words come down to, in one sentence; empty where they say it all."""
    spec = pod["spec"]
    tier = (spec.get("nodeSelector") or {}).get(TIER_LABEL)
    own = [n for n in nodes if tier and n["metadata"]["labels"].get(TIER_LABEL) == tier]
    if tier and not own:
        pool = plan.pools.get(tier)
        if pool is None:
            return f"no tier of the stack is called {tier}"
        if isinstance(pool.capacity, CapacityBlock) and not is_open(pool.capacity, plan.as_of):
            return f"the block of tier {tier} is not open on {plan.as_of}, so it has no node"
        most = f"it may have {pool.max_nodes}" if pool.max_nodes else "its max_nodes is 0"
        return f"tier {tier} has no node now; {most}"
    lacking = LACKS.search(words)
    if lacking:
        resource = lacking[1]
        free = [_free(node, pods).get(resource, amount("0")) for node in own or nodes]
        wanted = pod_requests(spec).get(resource, amount("0"))
        where = f"tier {tier}" if tier else "the cluster"
        freest = f"{max(free, default=amount('0')):f}"
        return f"it asks for {wanted:f} {resource}, and the freest node of {where} has {freest}"
    taint = TAINT.search(words)
    if taint:
        return f"the nodes carry the taint {taint[1]}, which the pod does not tolerate"
    return ""


def free_on(node: Mapping[str, Any], pods: Sequence[Mapping[str, Any]], resource: str) -> int:
    """How much of a countable resource nobody on the node has asked for."""
    return int(_free(node, pods).get(resource, amount("0")))


def _free(node: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    name = node["metadata"]["name"]
    here = [
        pod_requests(pod["spec"])
        for pod in pods
        if pod["spec"].get("nodeName") == name
        and pod["status"].get("phase") not in ("Succeeded", "Failed")
    ]
    return less(amounts(node["status"]["allocatable"]), total(here))
