"""What EKS would refuse of a node group's new bounds, given the nodes that run now."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from berth.engine.preview import PreviewedResource
from berth.planner.plan import Plan
from berth.planner.start import StartFinding

_NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
_TIER_LABEL: Final = "berth-gpu/tier"


def bounds_findings(resources: Sequence[PreviewedResource], plan: Plan) -> Iterator[StartFinding]:
    """Tiers whose bounds no longer hold the number of nodes that the state last saw.

    The stack leaves that number to the autoscaler, and EKS takes no `minSize` above it and no
    `maxSize` below it.
    Source: https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html
    """
    for resource in resources:
        if resource.type != _NODE_GROUP or resource.op != "update":
            continue
        tier = str(_mapping(resource.inputs.get("labels")).get(_TIER_LABEL))
        wanted = _mapping(resource.inputs.get("scalingConfig"))
        running = _mapping(resource.before.get("scalingConfig")).get("desiredSize")
        if tier not in plan.pools or not isinstance(running, int | float):
            continue
        least, most = wanted.get("minSize"), wanted.get("maxSize")
        if isinstance(least, int | float) and least > running:
            yield _finding(
                tier, resource, f"min_nodes {least:g} is above", int(running), int(least)
            )
        elif isinstance(most, int | float) and most < running:
            yield _finding(tier, resource, f"max_nodes {most:g} is below", int(running), int(most))


def _finding(
    tier: str, resource: PreviewedResource, what: str, running: int, bound: int
) -> StartFinding:
    nodes = "1 node that runs" if running == 1 else f"{running} nodes that run"
    before = resource.before
    group = f"--cluster-name {before.get('clusterName')} --nodegroup-name "
    group += str(before.get("nodeGroupName"))
    return StartFinding(
        tier=tier,
        ok=False,
        problem=f"{what} the {nodes} as of the last refresh, and EKS refuses that update",
        fix=f"`aws eks update-nodegroup-config {group} --scaling-config desiredSize={bound}` and "
        "`pulumi refresh` first, or leave the bound until the group has that many",
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
