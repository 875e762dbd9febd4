"""The network and the system nodes of a new cluster, and the subnets of a network that exists."""

from collections.abc import Iterable

from berth.catalog.load import Catalog
from berth.config.capacity import CapacityBlock, ReservedCapacity
from berth.config.cluster import ExistingEksCluster
from berth.config.stack import EksTier, NewCluster, StackConfig
from berth.planner.account import Account, Subnet
from berth.planner.blocks import serving
from berth.planner.errors import problem
from berth.planner.plan import ExistingNetwork, NetworkPlan, SystemPool

CIDR = "10.0.0.0/16"
INTERFACE_ENDPOINTS = ("ec2", "ecr.api", "ecr.dkr", "sts")
"""Image pulls, tokens and addresses of every node; layers come through the S3 gateway endpoint,
which costs nothing."""
ZONES = {"dev": 2, "prod": 3}
"""Two are the fewest that EKS takes."""
SYSTEM_INSTANCE_TYPE = "m7i.large"
SYSTEM_NODES = {"dev": 1, "prod": 2}
"""In prod the loss of one node leaves DNS and the operators running."""


def plan_network(config: StackConfig, account: Account, problems: list[str]) -> NetworkPlan | None:
    """The network of a new cluster; None where it exists or the region has a problem.

    Zones are those of blocks and reservations and then, in order, those of the account that offer
    every instance type that is not bound to a zone. Dev has one NAT gateway for all zones; prod
    has one in each, so that the loss of a zone stops no other.
    """
    cluster = config.cluster
    if not isinstance(cluster, NewCluster) or (cluster.network and cluster.network.vpc_id):
        return None
    available = account.availability_zones
    if config.region is None:
        problems.append(
            problem("aws:region", "missing, but berth:cluster makes a new cluster", "name a region")
        )
        return None
    if len(available) < 2:
        known = ", ".join(available) or "none"
        problems.append(
            problem(
                "aws:region",
                f"{config.region} has too few known zones for a cluster, which takes 2 ({known})",
                "name another region",
            )
        )
        return None
    bound = list(dict.fromkeys(_bound_zones(config)))
    _check_offers(config, account, problems)
    chosen = list(bound)
    for zone in _by_offers(config, account):
        if len(chosen) < ZONES[config.environment] and zone not in chosen:
            chosen.append(zone)
    return NetworkPlan(
        cidr=CIDR,
        zones=tuple(sorted(chosen)),
        nat_gateways=len(chosen) if _nat_per_zone(config, cluster) else 1,
        interface_endpoints=INTERFACE_ENDPOINTS,
    )


def plan_existing_network(
    config: StackConfig, account: Account, problems: list[str]
) -> ExistingNetwork | None:
    """The stack's own subnets by zone; None where it makes a network, or no nodes.

    Where the zone of a subnet was not read it is assumed: one zone of the region each, in order.
    """
    cluster = config.cluster
    if isinstance(cluster, ExistingEksCluster):
        key, given = "berth:cluster.eks_cluster.subnet_ids", cluster.eks_cluster.subnet_ids
    elif isinstance(cluster, NewCluster) and cluster.network and cluster.network.subnet_ids:
        key, given = "berth:cluster.network.subnet_ids", cluster.network.subnet_ids
    else:
        return None
    by_zone: dict[str, str] = {}
    free: dict[str, int] = {}
    for zone, subnet_id, subnet in _subnets(given, account):
        if zone in by_zone:
            what = f"{by_zone[zone]} and {subnet_id} are both in {zone}"
            problems.append(problem(key, what, "name one subnet for each zone"))
            continue
        by_zone[zone] = subnet_id
        if subnet is not None and subnet.free_addresses is not None:
            free[zone] = subnet.free_addresses
    if isinstance(cluster, NewCluster) and len(by_zone) < 2:
        what = f"{len(by_zone)} zone, and a new cluster takes 2"
        problems.append(problem(key, what, "add a subnet in another zone"))
    for zone in _bound_zones(config):
        if zone not in by_zone:
            known = ", ".join(by_zone)
            what = f"no subnet in {zone}, where a tier has its reservation; there are {known}"
            problems.append(problem(key, what, f"add one, as {{{zone}: subnet-...}}"))
    return ExistingNetwork(subnet_ids=by_zone, free_addresses=free)


def _subnets(
    given: tuple[str, ...] | dict[str, str], account: Account
) -> Iterable[tuple[str, str, Subnet | None]]:
    if isinstance(given, dict):
        return [(zone, each, account.subnets.get(each)) for zone, each in given.items()]
    zones = account.availability_zones
    return [
        (read.zone if read else zones[index % len(zones)] if zones else "", each, read)
        for index, each in enumerate(given)
        for read in (account.subnets.get(each),)
    ]


def plan_system_pool(config: StackConfig, catalog: Catalog) -> SystemPool | None:
    """Nodes without a GPU of a new cluster; None where the cluster exists."""
    if not isinstance(config.cluster, NewCluster):
        return None
    version = config.cluster.kubernetes_version
    ami_type = catalog.instances[SYSTEM_INSTANCE_TYPE].ami_types[0]
    return SystemPool(
        instance_type=SYSTEM_INSTANCE_TYPE,
        nodes=SYSTEM_NODES[config.environment],
        ami_release=catalog.software.ami_release(config.region, version, ami_type),
    )


def _nat_per_zone(config: StackConfig, cluster: NewCluster) -> bool:
    wanted = cluster.network.nat_gateways if cluster.network else None
    return wanted == "per_zone" or (wanted is None and config.environment == "prod")


def _free_types(config: StackConfig) -> dict[str, str]:
    """Instance types that no reservation binds to a zone, with a tier that wants each."""
    return {
        tier.instance_type: name
        for name, tier in reversed(config.tiers.items())
        if isinstance(tier, EksTier) and _zone_of(tier, config) is None
    }


def _by_offers(config: StackConfig, account: Account) -> list[str]:
    """The account's zones, those first that offer every free type."""
    if account.offered is None:
        return list(account.availability_zones)
    types = _free_types(config)

    def missing(zone: str) -> int:
        offered = account.offered or {}
        return sum(zone not in offered.get(each, frozenset()) for each in types)

    return sorted(account.availability_zones, key=lambda zone: (missing(zone) > 0, zone))


def _check_offers(config: StackConfig, account: Account, problems: list[str]) -> None:
    """Add a line for each type where no zone offers all of them."""
    if account.offered is None:
        return
    types, zones = _free_types(config), account.availability_zones
    by_type = {each: account.offered.get(each, frozenset()) & set(zones) for each in types}
    if any(all(zone in offered for offered in by_type.values()) for zone in zones):
        return
    for instance_type, offered in by_type.items():
        lacking = [zone for zone in zones if zone not in offered]
        if not lacking:
            continue
        problems.append(
            problem(
                f"berth:tiers.{types[instance_type]}.instance_type",
                f"no zone of {config.region} offers every type of the stack: {instance_type} is "
                f"missing in {', '.join(lacking)}",
                "name another type or region, or make two stacks",
            )
        )


def _bound_zones(config: StackConfig) -> list[str]:
    zones = (_zone_of(tier, config) for tier in config.tiers.values() if isinstance(tier, EksTier))
    return [zone for zone in zones if zone is not None]


def _zone_of(tier: EksTier, config: StackConfig) -> str | None:
    capacity = serving(tier.capacity, config.as_of)
    if isinstance(capacity, CapacityBlock | ReservedCapacity):
        return capacity.availability_zone
    return None
