"""What sets the kinds of EC2 capacity apart: one function per kind, plain values only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from berth.config.capacity import (
    CapacityBlock,
    OnDemandCapacity,
    ReservedCapacity,
    SpotCapacity,
)
from berth.planner.blocks import is_open
from berth.planner.plan import PoolPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityArguments:
    """The arguments of a launch template and its node group that depend on the capacity kind."""

    capacity_type: Literal["ON_DEMAND", "SPOT", "CAPACITY_BLOCK"]
    node_group_instance_types: tuple[str, ...] | None
    """None where the launch template names the type: EKS refuses it in both places."""
    template_instance_type: str | None = None
    market_type: str | None = None
    reservation_id: str | None = None
    resource_group_arn: str | None = None
    reservation_preference: Literal["open"] | None = None
    """`open`: matches any open reservation of the type in the zone."""
    zones: tuple[str, ...]
    min_nodes: int
    desired_nodes: int
    scarce: bool
    """No second node can be had during an update, so an old one ends before a new one starts."""


def capacity_arguments(pool: PoolPlan, zones: Sequence[str], as_of: date) -> CapacityArguments:
    """The arguments of one pool; `zones` are those of the network.

    Raises:
        ValueError: if the stack does not make the nodes of this pool.
    """
    match pool.capacity:
        case OnDemandCapacity():
            return on_demand(pool, zones)
        case SpotCapacity():
            return spot(pool, zones)
        case ReservedCapacity() as reservation:
            return reserved(pool, reservation)
        case CapacityBlock() as block:
            return capacity_block(pool, block, as_of)
        case None:
            raise ValueError(f"tier {pool.tier}: its nodes exist; it is not a node group")


def on_demand(pool: PoolPlan, zones: Sequence[str]) -> CapacityArguments:
    """Instances at list price: the node group names the type, in all zones.

    Where a server spans nodes they are all in one, next to each other.
    """
    return CapacityArguments(
        capacity_type="ON_DEMAND",
        node_group_instance_types=(_instance_type(pool),),
        zones=_near(pool, zones),
        min_nodes=pool.min_nodes,
        desired_nodes=pool.planned_nodes,
        scarce=pool.scarce,
    )


def spot(pool: PoolPlan, zones: Sequence[str]) -> CapacityArguments:
    """Spare instances: EKS itself chooses among types and zones where they last longest."""
    return CapacityArguments(
        capacity_type="SPOT",
        node_group_instance_types=(_instance_type(pool), *pool.spot_types),
        zones=_near(pool, zones),
        min_nodes=pool.min_nodes,
        desired_nodes=pool.planned_nodes,
        scarce=pool.scarce,
    )


def reserved(pool: PoolPlan, reservation: ReservedCapacity) -> CapacityArguments:
    """Instances of an On-Demand Capacity Reservation: on demand for EKS, in the one zone.

    An open reservation is matched by type and zone; a targeted one by its id, or by the group
    that holds it.
    """
    targeted = reservation.reservation_id or reservation.resource_group_arn
    return CapacityArguments(
        capacity_type="ON_DEMAND",
        node_group_instance_types=(_instance_type(pool),),
        reservation_id=reservation.reservation_id,
        resource_group_arn=reservation.resource_group_arn,
        reservation_preference=None if targeted else "open",
        zones=(reservation.availability_zone,),
        min_nodes=pool.min_nodes,
        desired_nodes=pool.planned_nodes,
        scarce=True,
    )


def capacity_block(pool: PoolPlan, block: CapacityBlock, as_of: date) -> CapacityArguments:
    """Instances paid in advance: the launch template names type, market and reservation.

    The minimum is always 0, because EKS refuses a minimum above the desired number, which is 0
    until the block opens. Source:
    https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html
    """
    return CapacityArguments(
        capacity_type="CAPACITY_BLOCK",
        node_group_instance_types=None,
        template_instance_type=_instance_type(pool),
        market_type="capacity-block",
        reservation_id=block.reservation_id,
        zones=(block.availability_zone,),
        min_nodes=0,
        desired_nodes=pool.planned_nodes if is_open(block, as_of) else 0,
        scarce=True,
    )


def has_nodes(pool: PoolPlan, as_of: date) -> bool:
    """Whether pods of the tier can start as of that day, so that waiting for them makes sense."""
    if pool.source == "hybrid":
        return False  # its hosts join by hand, after `up` has made what they join with
    return not isinstance(pool.capacity, CapacityBlock) or is_open(pool.capacity, as_of)


def _near(pool: PoolPlan, zones: Sequence[str]) -> tuple[str, ...]:
    return tuple(zones[:1] if pool.nodes_per_replica > 1 else zones)


def _instance_type(pool: PoolPlan) -> str:
    if pool.instance_type is None:
        raise ValueError(f"tier {pool.tier}: a node group needs an instance type")
    return pool.instance_type
