"""An estimate from a plan: every line at the fewest, the planned and the most nodes."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from berth.catalog.load import Catalog
from berth.catalog.price import Price, PurchaseOption, UnknownPriceError
from berth.config.stack import (
    CapacityBlock,
    NewCluster,
    OnDemandCapacity,
    ReservedCapacity,
    SpotCapacity,
)
from berth.costs.estimate import (
    HOURS_PER_MONTH,
    CostLine,
    Estimate,
    OneOff,
    PriceSource,
    Unpriced,
)
from berth.planner.plan import NetworkPlan, Plan, PoolPlan, SystemPool

Found = CostLine | OneOff | Unpriced
Quantities = tuple[int, int, int]
"""At floor, plan and ceiling."""

GPU_NODES = "GPU nodes"
"""Name of the line that prices the nodes of a tier themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bought:
    """Something that has an on-demand price."""

    item: str
    """As the price book calls it."""
    name: str
    detail: str
    resource: str
    unit: str
    quantities: Quantities
    tier: str | None = None
    hours_per_unit: Decimal = Decimal(1)


def estimate(plan: Plan, catalog: Catalog) -> Estimate:
    """What `plan` costs at the prices of its day, in its own region.

    Something without a price there is in `unpriced`, never counted as zero or at another region's
    price. What depends on use alone, such as traffic, is not in the estimate.
    """
    found: list[Found] = []
    for pool in plan.pools.values():
        if pool.capacity is None:
            found.append(_owned_nodes(pool, plan))
        if isinstance(pool.capacity, SpotCapacity):
            reason = f"the spot price of {pool.instance_type} moves, and no reading is kept"
            found.append(Unpriced(resource=pool.tier, reason=reason))
        if isinstance(pool.capacity, CapacityBlock):
            found.extend(_block_nodes(pool, pool.capacity, plan, catalog))
        found.extend(_priced(bought, plan, catalog) for bought in _pool(pool))
    found.extend(_priced(bought, plan, catalog) for bought in _around(plan))
    return Estimate(
        lines=[each for each in found if isinstance(each, CostLine)],
        one_off=[each for each in found if isinstance(each, OneOff)],
        unpriced=[each for each in found if isinstance(each, Unpriced)],
    )


def _around(plan: Plan) -> Iterator[_Bought]:
    """What a new cluster takes besides its pools; nothing for a cluster that exists."""
    if isinstance(plan.cluster, NewCluster):
        version = plan.cluster.kubernetes_version
        yield _Bought(
            item="eks-control-plane",
            name="Control plane",
            detail=f"EKS, Kubernetes {version}, standard support",
            resource="cluster",
            unit="cluster-hour",
            quantities=(1, 1, 1),
        )
        yield _Bought(
            item="kms-key",
            name="KMS key",
            detail="secrets of the cluster, without requests",
            resource="cluster",
            unit="key-month",
            hours_per_unit=HOURS_PER_MONTH,
            quantities=(1, 1, 1),
        )
    if plan.system_pool is not None:
        yield from _system_nodes(plan.system_pool)
    if plan.network is not None:
        yield from _network(plan.network)


def _pool(pool: PoolPlan) -> Iterator[_Bought]:
    """Nodes at list price, and the disks of every node that the stack makes."""
    nodes = (pool.min_nodes, pool.planned_nodes, pool.max_nodes)
    if isinstance(pool.capacity, OnDemandCapacity) and pool.instance_type is not None:
        yield _Bought(
            item=pool.instance_type,
            name=GPU_NODES,
            detail=f"{pool.instance_type}, on demand",
            resource=pool.tier,
            tier=pool.tier,
            unit="node-hour",
            quantities=nodes,
        )
    if isinstance(pool.capacity, ReservedCapacity) and pool.instance_type is not None:
        yield _reserved_nodes(pool, pool.instance_type, pool.capacity)
    if pool.vcpus_per_node is not None:
        vcpus = tuple(pool.vcpus_per_node * count for count in nodes)
        yield _Bought(
            item="eks-hybrid-vcpu",
            name="Hybrid node fee",
            detail=f"EKS, {pool.vcpus_per_node} vCPUs per host, first price tier",
            resource=pool.tier,
            tier=pool.tier,
            unit="vCPU-hour",
            quantities=(vcpus[0], vcpus[1], vcpus[2]),
        )
    if pool.root_disk_gib is not None:
        yield _disks(pool.tier, pool.root_disk_gib, nodes, tier=pool.tier)


def _reserved_nodes(pool: PoolPlan, instance_type: str, reservation: ReservedCapacity) -> _Bought:
    """All instances of a reservation at list price: it is paid whether they run or not."""
    count = reservation.instance_count
    return _Bought(
        item=instance_type,
        name=GPU_NODES,
        detail=f"{instance_type}, On-Demand Capacity Reservation, used or not",
        resource=pool.tier,
        tier=pool.tier,
        unit="node-hour",
        quantities=(count, count, count),
    )


def _system_nodes(system: SystemPool) -> Iterator[_Bought]:
    nodes = (system.nodes, system.nodes, system.nodes)
    yield _Bought(
        item=system.instance_type,
        name="System nodes",
        detail=f"{system.instance_type}, on demand",
        resource="system",
        unit="node-hour",
        quantities=nodes,
    )
    yield _disks("system", system.root_disk_gib, nodes)


def _disks(resource: str, gib: int, nodes: Quantities, tier: str | None = None) -> _Bought:
    floor, planned, ceiling = nodes
    return _Bought(
        item="gp3",
        name="Root disks",
        detail=f"gp3, {gib} GiB per node",
        resource=resource,
        tier=tier,
        unit="GB-month",
        hours_per_unit=HOURS_PER_MONTH,
        quantities=(gib * floor, gib * planned, gib * ceiling),
    )


def _network(network: NetworkPlan) -> Iterator[_Bought]:
    gateways = network.nat_gateways
    yield _Bought(
        item="nat-gateway",
        name="NAT gateways",
        detail="without traffic",
        resource="network",
        unit="gateway-hour",
        quantities=(gateways, gateways, gateways),
    )
    yield _Bought(
        item="public-ipv4",
        name="Public IPv4 addresses",
        detail="of the NAT gateways",
        resource="network",
        unit="address-hour",
        quantities=(gateways, gateways, gateways),
    )
    names, zones = network.interface_endpoints, len(network.zones)
    endpoints = len(names) * zones
    yield _Bought(
        item="interface-endpoint",
        name="Interface endpoints",
        detail=f"{', '.join(names)} in {zones} zones, without traffic",
        resource="network",
        unit="endpoint-hour",
        quantities=(endpoints, endpoints, endpoints),
    )


def _priced(bought: _Bought, plan: Plan, catalog: Catalog) -> CostLine | Unpriced:
    price = _price(catalog, plan, bought.item, "on_demand")
    if isinstance(price, UnknownPriceError):
        return Unpriced(resource=bought.resource, reason=f"{bought.name}: {price}")
    floor, planned, ceiling = (Decimal(quantity) for quantity in bought.quantities)
    return CostLine(
        name=bought.name,
        detail=bought.detail,
        resource=bought.resource,
        tier=bought.tier,
        unit=bought.unit,
        usd_per_unit=price.usd,
        hours_per_unit=bought.hours_per_unit,
        floor_quantity=floor,
        plan_quantity=planned,
        ceiling_quantity=ceiling,
        price=_source(price),
    )


def _owned_nodes(pool: PoolPlan, plan: Plan) -> CostLine | Unpriced:
    """Nodes of somebody else, at the price that the stack states."""
    usd = plan.usd_per_gpu_hour.get(pool.tier)
    if usd is None:
        key = f"berth:tiers.{pool.tier}.usd_per_gpu_hour"
        return Unpriced(resource=pool.tier, reason=f"{key} is not given")
    return CostLine(
        name=GPU_NODES,
        detail=f"{pool.gpu}, {_whose(pool)} of {pool.gpus_per_node} GPUs",
        resource=pool.tier,
        tier=pool.tier,
        unit="GPU-hour",
        usd_per_unit=usd,
        floor_quantity=Decimal(pool.min_nodes * pool.gpus_per_node),
        plan_quantity=Decimal(pool.planned_nodes * pool.gpus_per_node),
        ceiling_quantity=Decimal(pool.max_nodes * pool.gpus_per_node),
        price=PriceSource(source="the stack's own usd_per_gpu_hour", date=plan.as_of),
    )


def _whose(pool: PoolPlan) -> str:
    return "hosts" if pool.source == "hybrid" else "existing nodes"


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
        name=GPU_NODES,
        detail=f"{instance_type}, {_block_name(block)}, paid once",
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
        name=f"{_block_name(block)} of tier {pool.tier}, "
        f"{block.instance_count} x {instance_type} for {hours.normalize():f} hours",
        usd=fee_usd.quantize(Decimal("0.01")),
        starts_at=block.starts_at,
        ends_at=block.ends_at,
        refundable=False,
        price=price,
    )


def _block_name(block: CapacityBlock) -> str:
    if block.purchase is not None:
        return f"Capacity Block to buy (offering {block.purchase.offering_id})"
    return f"Capacity Block {block.reservation_id}"


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
