"""One view of a stack, built once from its resources: workloads, pools, charts and the rest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from berth.rules.resource import Resource
from berth.rules.stack_view.accelerators import Vendor
from berth.rules.stack_view.chart import Chart
from berth.rules.stack_view.chart_sources import read_charts
from berth.rules.stack_view.config_maps import read_config_maps
from berth.rules.stack_view.instances import Accelerators, load_accelerators
from berth.rules.stack_view.nodes import Nodes, nodes_of, pools_for
from berth.rules.stack_view.pool import LAUNCH_TEMPLATE, Pool, read_pools
from berth.rules.stack_view.workload import Container, Pod, Workload, as_workload


@dataclass(frozen=True, eq=False)
class StackView:
    """What rules look at."""

    workloads: tuple[Workload, ...]
    pools: tuple[Pool, ...]
    charts: tuple[Chart, ...]
    launch_templates: tuple[Resource, ...]
    resources: tuple[Resource, ...]
    accelerators: Accelerators

    def pods(self) -> Iterator[Pod]:
        """Every pod template."""
        for workload in self.workloads:
            yield from workload.pods

    def containers(self) -> Iterator[Container]:
        """Every container but init containers."""
        for pod in self.pods():
            yield from pod.containers

    def all_containers(self) -> Iterator[Container]:
        """Every container, init containers included."""
        for pod in self.pods():
            yield from pod.containers
            yield from pod.init_containers

    def charts_named(self, *names: str) -> Iterator[Chart]:
        """The charts of these names."""
        return (chart for chart in self.charts if chart.name in names)

    def of_kind(self, kind: str, group: str = "") -> tuple[Resource, ...]:
        """The Kubernetes resources of a kind, in any version of its group."""
        start = f"kubernetes:{group or 'core'}/"
        return tuple(r for r in self._by_kind.get(kind, ()) if r.type.startswith(start))

    def of_type(self, token: str) -> tuple[Resource, ...]:
        """The resources of a Pulumi type."""
        kind = token.rpartition(":")[2]
        return tuple(r for r in self._by_kind.get(kind, ()) if r.type == token)

    @cached_property
    def _by_kind(self) -> Mapping[str, list[Resource]]:
        found: dict[str, list[Resource]] = {}
        for resource in self.resources:
            found.setdefault(resource.type.rpartition(":")[2], []).append(resource)
        return found

    def gpu_pools(self, vendor: Vendor = "nvidia") -> Iterator[Pool]:
        """The pools with accelerators of one maker.

        Raises:
            KnownAfterApplyError: if what a pool has is known after apply.
        """
        return (pool for pool in self.pools if pool.vendor == vendor)

    def nodes_of(self, pod: Pod, options: Mapping[str, Any]) -> tuple[Nodes, ...]:
        """The groups of nodes that a pod may be put on; empty: nobody can say from the stack.

        Raises:
            KnownAfterApplyError: if that rests on what is known after apply.
        """
        configured = options.get("instanceType")
        key = (pod, configured if isinstance(configured, str) else None)
        if key not in self._nodes:
            self._nodes[key] = nodes_of(pod, self.pools, self.accelerators, options)
        return self._nodes[key]

    def pools_for(self, pod: Pod) -> tuple[Pool, ...]:
        """The GPU pools that a pod is sure to fit by labels and taints; empty if there is doubt.

        Raises:
            KnownAfterApplyError: if that rests on what is known after apply.
        """
        if pod not in self._pools_for:
            self._pools_for[pod] = pools_for(pod, self.pools)
        return self._pools_for[pod]

    @cached_property
    def _nodes(self) -> dict[tuple[Pod, str | None], tuple[Nodes, ...]]:
        return {}

    @cached_property
    def _pools_for(self) -> dict[Pod, tuple[Pool, ...]]:
        return {}


def view_stack(
    resources: Sequence[Resource], accelerators: Accelerators | None = None
) -> StackView:
    """Build the view.

    Args:
        resources: all resources of the stack, or the one to be judged alone.
        accelerators: what instance types have; the catalog's where none is given.
    """
    table = load_accelerators() if accelerators is None else accelerators
    config_maps = read_config_maps(resources)
    workloads = (as_workload(resource, config_maps) for resource in resources)
    return StackView(
        workloads=tuple(workload for workload in workloads if workload),
        pools=read_pools(resources, table),
        charts=read_charts(resources),
        launch_templates=tuple(r for r in resources if r.type == LAUNCH_TEMPLATE),
        resources=tuple(resources),
        accelerators=table,
    )
