"""The simulated world: nodes come and go with the cloud's node groups, add-ons with the cloud's."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.cli.stack_plan import planned_stack
from berth.offline.cloud import Cloud, Record
from berth.rehearsal.addons import ADDON
from berth.rehearsal.control_plane import ControlPlane, Options
from berth.rehearsal.node_group import NODE_GROUP
from berth.rehearsal.world import NODE_START_S, World
from tests.engine.checkout import ROOT

pytestmark = pytest.mark.cluster

SPEED = 90.0
PATIENCE_S = 30
PODS = "/api/v1/namespaces/default/pods"
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    return Cloud(tmp_path)


@pytest.fixture
def world(control_plane: ControlPlane, cloud: Cloud) -> Iterator[World]:
    plan = planned_stack(ROOT / "stacks" / "Pulumi.l4-dev.yaml").plan
    running = World(control_plane.api, cloud, load_catalog(), plan, SPEED)
    running.start()
    yield running
    running.stop()
    assert running.problem is None


def put_group(cloud: Cloud, tier: str, instance_type: str, desired: int, most: int) -> None:
    taints = [TAINT] if tier == "l4" else []
    properties: dict[str, Any] = {
        "nodeGroupName": tier,
        "capacityType": "ON_DEMAND",
        "instanceTypes": [instance_type],
        "labels": {"berth-gpu/tier": tier},
        "taints": taints,
        "scalingConfig": {"minSize": 0, "desiredSize": desired, "maxSize": most},
    }
    cloud.put(Record(NODE_GROUP, "us-east-1", tier, f"urn:{tier}", properties))


def pod(name: str, gpus: int = 0, app: str = "") -> dict[str, Any]:
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    container = {"name": "c", "image": "x", "resources": {"limits": limits}}
    spec: dict[str, Any] = {"containers": [container]}
    if gpus:
        spec["nodeSelector"] = {"berth-gpu/tier": "l4"}
        spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    labels = {"app.kubernetes.io/name": app or "any"}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def wait_until(condition: Callable[[], bool]) -> float:
    """Seconds that it took."""
    started_s = time.monotonic()
    while not condition():
        assert time.monotonic() - started_s < PATIENCE_S, "it did not happen"
        time.sleep(0.1)
    return time.monotonic() - started_s


def test_a_pool_grows_from_zero_only_where_the_autoscaler_runs(
    control_plane: ControlPlane, cloud: Cloud, world: World
) -> None:
    api = control_plane.api

    def tiers() -> list[str]:
        nodes = api.items("/api/v1/nodes")
        return sorted(node["metadata"]["labels"]["berth-gpu/tier"] for node in nodes)

    def node_of(name: str) -> str | None:
        found: str | None = api.get(f"{PODS}/{name}")["spec"].get("nodeName")
        return found

    put_group(cloud, "system", "m7i.large", desired=1, most=1)
    put_group(cloud, "l4", "g6.xlarge", desired=0, most=1)
    wait_until(lambda: tiers() == ["system"])
    wait_until(lambda: len(api.items("/api/v1/namespaces/default/serviceaccounts")) == 1)
    api.create(PODS, pod("first", gpus=1))
    time.sleep(2 * NODE_START_S / SPEED)
    assert tiers() == ["system"]

    api.create(PODS, pod("autoscaler", app="aws-cluster-autoscaler"))
    waited_s = wait_until(lambda: tiers() == ["l4", "system"])
    wait_until(lambda: node_of("first") is not None)
    api.create(PODS, pod("second", gpus=1))
    time.sleep(2 * NODE_START_S / SPEED)

    assert waited_s > NODE_START_S / SPEED
    assert tiers() == ["l4", "system"], "the pool has reached its most"
    assert node_of("second") is None


def test_nodes_and_addons_go_with_what_they_stand_for(
    control_plane: ControlPlane, cloud: Cloud, world: World
) -> None:
    api = control_plane.api
    deployments = "/apis/apps/v1/namespaces/kube-system/deployments"
    put_group(cloud, "system", "m7i.large", desired=2, most=2)
    addon = Record(ADDON, "us-east-1", "c:coredns", "urn:coredns", {"addonName": "coredns"})
    cloud.put(addon)

    wait_until(lambda: len(api.items("/api/v1/nodes")) == 2)
    wait_until(lambda: [d["metadata"]["name"] for d in api.items(deployments)] == ["coredns"])
    wait_until(lambda: api.items(deployments)[0]["status"].get("readyReplicas") == 2)
    cloud.remove("urn:system")
    cloud.remove("urn:coredns")

    wait_until(lambda: not api.items("/api/v1/nodes") and not api.items(deployments))


def test_a_probe_that_gives_up_too_soon_kills_a_server_that_still_loads(
    cluster_programs: None,
) -> None:
    """A load of 180 s in life, 3 s here; 30 probes of 10 s wait for it, 10 do not."""
    options = Options(ready_after_ms={"chat": 3000}, speed=60.0)
    labels = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "chat"}
    size = {"cpu": "8", "memory": "32Gi", "pods": "29"}
    with ControlPlane(options) as plane:
        api = plane.api
        metadata = {"name": "n", "annotations": {"kwok.x-k8s.io/node": "fake"}}
        status = {"capacity": size, "allocatable": size}
        api.create("/api/v1/nodes", {"metadata": metadata, "status": status})
        wait_until(lambda: len(api.items("/api/v1/namespaces/default/serviceaccounts")) == 1)
        for name, failures in (("patient", 30), ("hasty", 10)):
            probe = {
                "httpGet": {"path": "/health", "port": 8000},
                "periodSeconds": 10,
                "failureThreshold": failures,
            }
            container = {"name": "vllm", "image": "x", "startupProbe": probe}
            body = {
                "metadata": {"name": name, "labels": labels},
                "spec": {"containers": [container]},
            }
            api.create(PODS, body)

        def container_of(name: str) -> dict[str, Any]:
            statuses = api.get(f"{PODS}/{name}")["status"].get("containerStatuses") or [{}]
            found: dict[str, Any] = statuses[0]
            return found

        wait_until(lambda: bool(container_of("patient").get("ready")))
        wait_until(lambda: container_of("hasty").get("restartCount", 0) > 0)

        assert container_of("patient")["restartCount"] == 0
        assert not container_of("hasty")["ready"]
