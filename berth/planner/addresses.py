"""Whether the subnets have an address for every pod that the nodes may hold."""

from collections.abc import Iterator
from ipaddress import ip_network

from berth.config.capacity import CapacityBlock, ReservedCapacity
from berth.planner.plan import Plan, PoolPlan

SUBNETS_OF_A_NETWORK = 16
"""A new network is cut into so many parts; each zone's private subnet is one."""
TAKEN_BY_AWS = 5
"""Of each subnet. Source: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html"""


def address_findings(pool: PoolPlan, plan: Plan) -> Iterator[tuple[str, str]]:
    """What is missing and what to change, where all nodes at once have too few addresses.

    A node takes one address for itself and one for each pod, since pods have addresses of the
    network; those of nodes that run already are counted as free ones, so this only warns early.
    """
    if pool.max_pods is None:
        return
    needed = pool.max_nodes * (pool.max_pods + 1)
    free = _free(pool, plan)
    if free is not None and needed > free:
        yield (
            f"{pool.max_nodes} nodes with {pool.max_pods} pods each take {needed} addresses, and "
            f"its subnets have {free}",
            "lower max_nodes, or give larger subnets",
        )


def _free(pool: PoolPlan, plan: Plan) -> int | None:
    bound = (
        pool.capacity.availability_zone
        if isinstance(pool.capacity, CapacityBlock | ReservedCapacity)
        else None
    )
    if plan.network is not None:
        each = ip_network(plan.network.cidr).num_addresses // SUBNETS_OF_A_NETWORK - TAKEN_BY_AWS
        return each * (1 if bound else len(plan.network.zones))
    free = plan.existing_network.free_addresses if plan.existing_network else {}
    if bound is not None:
        return free.get(bound)
    return sum(free.values()) if free else None
