"""What sets the kinds of EC2 capacity apart: one function per kind, plain values only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal

from berth.config.stack import CapacityBlock, OnDemandCapacity
from berth.planner.plan import PoolPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityArguments:
    """The arguments of a launch template and its node group that depend on the capacity kind."""

    capacity_type: Literal["ON_DEMAND", "CAPACITY_BLOCK"]
    node_group_instance_types: tuple[str, ...] | None
    """None where the launch template names the type: EKS refuses it in both places."""
    template_instance_type: str | None
    market_type: str | None
    reservation_id: str | None
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
        case CapacityBlock() as block:
            return capacity_block(pool, block, as_of)
        case None:
            raise ValueError(f"tier {pool.tier}: its nodes exist; it is not a node group")


def on_demand(pool: PoolPlan, zones: Sequence[str]) -> CapacityArguments:
    """Instances at list price: the node group names the type, in all zones."""
    instance_type = _instance_type(pool)
    return CapacityArguments(
        capacity_type="ON_DEMAND",
        node_group_instance_types=(instance_type,),
        template_instance_type=None,
        market_type=None,
        reservation_id=None,
        zones=tuple(zones),
        min_nodes=pool.min_nodes,
        desired_nodes=pool.planned_nodes,
        scarce=is_p_instance(instance_type),
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


def is_open(block: CapacityBlock, day: date) -> bool:
    """Whether the block serves on `day`: from the day it starts to the day before it ends."""
    return _utc_day(block.starts_at) <= day < _utc_day(block.ends_at)


def has_nodes(pool: PoolPlan, as_of: date) -> bool:
    """Whether pods of the tier can start as of that day, so that waiting for them makes sense."""
    return not isinstance(pool.capacity, CapacityBlock) or is_open(pool.capacity, as_of)


def is_p_instance(instance_type: str) -> bool:
    """Whether EC2 counts the type among its P instances, its scarcest GPUs.

    Source: the quota "Running On-Demand P instances" (L-417A185B) goes by the family's letter,
    https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
    """
    return instance_type[0] == "p" and instance_type[1].isdigit()


def _instance_type(pool: PoolPlan) -> str:
    if pool.instance_type is None:
        raise ValueError(f"tier {pool.tier}: a node group needs an instance type")
    return pool.instance_type


def _utc_day(moment: datetime) -> date:
    return moment.date() if moment.tzinfo is None else moment.astimezone(UTC).date()
