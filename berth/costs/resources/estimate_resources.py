"""An estimate from the resources of one side of an engine document."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from berth.catalog.load import Catalog
from berth.costs.bought import Bought, PriceList, priced
from berth.costs.estimate import Estimate, Unpriced
from berth.costs.from_plan import Found, estimate_of, estimate_of_plan, pool_nodes
from berth.costs.resources.around import ByType, around
from berth.costs.resources.balancers import cluster_balancers
from berth.costs.resources.blocks import BLOCK_PURCHASE, block_purchase
from berth.costs.resources.documents import Side
from berth.costs.resources.karpenter import is_node_pool, karpenter_nodes
from berth.costs.resources.native import as_classic
from berth.costs.resources.node_lines import gpus_of, node_lines, reserved_lines
from berth.costs.resources.node_pool import POOL_TYPES, NodePool, read_pool, templates_of
from berth.costs.resources.others import others
from berth.costs.resources.reservations import (
    RESERVATION,
    Reserved,
    divide,
    read_reservation,
)
from berth.costs.resources.resource import Declared
from berth.costs.resources.storage import STORAGE_TYPES, storage
from berth.costs.resources.values import ImpossibleValueError, NotShownError
from berth.costs.servers import PoolUse, ServerUse
from berth.planner.plan import Plan

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """What the pods of a stack ask for, where somebody read them."""

    servers: Sequence[ServerUse] = ()
    gpus_by_pool: Mapping[str, int] = field(default_factory=dict)
    """GPUs that pods ask for, by the name of the pool that they run on; a pool that is missing is
    not known."""


def estimate_resources(
    side: Side,
    catalog: Catalog,
    prices: PriceList,
    plan: Plan | None = None,
    pods: Pods | None = None,
) -> Estimate:
    """What the resources of `side` cost.

    Args:
        side: before or after a change.
        catalog: instance types and their GPUs.
        prices: of the stack's region, as of a day.
        plan: of the stack, where its settings are known: they say what no resource shows, such as
            the fee of a block, the price of nodes that exist, and the load of a server.
        pods: what the pods of a stack without a plan ask for.

    Raises:
        ImpossibleValueError: if a count cannot be, such as a negative one; the text names it.
    """
    by_type: dict[str, list[Declared]] = defaultdict(list)
    for resource in side.resources.values():
        shown = as_classic(resource)
        by_type[shown.type].append(shown)
    reader = _Reader()
    pools, reserved = _pools(by_type, reader)
    found: list[Found] = []
    for pool in pools:
        found.extend(node_lines(pool, plan, catalog, prices))
    found.extend(reserved_lines(each, catalog, prices) for each in reserved)
    if plan is not None:
        for each in plan.pools.values():
            if each.capacity is None:
                found.extend(pool_nodes(each, plan, prices))
    for kind in (*by_type,):
        if is_node_pool(kind):
            for resource in by_type[kind]:
                found.extend(reader.all(resource, lambda r: karpenter_nodes(r, catalog, prices)))
    if plan is None:  # else the settings say what a block cost
        found.extend(block_purchase(each, prices) for each in by_type.get(BLOCK_PURCHASE, ()))
    for thing in _things(by_type, catalog, prices, reader):
        found.append(priced(thing, prices) if isinstance(thing, Bought) else thing)
    found.extend(reader.unpriced)
    found.extend(others(by_type, with_settings=plan is not None))
    found.extend(Unpriced(resource=gap.resource, reason=gap.reason) for gap in side.gaps)
    if plan is not None:
        return estimate_of_plan(found, plan, catalog, prices)
    asked = pods or Pods()
    return estimate_of(found, asked.servers, _uses(pools, reserved, asked, catalog))


def _pools(by_type: ByType, reader: "_Reader") -> tuple[list[NodePool], list[Reserved]]:
    templates = templates_of(by_type)
    read = [
        pool
        for kind in sorted(POOL_TYPES)
        for resource in by_type.get(kind, ())
        if (pool := reader.one(resource, lambda r: read_pool(r, templates))) is not None
    ]
    reservations = [
        found
        for resource in by_type.get(RESERVATION, ())
        if (found := reader.one(resource, read_reservation)) is not None
    ]
    return divide(read, reservations)


def _things(
    by_type: ByType, catalog: Catalog, prices: PriceList, reader: "_Reader"
) -> Iterator[Bought | Unpriced]:
    yield from around(by_type, catalog.software.kubernetes, prices.day)
    yield from cluster_balancers(by_type)
    for kind in sorted(STORAGE_TYPES):
        for resource in by_type.get(kind, ()):
            yield from reader.all(resource, storage)


def _uses(
    pools: Iterable[NodePool], reserved: Iterable[Reserved], pods: Pods, catalog: Catalog
) -> list[PoolUse]:
    """The GPUs of each pool whose pods are known, and those of reservations that nobody uses."""
    paid = {each.name: each.reservation.instances for each in reserved}
    used: dict[str, PoolUse] = {}
    for pool in pools:
        gpus = gpus_of(pool.instance_types[0], catalog)
        planned = pool.nodes[1]
        asked = pods.gpus_by_pool.get(pool.name)
        if gpus and (asked is not None or pool.name in paid):
            used[pool.name] = PoolUse(
                tier=pool.name,
                gpus_per_node=gpus,
                planned_nodes=planned,
                paid_nodes=max(paid.get(pool.name, 0), planned),
                gpus_requested=planned * gpus if asked is None else asked,
            )
    for each in reserved:
        gpus = gpus_of(each.reservation.instance_type, catalog)
        if gpus and each.name not in used:
            used[each.name] = PoolUse(
                tier=each.name,
                gpus_per_node=gpus,
                planned_nodes=each.used,
                paid_nodes=each.reservation.instances,
                gpus_requested=each.used * gpus,
            )
    return list(used.values())


class _Reader:
    """Reads resources one by one and keeps a line for each that the document does not show."""

    def __init__(self) -> None:
        self.unpriced: list[Unpriced] = []

    def one(self, resource: Declared, read: Callable[[Declared], T]) -> T | None:
        """What `read` makes of it; None where something is not shown.

        Raises:
            ImpossibleValueError: if a count cannot be.
        """
        try:
            return read(resource)
        except ImpossibleValueError as error:
            raise ImpossibleValueError(f"{resource.name} ({resource.type}): {error}") from None
        except NotShownError as error:
            self.unpriced.append(Unpriced(resource=resource.name, reason=str(error)))
            return None

    def all(self, resource: Declared, read: Callable[[Declared], Iterator[T]]) -> list[T]:
        """Everything that `read` makes of it; nothing where something is not shown.

        Raises:
            ImpossibleValueError: if a count cannot be.
        """
        return self.one(resource, lambda each: list(read(each))) or []
