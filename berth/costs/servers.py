"""What each model server costs, by the token too, and what its pools burn for nobody."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from berth.config.stack import ReservedCapacity
from berth.costs.estimate import CostLine, Idle, OneOff, ServerCost, sum_usd
from berth.costs.kinds import GPU_NODES, HYBRID_FEE
from berth.planner.plan import Plan, PoolPlan, ServerPlan

TOKENS_PER_PRICE = Decimal(1_000_000)
SECONDS_PER_HOUR = Decimal(3600)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The requests to one model server, all replicas together."""

    requests_per_s: Decimal
    full_requests_per_s: Decimal
    """What the replicas can answer."""
    input_tokens: Decimal
    """Mean per request; so is the next."""
    output_tokens: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerUse:
    """The GPUs that one model server asks for."""

    name: str
    tier: str
    model: str
    gpus: int
    """Of all replicas."""
    traffic: Traffic | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUse:
    """The GPUs of one pool as planned."""

    tier: str
    gpus_per_node: int
    planned_nodes: int
    paid_nodes: int
    """More than are planned where a reservation is paid whether it is used or not."""
    gpus_requested: int


def plan_uses(plan: Plan) -> tuple[list[ServerUse], list[PoolUse]]:
    """The servers and pools of a plan."""
    servers = [_server_use(server) for server in plan.servers.values()]
    return servers, [_pool_use(pool) for pool in plan.pools.values()]


def _server_use(server: ServerPlan) -> ServerUse:
    traffic = None
    if server.speed is not None and server.load is not None:
        traffic = Traffic(
            requests_per_s=Decimal(str(server.speed.requests_per_s)),
            full_requests_per_s=Decimal(str(server.speed.capacity_requests_per_s)),
            input_tokens=Decimal(server.load.input_tokens),
            output_tokens=Decimal(server.load.output_tokens),
        )
    return ServerUse(
        name=server.name,
        tier=server.tier,
        model=server.model,
        gpus=server.replicas * server.gpus_per_replica,
        traffic=traffic,
    )


def _pool_use(pool: PoolPlan) -> PoolUse:
    reserved = pool.capacity.instance_count if isinstance(pool.capacity, ReservedCapacity) else 0
    return PoolUse(
        tier=pool.tier,
        gpus_per_node=pool.gpus_per_node,
        planned_nodes=pool.planned_nodes,
        paid_nodes=max(reserved, pool.planned_nodes),
        gpus_requested=pool.gpus_requested,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _GpuPrice:
    usd_per_hour: Decimal
    is_paid_once: bool


def server_costs(
    servers: Sequence[ServerUse],
    pools: Sequence[PoolUse],
    lines: Sequence[CostLine],
    one_off: Sequence[OneOff],
) -> tuple[list[ServerCost], list[Idle]]:
    """The share of its nodes that each server pays, and what is paid for GPUs that nobody uses."""
    by_tier = {pool.tier: pool for pool in pools}
    of_nodes: dict[str, list[CostLine]] = defaultdict(list)
    for line in lines:
        if line.tier is not None and line.name in (GPU_NODES, HYBRID_FEE):
            of_nodes[line.tier].append(line)
    fees = {fee.tier: fee for fee in reversed(one_off) if fee.tier and fee.instance_hours}
    prices = {
        pool.tier: price
        for pool in pools
        if (price := _gpu_price(pool, of_nodes[pool.tier], fees.get(pool.tier))) is not None
    }
    return (
        [_server_cost(server, by_tier.get(server.tier), prices) for server in servers],
        [each for pool in pools for each in _idle(pool, prices)],
    )


def _gpu_price(pool: PoolUse, lines: Sequence[CostLine], fee: OneOff | None) -> _GpuPrice | None:
    """What one GPU of the pool costs by the hour; None where its nodes have no price.

    Args:
        pool: the pool.
        lines: of its nodes, and the fee of hybrid hosts.
        fee: of its Capacity Block.
    """
    if fee is not None and fee.instance_hours:
        usd = fee.usd / fee.instance_hours / pool.gpus_per_node
        return _GpuPrice(usd_per_hour=usd, is_paid_once=True)
    paid_gpus = pool.paid_nodes * pool.gpus_per_node
    if not paid_gpus or not any(line.name == GPU_NODES for line in lines):
        return None
    hourly = sum_usd(line.plan_usd_per_hour for line in lines)
    return _GpuPrice(usd_per_hour=hourly / paid_gpus, is_paid_once=False)


def _server_cost(
    server: ServerUse, pool: PoolUse | None, prices: Mapping[str, _GpuPrice]
) -> ServerCost:
    price = prices.get(server.tier)
    gpus_of_nodes = pool.planned_nodes * pool.gpus_per_node if pool is not None else 0
    usd = None if price is None else price.usd_per_hour * server.gpus
    traffic = server.traffic
    planned = full = share = asked = answered = None
    if traffic is not None:
        planned, full = traffic.requests_per_s, traffic.full_requests_per_s
        asked, answered = traffic.input_tokens, traffic.output_tokens
        share = planned / full if full else None
    return ServerCost(
        name=server.name,
        tier=server.tier,
        model=server.model,
        gpus=server.gpus,
        node_share=Decimal(server.gpus) / gpus_of_nodes if gpus_of_nodes else Decimal(0),
        usd_per_hour=usd,
        is_paid_once=price is not None and price.is_paid_once,
        usd_per_1m_output_tokens=_per_1m(usd, planned, answered),
        usd_per_1m_input_tokens=_per_1m(usd, planned, asked),
        at_full_load=_per_1m(usd, full, answered),
        input_at_full_load=_per_1m(usd, full, asked),
        utilization=share,
    )


def _per_1m(
    usd_per_hour: Decimal | None, requests_per_s: Decimal | None, tokens: Decimal | None
) -> Decimal | None:
    """USD per million tokens; None where money or tokens are not known."""
    if usd_per_hour is None or not requests_per_s or not tokens:
        return None
    return usd_per_hour * TOKENS_PER_PRICE / (requests_per_s * tokens * SECONDS_PER_HOUR)


def _idle(pool: PoolUse, prices: Mapping[str, _GpuPrice]) -> Iterator[Idle]:
    price = prices.get(pool.tier)
    hourly = Decimal(0) if price is None or price.is_paid_once else price.usd_per_hour
    spare = pool.planned_nodes * pool.gpus_per_node - pool.gpus_requested
    unused = (pool.paid_nodes - pool.planned_nodes) * pool.gpus_per_node
    for gpus, reason in ((spare, "asked for by no pod"), (unused, "of the reservation, unused")):
        if gpus > 0:
            yield Idle(tier=pool.tier, reason=reason, gpus=gpus, usd_per_hour=hourly * gpus)
