"""On-Demand Capacity Reservations and the pools that use them: the same money, counted once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from berth.costs.resources.node_pool import NodePool
from berth.costs.resources.resource import Declared
from berth.costs.resources.values import NotShownError, count, text

RESERVATION: Final = "aws:ec2/capacityReservation:CapacityReservation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Instances that are paid whether they run or not."""

    name: str
    urn: str
    id: str
    instance_type: str
    instances: int

    def is_target_of(self, pool: NodePool) -> bool:
        """Whether the instances of `pool` are its own."""
        return self.urn in pool.reservation_links or (bool(self.id) and pool.reservation == self.id)


def read_reservation(resource: Declared) -> Reservation:
    """The reservation that `resource` declares.

    Raises:
        NotShownError: if its type or its size is not in the document.
    """
    instances = count(resource.inputs, "instanceCount")
    instance_type = text(resource.inputs, "instanceType")
    if instances is None or instance_type is None:
        raise NotShownError("its instance type or count is not in the document")
    return Reservation(
        name=resource.name,
        urn=resource.urn,
        id=resource.id,
        instance_type=instance_type,
        instances=instances,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """A reservation with the pools that use it."""

    reservation: Reservation
    pools: Sequence[NodePool]

    @property
    def name(self) -> str:
        """Of its only pool, so that both are one tier; else its own."""
        return self.pools[0].name if len(self.pools) == 1 else self.reservation.name

    @property
    def used(self) -> int:
        """Instances that run as planned."""
        return min(self.reservation.instances, sum(pool.nodes[1] for pool in self.pools))


def divide(
    pools: Iterable[NodePool], reservations: Sequence[Reservation]
) -> tuple[list[NodePool], list[Reserved]]:
    """The pools with the instances that no reservation pays, and the reservations.

    A pool that targets a reservation of the stack has instances of its own above its size alone.
    """
    users: Mapping[str, list[NodePool]] = {each.urn: [] for each in reservations}
    left: list[NodePool] = []
    for pool in pools:
        target = next((each for each in reservations if each.is_target_of(pool)), None)
        if target is None:
            left.append(pool)
            continue
        free = target.instances - sum(each.nodes[1] for each in users[target.urn])
        users[target.urn].append(pool)
        floor, planned, ceiling = (max(0, nodes - max(0, free)) for nodes in pool.nodes)
        left.append(replace(pool, paid_nodes=(floor, planned, ceiling)))
    return left, [Reserved(reservation=each, pools=users[each.urn]) for each in reservations]
