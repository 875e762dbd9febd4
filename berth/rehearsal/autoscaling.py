"""The rule of the cluster autoscaler: a pod that fits a pool with room makes a node appear."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from berth.catalog.load import Catalog
from berth.rehearsal.node_group import NodeGroup
from berth.rehearsal.placing import admitted, preference
from berth.rehearsal.quantity import Amounts, amounts, fits, less, pod_requests

Room = tuple[str, Amounts]
"""A node by the name of its group, and what is free on it."""

AUTOSCALER: Final = ("app.kubernetes.io/name", "aws-cluster-autoscaler")


def is_running(pods: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the cluster has an autoscaler that works."""
    label, value = AUTOSCALER
    return any(
        (pod["metadata"].get("labels") or {}).get(label) == value
        and pod["status"].get("phase") == "Running"
        for pod in pods
    )


def waiting(pods: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Pods that the scheduler has found no node for."""
    return [
        pod
        for pod in pods
        if not pod["spec"].get("nodeName")
        and any(c.get("reason") == "Unschedulable" for c in pod["status"].get("conditions") or ())
    ]


def wanted_sizes(
    pods: Sequence[Mapping[str, Any]],
    groups: Sequence[NodeGroup],
    rooms: Sequence[Room],
    catalog: Catalog,
) -> dict[str, int]:
    """By node group, how many nodes it needs so that all waiting pods find a place.

    Args:
        pods: those that wait.
        groups: of the cluster.
        rooms: what is free on their nodes, those that are on their way included; pods fill these
            first.
        catalog: says how large a node of a group is.
    """
    sizes = {group.name: group.desired for group in groups}
    left = list(rooms)
    for pod in pods:
        spec, wanted = pod["spec"], pod_requests(pod["spec"])
        suited = [g for g in groups if _suits(g, spec, wanted, catalog)]
        names = {group.name for group in suited}
        place = next(
            (i for i, (name, free) in enumerate(left) if name in names and fits(wanted, free)), None
        )
        if place is not None:
            left[place] = (left[place][0], less(left[place][1], wanted))
            continue
        room = [group for group in suited if sizes[group.name] < group.most]
        if room:
            best = max(room, key=lambda g: preference(spec, g.node(0, catalog).labels))
            sizes[best.name] += 1
            left.append((best.name, less(_free(best, catalog), wanted)))
    return {g.name: sizes[g.name] for g in groups if sizes[g.name] != g.desired}


def _suits(group: NodeGroup, spec: Mapping[str, Any], wanted: Amounts, catalog: Catalog) -> bool:
    node = group.node(0, catalog)
    return admitted(spec, node.labels, node.taints) and fits(wanted, _free(group, catalog))


def _free(group: NodeGroup, catalog: Catalog) -> Amounts:
    return amounts(group.node(0, catalog).size.allocatable)
