"""Which pool grows for a pod that waits, and by how much."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.offline.cloud import Cloud, Record
from berth.rehearsal.autoscaling import Room, is_running, waiting, wanted_sizes
from berth.rehearsal.node_group import NODE_GROUP, NodeGroup, node_groups
from berth.rehearsal.placing import admitted, tolerates

CATALOG = load_catalog()
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


@pytest.fixture
def groups(tmp_path: Path) -> list[NodeGroup]:
    """An empty pool of four-GPU L4 nodes, at most three, and one of p5 nodes, at most one."""
    cloud = Cloud(tmp_path)
    for tier, instance_type, most in (("l4", "g6.12xlarge", 3), ("h100", "p5.48xlarge", 1)):
        properties = {
            "nodeGroupName": tier,
            "instanceTypes": [instance_type],
            "labels": {"berth-gpu/tier": tier},
            "taints": [TAINT],
            "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": most},
        }
        cloud.put(Record(NODE_GROUP, "us-east-1", tier, f"urn:{tier}", properties))
    return node_groups(cloud)


def pod(gpus: int, tier: str | None = "l4", **spec: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": str(gpus)}
    return {
        "metadata": {"name": "p", "labels": {}},
        "spec": {
            "containers": [{"resources": {"limits": limits}}],
            "tolerations": [TOLERATION],
            **({"nodeSelector": {"berth-gpu/tier": tier}} if tier else {}),
            **spec,
        },
        "status": {"conditions": [{"type": "PodScheduled", "reason": "Unschedulable"}]},
    }


def room(group: str, gpus: int) -> Room:
    return group, {"nvidia.com/gpu": Decimal(gpus), "pods": Decimal(100)}


@pytest.mark.parametrize(
    ("pods", "rooms", "expected"),
    [
        pytest.param([pod(1)], [], {"l4": 1}, id="one"),
        pytest.param([pod(1)] * 4, [], {"l4": 1}, id="four-share-a-node"),
        pytest.param([pod(3), pod(2)], [], {"l4": 2}, id="two-that-do-not-fit-together"),
        pytest.param([pod(4)] * 9, [], {"l4": 3}, id="never-above-the-most"),
        pytest.param([pod(1)] * 2, [room("l4", 2)], {}, id="there-is-room-on-a-node"),
        pytest.param([pod(1)] * 3, [room("l4", 2)], {"l4": 1}, id="for-two-of-three"),
        pytest.param([pod(5)], [], {}, id="larger-than-a-node"),
        pytest.param([pod(1, tolerations=[])], [], {}, id="kept-away-by-the-taint"),
        pytest.param([pod(1, tier="b200")], [], {}, id="no-such-tier"),
        pytest.param([pod(8, tier="h100")], [], {"h100": 1}, id="the-tier-it-asks-for"),
    ],
)
def test_sizes(
    groups: list[NodeGroup],
    pods: list[dict[str, Any]],
    rooms: list[Room],
    expected: dict[str, int],
) -> None:
    assert wanted_sizes(pods, groups, rooms, CATALOG) == expected


def test_the_preferred_tier_grows_first(groups: list[NodeGroup]) -> None:
    def term(tier: str) -> dict[str, Any]:
        return {"matchExpressions": [{"key": "berth-gpu/tier", "operator": "In", "values": [tier]}]}

    preferred = [
        {"weight": 50, "preference": term("l4")},
        {"weight": 100, "preference": term("h100")},
    ]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}

    sizes = wanted_sizes([pod(1, tier=None, affinity=affinity)], groups, [], CATALOG)

    assert sizes == {"h100": 1}


def test_only_pods_that_the_scheduler_gave_up_on_wait() -> None:
    new, placed = pod(1), pod(1)
    new["status"] = {}
    placed["spec"]["nodeName"] = "n"

    assert waiting([new, placed, pod(2)]) == [pod(2)]


@pytest.mark.parametrize(("phase", "expected"), [("Running", True), ("Pending", False)])
def test_without_an_autoscaler_that_runs_nothing_grows(phase: str, expected: bool) -> None:
    labels = {"app.kubernetes.io/name": "aws-cluster-autoscaler"}

    assert is_running([{"metadata": {"labels": labels}, "status": {"phase": phase}}]) is expected


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param({"operator": "Exists"}, True, id="everything"),
        pytest.param({"key": "nvidia.com/gpu", "operator": "Exists"}, True, id="any-value"),
        pytest.param({"key": "nvidia.com/gpu", "value": "present"}, True, id="the-value"),
        pytest.param({"key": "nvidia.com/gpu", "value": "true"}, False, id="another-value"),
        pytest.param({"key": "amd.com/gpu", "operator": "Exists"}, False, id="another-key"),
        pytest.param(
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"},
            False,
            id="another-effect",
        ),
        pytest.param({"value": "present"}, False, id="no-key-without-exists"),
    ],
)
def test_tolerations(toleration: dict[str, str], expected: bool) -> None:
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}

    assert tolerates([toleration], taint) is expected
    assert admitted({"tolerations": [toleration]}, {}, [taint]) is expected
