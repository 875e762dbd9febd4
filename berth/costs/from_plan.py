"""An estimate from a plan: every line at the fewest, the planned and the most nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from berth.catalog.gpu_cloud import readings_of
from berth.catalog.load import Catalog
from berth.config.stack import (
    CapacityBlock,
    NewCluster,
    OnDemandCapacity,
    ReservedCapacity,
    SpotCapacity,
)
from berth.costs import kinds
from berth.costs.bought import Bought, PriceList, UnknownPriceError, price_source, priced
from berth.costs.cold_start import cold_starts
from berth.costs.estimate import CostLine, Estimate, OneOff, PriceSource, Unpriced
from berth.costs.kinds import GPU_NODES
from berth.costs.money import exact
from berth.costs.servers import PoolUse, ServerUse, plan_uses, server_costs
from berth.costs.spot import spot_nodes
from berth.planner.own_prices import own_book
from berth.planner.plan import NetworkPlan, Plan, PoolPlan, SystemPool

Found = CostLine | OneOff | Unpriced


def estimate(plan: Plan, catalog: Catalog) -> Estimate:
    """What `plan` costs at the prices of its day, in its own region.

    Something without a price there is in `unpriced`, never counted as zero or at another region's
    price. What depends on use alone, such as traffic, is not in the estimate.
    """
    book = own_book(catalog.prices, plan.prices, plan.region, plan.as_of)
    prices = PriceList(book=book, region=plan.region, day=plan.as_of)
    found: list[Found] = []
    for pool in plan.pools.values():
        found.extend(pool_nodes(pool, plan, prices))
        if pool.root_disk_gib is not None:
            nodes = (pool.min_nodes, pool.planned_nodes, pool.max_nodes)
            disks = kinds.root_disks(pool.tier, pool.root_disk_gib, nodes, tier=pool.tier)
            faster = kinds.disk_extras(
                pool.tier, nodes, mib_per_s=pool.root_disk_throughput_mib_per_s, tier=pool.tier
            )
            found.extend(priced(each, prices) for each in (disks, *faster))
    found.extend(priced(bought, prices) for bought in _around(plan, catalog))
    return estimate_of_plan(found, plan, catalog, prices)


def estimate_of_plan(
    found: Sequence[Found], plan: Plan, catalog: Catalog, prices: PriceList
) -> Estimate:
    """The parts by kind, with what the servers of `plan` cost and what it takes to start them."""
    whole = estimate_of(found, *plan_uses(plan))
    starts = cold_starts(plan, whole.servers, catalog, prices)
    limit = plan.budget.usd_per_1m_output_tokens if plan.budget is not None else None
    return replace(whole, cold_starts=starts, break_even_usd=limit or whole.break_even_usd)


def estimate_of(
    found: Sequence[Found], servers_used: Sequence[ServerUse], pools: Sequence[PoolUse]
) -> Estimate:
    """The parts by kind, and what each model server costs by them."""
    lines = [each for each in found if isinstance(each, CostLine)]
    one_off = [each for each in found if isinstance(each, OneOff)]
    servers, idle = server_costs(servers_used, pools, lines, one_off)
    return Estimate(
        lines=lines,
        one_off=one_off,
        unpriced=[each for each in found if isinstance(each, Unpriced)],
        servers=servers,
        idle=idle,
    )


def pool_nodes(pool: PoolPlan, plan: Plan, prices: PriceList) -> Iterator[Found]:
    """The nodes of one pool, however they are had, and the fee of hybrid hosts."""
    nodes = (pool.min_nodes, pool.planned_nodes, pool.max_nodes)
    instance_type = pool.instance_type or ""
    match pool.capacity:
        case None:
            yield _owned_nodes(pool, plan)
        case SpotCapacity():
            types = (instance_type, *pool.spot_types)
            yield from spot_nodes(types, pool.tier, nodes, prices, tier=pool.tier)
        case CapacityBlock() as block:
            yield from _block_nodes(pool, block, plan, prices)
        case OnDemandCapacity():
            bought = kinds.on_demand_nodes(instance_type, pool.tier, nodes, tier=pool.tier)
            yield priced(bought, prices)
        case ReservedCapacity() as reservation:
            count = reservation.instance_count
            bought = kinds.reserved_nodes(instance_type, pool.tier, count, tier=pool.tier)
            yield priced(bought, prices)
    if pool.vcpus_per_node is not None:
        yield priced(kinds.hybrid_fee(pool.vcpus_per_node, pool.tier, nodes), prices)


def _around(plan: Plan, catalog: Catalog) -> Iterator[Bought]:
    """What a new cluster takes besides its pools; nothing for a cluster that exists."""
    if isinstance(plan.cluster, NewCluster):
        version = plan.cluster.kubernetes_version
        extended = catalog.software.kubernetes.is_extended(version, plan.as_of)
        yield kinds.control_planes(version, extended=extended)
        yield kinds.kms_keys(kinds.CLUSTER_KEY, "cluster")
    if plan.system_pool is not None:
        yield from _system_nodes(plan.system_pool)
    if plan.network is not None:
        yield from _network(plan.network)


def _system_nodes(system: SystemPool) -> Iterator[Bought]:
    nodes = (system.nodes, system.nodes, system.nodes)
    yield kinds.on_demand_nodes(system.instance_type, "system", nodes, name=kinds.SYSTEM_NODES)
    yield kinds.root_disks("system", system.root_disk_gib, nodes)


def _network(network: NetworkPlan) -> Iterator[Bought]:
    yield kinds.nat_gateways(network.nat_gateways)
    yield kinds.public_addresses(network.nat_gateways)
    yield kinds.interface_endpoints(network.interface_endpoints, len(network.zones))


def _owned_nodes(pool: PoolPlan, plan: Plan) -> CostLine | Unpriced:
    """Nodes of somebody else, at the price that the stack states."""
    usd = plan.usd_per_gpu_hour.get(pool.tier)
    if usd is None:
        key = f"berth:tiers.{pool.tier}.usd_per_gpu_hour"
        reason = f"{key} is not given{_asked_elsewhere(pool, plan)}"
        return Unpriced(resource=pool.tier, reason=reason)
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
        item=pool.gpu,
        capacity_type="OWN",
    )


def _asked_elsewhere(pool: PoolPlan, plan: Plan) -> str:
    """Between what clouds ask for such a GPU, which is no price of this stack."""
    found = readings_of(pool.gpu, plan.as_of)
    if not found:
        return ""
    low, high = found[0], found[-1]
    return (
        f"; clouds ask {exact(low.usd_per_gpu_hour)} ({low.cloud}, {low.from_date}) to "
        f"{exact(high.usd_per_gpu_hour)} ({high.cloud}, {high.from_date})"
    )


def _whose(pool: PoolPlan) -> str:
    return "hosts" if pool.source == "hybrid" else "existing nodes"


def _block_nodes(
    pool: PoolPlan, block: CapacityBlock, plan: Plan, prices: PriceList
) -> Iterator[Found]:
    """A line that adds nothing to any hour, and the fee that was paid once."""
    instance_type = pool.instance_type or ""
    seconds = (block.ends_at - block.starts_at) // timedelta(seconds=1)
    hours = Decimal(seconds) / 3600
    if block.fee_usd is not None:
        fee_usd, price = block.fee_usd, None
        source = PriceSource(source="the stack's own fee_usd", date=plan.as_of)
    else:
        try:
            reading = prices.find(instance_type, "capacity_block")
        except UnknownPriceError as error:
            fee_key = f"berth:tiers.{pool.tier}.capacity.fee_usd"
            yield Unpriced(resource=pool.tier, reason=f"{error}; {fee_key} is not given")
            return
        fee_usd = reading.usd * hours * block.instance_count
        source = price = price_source(reading)
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
        item=instance_type,
        region=prices.region,
        capacity_type="CAPACITY_BLOCK",
    )
    yield OneOff(
        name=f"{_block_name(block)} of tier {pool.tier}, "
        f"{block.instance_count} x {instance_type} for {hours.normalize():f} hours",
        usd=fee_usd.quantize(Decimal("0.01")),
        starts_at=block.starts_at,
        ends_at=block.ends_at,
        refundable=False,
        price=price,
        tier=pool.tier,
        instance_hours=hours * block.instance_count,
    )


def _block_name(block: CapacityBlock) -> str:
    if block.purchase is not None:
        return f"Capacity Block to buy (offering {block.purchase.offering_id})"
    return f"Capacity Block {block.reservation_id}"
