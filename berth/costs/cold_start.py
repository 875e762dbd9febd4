"""What it takes to bring up all replicas of a server at once: seconds, and what is paid."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import ceil

from berth.catalog.load import Catalog
from berth.catalog.price import UnknownPriceError
from berth.catalog.weight_path import WeightPath, load_weight_paths
from berth.costs.bought import PriceList
from berth.costs.estimate import ColdStart, ServerCost
from berth.planner.plan import Plan, PoolPlan, ServerPlan
from berth.planner.startup import plan_startup

BYTES_PER_GB = Decimal(1_000_000_000)
SECONDS_PER_HOUR = Decimal(3600)
ZONE_DIRECTIONS = 2
"""A GB that passes between zones is billed where it leaves and where it arrives."""


def cold_starts(
    plan: Plan, servers: Sequence[ServerCost], catalog: Catalog, prices: PriceList
) -> list[ColdStart]:
    """Every server of a plan by every way that its nodes have, in the order of the catalog.

    Each replica reads all its weights; those of one node share what the node can take, all of them
    what the way can. The node itself, which takes minutes to join, and pods that wait for one are
    not in it.
    """
    gpu_usd = {each.name: each.usd_per_hour for each in servers}
    return [
        start
        for server in plan.servers.values()
        if server.replicas and server.tier in plan.pools
        for start in _of_server(server, plan, gpu_usd, catalog, prices)
    ]


def _of_server(
    server: ServerPlan,
    plan: Plan,
    gpu_usd: Mapping[str, Decimal | None],
    catalog: Catalog,
    prices: PriceList,
) -> Iterator[ColdStart]:
    pool = plan.pools[server.tier]
    instance = catalog.instances.get(pool.instance_type or "")
    per_node = max(1, min(server.replicas, pool.gpus_per_node // server.gpus_per_replica))
    for name, path in load_weight_paths().items():
        if path.needs_local_nvme and (instance is None or not instance.local_nvme_gb):
            continue
        if path.traffic and pool.capacity is None:
            continue  # nodes outside the stack's network have no NAT gateway of it
        fast, slow = (
            _seconds(server, per_node, rate, path.shared_gb_per_s)
            for rate in (path.gb_per_s_fast, path.gb_per_s_slow)
        )
        hourly = gpu_usd.get(server.name)
        yield ColdStart(
            server=server.name,
            path=name,
            words=path.words,
            seconds=fast,
            seconds_at_most=slow,
            gpu_usd=None if hourly is None else hourly * slow / SECONDS_PER_HOUR,
            traffic_usd=_traffic_usd(path, server, _may_cross(path, plan, pool), prices),
        )


def _seconds(
    server: ServerPlan, per_node: int, node_gb_per_s: float, shared_gb_per_s: float | None
) -> int:
    """Image, weights, compiling and graphs of the slowest replica."""
    rate = node_gb_per_s / per_node
    if shared_gb_per_s is not None:
        rate = min(rate, shared_gb_per_s / server.replicas)
    startup = plan_startup(server.weights_bytes, rate * float(BYTES_PER_GB))
    return ceil(startup.total_s)


def _may_cross(path: WeightPath, plan: Plan, pool: PoolPlan) -> bool:
    """Whether the GB of a node may come from the gateway of another zone."""
    network = plan.network
    return (
        path.crosses_zones
        and network is not None
        and network.nat_gateways < len(network.zones)
        and pool.capacity is not None
    )


def _traffic_usd(
    path: WeightPath, server: ServerPlan, crosses: bool, prices: PriceList
) -> Decimal | None:
    gb = Decimal(server.weights_bytes) * server.replicas / BYTES_PER_GB
    try:
        per_gb = sum((prices.find(item).usd for item in path.traffic), Decimal(0))
        if crosses:
            per_gb += ZONE_DIRECTIONS * prices.find("cross-zone-traffic").usd
    except UnknownPriceError:
        return None
    return gb * per_gb
