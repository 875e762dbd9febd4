"""The lines of a pool of instances: the instances themselves and their disks."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from berth.catalog.load import Catalog
from berth.config.capacity import OnDemandCapacity, SpotCapacity
from berth.costs import kinds
from berth.costs.bought import PriceList, Quantities, priced
from berth.costs.estimate import CostLine, OneOff, PriceSource, Unpriced
from berth.costs.from_plan import pool_nodes
from berth.costs.resources.node_pool import Disk, NodePool
from berth.costs.resources.reservations import Reserved
from berth.costs.spot import spot_nodes
from berth.planner.plan import Plan, PoolPlan

Found = CostLine | OneOff | Unpriced


def node_lines(
    pool: NodePool, plan: Plan | None, catalog: Catalog, prices: PriceList
) -> Iterator[Found]:
    """What `pool` costs.

    Where the stack's own settings say how a tier is bought, they win over its resources: neither
    the fee of a block nor the size of a reservation that exists is to be seen in those.
    """
    settled = _settled(pool, plan)
    tier = pool.name if _has_gpus(pool, catalog) else None
    pool = _as_planned(pool, plan)
    if plan is not None and settled is not None:
        yield from pool_nodes(settled, plan, prices)
    else:
        yield from _instances(pool, tier, prices)
    for disk in pool.disks:
        yield from _disk(pool, disk, pool.nodes, tier, prices)
    if pool.has_unknown_disk:
        reason = f"{kinds.ROOT_DISKS}: as large as the image says, which the document does not show"
        yield Unpriced(resource=pool.name, reason=reason)


def _as_planned(pool: NodePool, plan: Plan | None) -> NodePool:
    """With the nodes of the plan: what an autoscaler made of them since is no decision."""
    found = plan.pools.get(pool.name) if plan is not None else None
    if found is None:
        return pool
    return replace(pool, nodes=(found.min_nodes, found.planned_nodes, found.max_nodes))


def _settled(pool: NodePool, plan: Plan | None) -> PoolPlan | None:
    """How the stack's settings say that the pool is bought, where its resources cannot."""
    found = plan.pools.get(pool.name) if plan is not None else None
    if found is None or isinstance(found.capacity, OnDemandCapacity | SpotCapacity):
        return None
    return found


def _has_gpus(pool: NodePool, catalog: Catalog) -> bool:
    return gpus_of(pool.instance_types[0], catalog) > 0


def _instances(pool: NodePool, tier: str | None, prices: PriceList) -> Iterator[Found]:
    instance_type = pool.instance_types[0]
    name = kinds.GPU_NODES if tier else kinds.SYSTEM_NODES if pool.is_system else kinds.NODES
    if pool.option == "spot":
        yield from spot_nodes(
            pool.instance_types, pool.name, pool.nodes, prices, name=name, tier=tier
        )
    elif pool.option == "block":
        yield from _block(pool, tier, name, prices)
    else:
        nodes = pool.nodes if pool.paid_nodes is None else pool.paid_nodes
        if any(nodes) or pool.paid_nodes is None:
            bought = kinds.on_demand_nodes(instance_type, pool.name, nodes, name=name, tier=tier)
            yield priced(bought, prices)


def reserved_lines(reserved: Reserved, catalog: Catalog, prices: PriceList) -> CostLine | Unpriced:
    """All instances of a reservation, used or not."""
    found = reserved.reservation
    tier = reserved.name if gpus_of(found.instance_type, catalog) else None
    bought = kinds.reserved_nodes(found.instance_type, reserved.name, found.instances, tier=tier)
    return priced(bought if tier else replace(bought, name=kinds.NODES), prices)


def gpus_of(instance_type: str, catalog: Catalog) -> int:
    """GPUs of one node; 0 of a type that the catalog does not have."""
    found = catalog.instances.get(instance_type)
    return 0 if found is None else found.gpu_count


def _block(
    pool: NodePool, tier: str | None, name: str, prices: PriceList
) -> Iterator[CostLine | Unpriced]:
    floor, planned, ceiling = (Decimal(each) for each in pool.nodes)
    block = f"Capacity Block {pool.reservation}"
    yield CostLine(
        name=name,
        detail=f"{pool.instance_types[0]}, {block}, paid once",
        resource=pool.name,
        tier=tier,
        unit="node-hour",
        usd_per_unit=Decimal(0),
        floor_quantity=floor,
        plan_quantity=planned,
        ceiling_quantity=ceiling,
        price=PriceSource(source="paid in advance, in no month", date=prices.day),
        item=pool.instance_types[0],
        region=prices.region,
        capacity_type="CAPACITY_BLOCK",
    )
    reason = f"the fee of {block}, paid once, is not in the stack"
    yield Unpriced(resource=pool.name, reason=reason)


def _disk(
    pool: NodePool, disk: Disk, nodes: Quantities, tier: str | None, prices: PriceList
) -> Iterator[Found]:
    """The volume by its size; what is bought besides has no price in the book."""
    if disk.kind != "gp3":
        reason = f"{kinds.ROOT_DISKS}: no price of {disk.kind} is kept"
        yield Unpriced(resource=pool.name, reason=reason)
        return
    yield priced(kinds.root_disks(pool.name, disk.gib, nodes, tier=tier), prices)
    extras = kinds.disk_extras(
        pool.name, nodes, iops=disk.iops, mib_per_s=disk.throughput_mib_per_s, tier=tier
    )
    yield from (priced(each, prices) for each in extras)
