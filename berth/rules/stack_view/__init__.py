"""One view of a stack, built once from its resources: workloads, pools and charts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from berth.rules.resource import Resource
from berth.rules.stack_view.chart import Chart, read_charts
from berth.rules.stack_view.instances import Accelerators, load_accelerators
from berth.rules.stack_view.pool import LAUNCH_TEMPLATE, Pool, read_pools
from berth.rules.stack_view.workload import Container, Pod, Workload, as_workload


@dataclass(frozen=True, eq=False)
class StackView:
    """What rules look at."""

    workloads: tuple[Workload, ...]
    pools: tuple[Pool, ...]
    charts: tuple[Chart, ...]
    launch_templates: tuple[Resource, ...]

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


def view_stack(
    resources: Sequence[Resource], accelerators: Accelerators | None = None
) -> StackView:
    """Build the view.

    Args:
        resources: all resources of the stack, or the one to be judged alone.
        accelerators: what instance types have; the catalog's where none is given.
    """
    table = load_accelerators() if accelerators is None else accelerators
    workloads = (as_workload(resource) for resource in resources)
    return StackView(
        workloads=tuple(workload for workload in workloads if workload),
        pools=read_pools(resources, table),
        charts=read_charts(resources),
        launch_templates=tuple(r for r in resources if r.type == LAUNCH_TEMPLATE),
    )
