"""The network and the system nodes of a new cluster."""

from berth.config.stack import CapacityBlock, EksTier, NewCluster, StackConfig
from berth.planner.account import Account
from berth.planner.errors import problem
from berth.planner.plan import NetworkPlan, SystemPool

CIDR = "10.0.0.0/16"
INTERFACE_ENDPOINTS = ("ecr.api", "ecr.dkr")
"""Image pulls of every node; layers come through the S3 gateway endpoint, which costs nothing."""
ZONES = {"dev": 2, "prod": 3}
"""Two are the fewest that EKS takes."""
SYSTEM_INSTANCE_TYPE = "m7i.large"
SYSTEM_NODES = {"dev": 1, "prod": 2}
"""In prod the loss of one node leaves DNS and the operators running."""


def plan_network(config: StackConfig, account: Account, problems: list[str]) -> NetworkPlan | None:
    """The network of a new cluster; None where the cluster exists or the region has a problem.

    Zones are those of the blocks and then the account's in order. Dev has one NAT gateway for all
    zones; prod has one in each, so that the loss of a zone stops no other.
    """
    if not isinstance(config.cluster, NewCluster):
        return None
    available = account.availability_zones
    if config.region is None:
        problems.append(
            problem("aws:region", "missing, but berth:cluster makes a new cluster", "name a region")
        )
        return None
    wanted = ZONES[config.environment]
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
    chosen = list(dict.fromkeys(_block_zones(config)))
    for zone in available:
        if len(chosen) < wanted and zone not in chosen:
            chosen.append(zone)
    return NetworkPlan(
        cidr=CIDR,
        zones=tuple(sorted(chosen)),
        nat_gateways=len(chosen) if config.environment == "prod" else 1,
        interface_endpoints=INTERFACE_ENDPOINTS,
    )


def plan_system_pool(config: StackConfig) -> SystemPool | None:
    """Nodes without a GPU of a new cluster; None where the cluster exists."""
    if not isinstance(config.cluster, NewCluster):
        return None
    return SystemPool(instance_type=SYSTEM_INSTANCE_TYPE, nodes=SYSTEM_NODES[config.environment])


def _block_zones(config: StackConfig) -> list[str]:
    return [
        tier.capacity.availability_zone
        for tier in config.tiers.values()
        if isinstance(tier, EksTier) and isinstance(tier.capacity, CapacityBlock)
    ]
