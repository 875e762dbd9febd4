"""What AWS and the owners of hosts do while a stack goes up: nodes come and go, add-ons appear."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from berth.catalog.load import Catalog
from berth.config.capacity import CapacityBlock
from berth.offline.cloud import Cloud
from berth.planner.blocks import is_open
from berth.planner.plan import Plan
from berth.rehearsal.addons import addon_objects
from berth.rehearsal.api import Api, Object
from berth.rehearsal.autoscaling import Room, is_running, waiting, wanted_sizes
from berth.rehearsal.given_nodes import given_nodes
from berth.rehearsal.groups import Groups
from berth.rehearsal.node import TIER_LABEL, Node
from berth.rehearsal.node_group import NodeGroup, node_groups, resize
from berth.rehearsal.quantity import Amounts, amounts, less, pod_requests, total

NODE_START_S: Final = 180
"""From the order of a GPU instance until its node is ready; a rule of ours (low evidence)."""
LOOK_S: Final = 0.2


@dataclass(slots=True)
class Order:
    """A node that was asked for."""

    node: Node
    group: str
    due_at_s: float
    made: bool = False


class World(threading.Thread):
    """Keeps the cluster's nodes and add-ons as the pretended cloud says, until it is stopped."""

    def __init__(self, api: Api, cloud: Cloud, catalog: Catalog, plan: Plan, speed: float) -> None:
        """Begin with `start()`.

        Args:
            api: the control plane.
            cloud: whose node groups become nodes.
            catalog: says how large they are.
            plan: whose other tiers have nodes from the start.
            speed: how many times faster than in life nodes come.
        """
        super().__init__(name="world", daemon=True)
        self._api, self._cloud, self._catalog, self._plan = api, cloud, catalog, plan
        self._speed = speed
        self._orders: dict[str, Order] = {}
        self._addons: dict[str, Mapping[str, Any]] = {}
        over_nodes = any(server.nodes_per_replica > 1 for server in plan.servers.values())
        self._groups = Groups(api) if over_nodes else None
        self._stopped = threading.Event()
        self.problem: Exception | None = None
        """What went wrong, if anything did."""

    def run(self) -> None:
        """Look and act until stopped."""
        try:
            for node in given_nodes(self._plan, self._catalog):
                self._api.create("/api/v1/nodes", node.document())
            while not self._stopped.wait(LOOK_S):
                self.step()
        except Exception as error:
            if not self._stopped.is_set():
                self.problem = error

    def stop(self) -> None:
        """Let everything be as it is."""
        self._stopped.set()
        if self.is_alive():
            self.join()

    def step(self) -> None:
        """Bring the cluster to what the cloud says now."""
        groups = [self._as_given_out(group) for group in node_groups(self._cloud)]
        self._keep_nodes(groups)
        self._keep_addons()
        if self._groups is not None:
            self._groups.step()
        self._scale(groups)

    def _as_given_out(self, group: NodeGroup) -> NodeGroup:
        """The group with no more nodes than AWS gives out: none of a block that is not open."""
        tier = (group.properties.get("labels") or {}).get(TIER_LABEL)
        pool = self._plan.pools.get(tier or "")
        if pool is None or not isinstance(pool.capacity, CapacityBlock):
            return group
        if is_open(pool.capacity, self._plan.as_of):
            return group
        return replace(group, desired=0, most=0)

    @property
    def waits_for_nodes(self) -> bool:
        """Whether a node is on its way."""
        return any(not order.made for order in self._orders.values())

    def _keep_nodes(self, groups: list[NodeGroup]) -> None:
        wanted = {
            node.name: (node, group.name)
            for group in groups
            for node in (group.node(number, self._catalog) for number in range(group.desired))
        }
        for name in [name for name in self._orders if name not in wanted]:
            if self._orders.pop(name).made:
                self._api.delete(f"/api/v1/nodes/{name}")
        for name, (node, group) in wanted.items():
            if name not in self._orders:
                due_at_s = time.monotonic() + NODE_START_S / self._speed
                self._orders[name] = Order(node, group, due_at_s)
            order = self._orders[name]
            if not order.made and time.monotonic() >= order.due_at_s:
                self._api.create("/api/v1/nodes", node.document())
                order.made = True

    def _rooms(self, pods: Sequence[Object]) -> list[Room]:
        """What is free on every node, also on those that are still on their way."""
        taken: dict[str, list[Amounts]] = {}
        for pod in pods:
            taken.setdefault(pod["spec"].get("nodeName", ""), []).append(pod_requests(pod["spec"]))
        return [
            (order.group, less(amounts(order.node.size.allocatable), total(taken.get(name, ()))))
            for name, order in self._orders.items()
        ]

    def _keep_addons(self) -> None:
        wanted = addon_objects(self._cloud)
        for path in [path for path in self._addons if path not in wanted]:
            self._api.delete(path)
            del self._addons[path]
        for path, body in wanted.items():
            if self._addons.get(path) != body:
                self._api.apply(path, body)
                self._addons[path] = body

    def _scale(self, groups: list[NodeGroup]) -> None:
        if not groups:
            return
        pods = self._api.items("/api/v1/pods")
        if not is_running(pods):
            return
        sizes = wanted_sizes(waiting(pods), groups, self._rooms(pods), self._catalog)
        for group in groups:
            if group.name in sizes:
                resize(self._cloud, group, sizes[group.name])
