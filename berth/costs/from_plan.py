"""An estimate from a plan: every line at the fewest, the planned and the most nodes."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

from berth.catalog.load import Catalog
from berth.catalog.price import Price, PurchaseOption, UnknownPriceError
from berth.config.stack import CapacityBlock, NewCluster
from berth.costs.estimate import (
    HOURS_PER_MONTH,
    CostLine,
    Estimate,
    OneOff,
    PriceSource,
    Unpriced,
)
from berth.planner.plan import Plan, PoolPlan

Found = CostLine | OneOff | Unpriced


def estimate(plan: Plan, catalog: Catalog) -> Estimate:
    """What `plan` costs at the prices of its day, in its own region.

    Something without a price there is in `unpriced`, never counted as zero or at another region's
    price. What depends on use alone, such as traffic, is not in the estimate.
    """
    found: list[Found] = []
    for pool in plan.pools.values():
        found.extend(_pool(pool, plan, catalog))
    found.extend(_around(plan, catalog))
    return Estimate(
        lines=[each for each in found if isinstance(each, CostLine)],
        one_off=[each for each in found if isinstance(each, OneOff)],
        unpriced=[each for each in found if isinstance(each, Unpriced)],
    )


def _pool(pool: PoolPlan, plan: Plan, catalog: Catalog) -> Iterator[Found]:
    match pool.capacity:
        case None:
            yield _owned_nodes(pool, plan)
        case CapacityBlock() as block:
            yield from _block_nodes(pool, block, plan, catalog)
        case _:
            yield _line(
                catalog,
                plan,
                item=pool.instance_type or "",
                name="GPU nodes",
                detail=f"{pool.instance_type}, on demand",
                resource=pool.tier,
                unit="node-hour",
                quantities=_nodes(pool),
                tier=pool.tier,
            )
    if pool.root_disk_gib is not None:
        gib = pool.root_disk_gib
        yield _disks(catalog, plan, pool.tier, gib, _nodes(pool), tier=pool.tier)


def _around(plan: Plan, catalog: Catalog) -> Iterator[Found]:
    """What a new cluster costs besides its GPU nodes; nothing for a cluster that exists."""
    if isinstance(plan.cluster, NewCluster):
        yield _line(
            catalog,
            plan,
            item="eks-control-plane",
            name="Control plane",
            detail=f"EKS, Kubernetes {plan.cluster.kubernetes_version}, standard support",
            resource="cluster",
            unit="cluster-hour",
            quantities=(1, 1, 1),
        )
    if plan.system_pool is not None:
        system = plan.system_pool
        nodes = (system.nodes,) * 3
        yield _line(
            catalog,
            plan,
            item=system.instance_type,
            name="System nodes",
            detail=f"{system.instance_type}, on demand",
            resource="system",
            unit="node-hour",
            quantities=nodes,
        )
        yield _disks(catalog, plan, "system", system.root_disk_gib, nodes)
    if plan.network is not None:
        network = plan.network
        yield _line(
            catalog,
            plan,
            item="nat-gateway",
            name="NAT gateways",
            detail="without traffic",
            resource="network",
            unit="gateway-hour",
            quantities=(network.nat_gateways,) * 3,
        )
        endpoints, zones = len(network.interface_endpoints), len(network.zones)
        yield _line(
            catalog,
            plan,
            item="interface-endpoint",
            name="Interface endpoints",
            detail=f"{', '.join(network.interface_endpoints)} in {zones} zones, without traffic",
            resource="network",
            unit="endpoint-hour",
            quantities=(endpoints * zones,) * 3,
        )


def _owned_nodes(pool: PoolPlan, plan: Plan) -> Found:
    usd = plan.usd_per_gpu_hour.get(pool.tier)
    if usd is None:
        key = f"berth:tiers.{pool.tier}.usd_per_gpu_hour"
        return Unpriced(resource=pool.tier, reason=f"{key} is not given")
    floor, planned, ceiling = (Decimal(nodes * pool.gpus_per_node) for nodes in _nodes(pool))
    return CostLine(
        name="GPU nodes",
        detail=f"{pool.gpu}, existing nodes of {pool.gpus_per_node} GPUs",
        resource=pool.tier,
        tier=pool.tier,
        unit="GPU-hour",
        usd_per_unit=usd,
        floor_quantity=floor,
        plan_quantity=planned,
        ceiling_quantity=ceiling,
        price=PriceSource(source="the stack's own usd_per_gpu_hour", date=plan.as_of),
    )


def _block_nodes(
    pool: PoolPlan, block: CapacityBlock, plan: Plan, catalog: Catalog
) -> Iterator[Found]:
    """A line that adds nothing to any hour, and the fee that was paid once."""
    instance_type = pool.instance_type or ""
    seconds = (block.ends_at - block.starts_at) // timedelta(seconds=1)
    hours = Decimal(seconds) / 3600
    if block.fee_usd is not None:
        fee_usd, price = block.fee_usd, None
        source = PriceSource(source="the stack's own fee_usd", date=plan.as_of)
    else:
        reading = _price(catalog, plan, instance_type, "capacity_block")
        if isinstance(reading, UnknownPriceError):
            fee_key = f"berth:tiers.{pool.tier}.capacity.fee_usd"
            yield Unpriced(resource=pool.tier, reason=f"{reading}; {fee_key} is not given")
            return
        fee_usd = reading.usd * hours * block.instance_count
        source = price = _source(reading)
    yield CostLine(
        name="GPU nodes",
        detail=f"{instance_type}, Capacity Block {block.reservation_id}, paid once",
        resource=pool.tier,
        tier=pool.tier,
        unit="node-hour",
        usd_per_unit=Decimal(0),
        floor_quantity=Decimal(pool.min_nodes),
        plan_quantity=Decimal(pool.planned_nodes),
        ceiling_quantity=Decimal(pool.max_nodes),
        price=source,
    )
    yield OneOff(
        name=f"Capacity Block {block.reservation_id} of tier {pool.tier}, "
        f"{block.instance_count} x {instance_type} for {hours.normalize():f} hours",
        usd=fee_usd.quantize(Decimal("0.01")),
        starts_at=block.starts_at,
        ends_at=block.ends_at,
        refundable=False,
        price=price,
    )


def _disks(
    catalog: Catalog,
    plan: Plan,
    resource: str,
    gib: int,
    nodes: tuple[int, int, int],
    tier: str | None = None,
) -> Found:
    return _line(
        catalog,
        plan,
        item="gp3",
        name="Root disks",
        detail=f"gp3, {gib} GiB per node",
        resource=resource,
        unit="GB-month",
        quantities=(gib * nodes[0], gib * nodes[1], gib * nodes[2]),
        tier=tier,
        hours_per_unit=HOURS_PER_MONTH,
    )


def _line(
    catalog: Catalog,
    plan: Plan,
    *,
    item: str,
    name: str,
    detail: str,
    resource: str,
    unit: str,
    quantities: tuple[int, int, int],
    tier: str | None = None,
    hours_per_unit: Decimal = Decimal(1),
) -> Found:
    price = _price(catalog, plan, item, "on_demand")
    if isinstance(price, UnknownPriceError):
        return Unpriced(resource=resource, reason=f"{name}: {price}")
    floor, planned, ceiling = (Decimal(quantity) for quantity in quantities)
    return CostLine(
        name=name,
        detail=detail,
        resource=resource,
        tier=tier,
        unit=unit,
        usd_per_unit=price.usd,
        hours_per_unit=hours_per_unit,
        floor_quantity=floor,
        plan_quantity=planned,
        ceiling_quantity=ceiling,
        price=_source(price),
    )


def _price(
    catalog: Catalog, plan: Plan, item: str, option: PurchaseOption
) -> Price | UnknownPriceError:
    try:
        return catalog.prices.on(item, plan.region or "", option, plan.as_of)
    except UnknownPriceError as error:
        return error


def _source(price: Price) -> PriceSource:
    where = price.source.cite or str(price.source.url)
    return PriceSource(source=where, date=price.from_date)


def _nodes(pool: PoolPlan) -> tuple[int, int, int]:
    return pool.min_nodes, pool.planned_nodes, pool.max_nodes
