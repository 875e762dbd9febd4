"""The real scheduler places as many replicas on a tier's nodes as the planner says that fit."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import pytest

from berth.catalog.load import load_catalog
from berth.planner.host import SYSTEM_PODS_CORES, SYSTEM_PODS_MIB, host_needs, node_share
from berth.planner.pools import Demand, node_count, pack
from berth.rehearsal.control_plane import ControlPlane
from berth.rehearsal.node import TIER_LABEL, Node, gpu_devices, instance_size
from berth.rehearsal.observer import scheduler_words

pytestmark = pytest.mark.cluster

STACKS: Final = 200
SEED: Final = 20261201
MORE: Final = 2
"""Replicas that should find no place."""
PATIENCE_S: Final = 180
PODS: Final = "/api/v1/namespaces/default/pods"
TYPES: Final = (
    "g4dn.xlarge",
    "g5.12xlarge",
    "g6.xlarge",
    "g6.12xlarge",
    "g6e.12xlarge",
    "p4d.24xlarge",
    "p5.48xlarge",
)
CATALOG = load_catalog()


@dataclass(frozen=True)
class Tier:
    """A tier of a generated stack: its nodes, and servers from the largest replica down."""

    name: str
    instance_type: str
    nodes: int
    demands: tuple[Demand, ...]
    weights_gib: int

    @property
    def planned(self) -> tuple[Demand, ...]:
        """As many replicas of the last server as the planner says that fit."""
        *first, last = self.demands
        most = last.replicas
        while node_count(pack([*first, last.with_replicas(most)], self.gpus, 0)) > self.nodes:
            most -= 1
        return (*first, last.with_replicas(most))

    @property
    def gpus(self) -> int:
        return CATALOG.instances[self.instance_type].gpu_count


def generated(number: int, chance: random.Random) -> Tier:
    """One or two servers whose sizes are powers of two, the last with more than fits."""
    instance_type = chance.choice(TYPES)
    gpus = CATALOG.instances[instance_type].gpu_count
    nodes = chance.randint(1, 3)
    sizes = sorted(
        {chance.choice([s for s in (1, 2, 4, 8) if s <= gpus]) for _ in range(2)}, reverse=True
    )
    left = nodes * gpus
    demands = []
    for index, size in enumerate(sizes):
        last = index == len(sizes) - 1
        replicas = left // size + MORE if last else chance.randint(0, left // size)
        left -= replicas * size
        demands.append(
            Demand(server=f"s{index}", gpus_per_replica=size, replicas=replicas, model_cache_gib=10)
        )
    weights_gib = chance.choice((5, 16, 70, 140))
    return Tier(f"t{number}", instance_type, nodes, tuple(demands), weights_gib)


def nodes_of(tier: Tier) -> Iterator[dict[str, Any]]:
    instance = CATALOG.instances[tier.instance_type]
    assert instance.gpu is not None
    devices = gpu_devices(CATALOG.gpus[instance.gpu], instance.gpu_count, {})
    for number in range(tier.nodes):
        yield Node(
            name=f"{tier.name}-{number}",
            size=instance_size(instance, 200, 0, devices),
            labels={TIER_LABEL: tier.name, "kubernetes.io/arch": "amd64"},
            taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
        ).document()


def system_pods_of(tier: Tier) -> Iterator[dict[str, Any]]:
    """What the planner leaves to the system on every node."""
    for number in range(tier.nodes):
        requests = {"cpu": str(SYSTEM_PODS_CORES), "memory": f"{SYSTEM_PODS_MIB}Mi"}
        spec = {"nodeName": f"{tier.name}-{number}", "tolerations": [{"operator": "Exists"}]}
        yield pod(f"{tier.name}-system-{number}", {"requests": requests}, spec)


def replicas_of(tier: Tier) -> Iterator[dict[str, Any]]:
    """As `components` asks for a replica: cores and memory of the planner, GPUs as the limit."""
    instance = CATALOG.instances[tier.instance_type]
    for demand in tier.demands:
        gpus = demand.gpus_per_replica
        needs = host_needs(tier.weights_gib * 1024**3, gpus, node_share(instance, gpus))
        limits = {
            "cpu": str(needs.cpu_request_cores),
            "memory": f"{needs.host_memory_request_gib}Gi",
            "nvidia.com/gpu": str(gpus),
        }
        spec = {
            "nodeSelector": {TIER_LABEL: tier.name},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        }
        for number in range(demand.replicas):
            yield pod(f"{tier.name}-{demand.server}-{number:02}", {"limits": limits}, spec)


def pod(name: str, resources: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": resources}
    return {"metadata": {"name": name}, "spec": {**spec, "containers": [container]}}


def settled(control_plane: ControlPlane) -> list[dict[str, Any]]:
    """All pods, once the scheduler has looked at each."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        pods = control_plane.api.items(PODS)
        if all(each["spec"].get("nodeName") or scheduler_words(each) for each in pods):
            return pods
        assert time.monotonic() < deadline
        time.sleep(1.0)


def test_two_hundred_stacks_on_one_control_plane(control_plane: ControlPlane) -> None:
    api = control_plane.api
    chance = random.Random(SEED)
    tiers = [generated(number, chance) for number in range(STACKS)]

    def create_all(tier: Tier) -> None:
        """The largest replicas first, as the planner packs them."""
        for body in (*system_pods_of(tier), *replicas_of(tier)):
            api.create(PODS, body)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: api.create("/api/v1/nodes", n), [*map_nodes(tiers)]))
        wait_for_nodes(control_plane, sum(tier.nodes for tier in tiers))
        list(pool.map(create_all, tiers))
    pods = settled(control_plane)

    placed = Counter(
        each["metadata"]["name"].rpartition("-")[0] for each in pods if each["spec"].get("nodeName")
    )
    for tier in tiers:
        for demand in tier.planned:
            found = placed[f"{tier.name}-{demand.server}"]
            assert found == demand.replicas, (tier, demand)


def map_nodes(tiers: list[Tier]) -> Iterator[dict[str, Any]]:
    for tier in tiers:
        yield from nodes_of(tier)


def wait_for_nodes(control_plane: ControlPlane, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        nodes = control_plane.api.items("/api/v1/nodes")
        ready = [
            node
            for node in nodes
            if not any("not-ready" in t["key"] for t in node["spec"].get("taints") or ())
            and any(c["type"] == "Ready" for c in node["status"].get("conditions") or ())
        ]
        if len(ready) == count:
            return
        assert time.monotonic() < deadline
        time.sleep(0.5)
