"""When blocks open and close, for a person who reads a preview."""

from collections.abc import Iterator

from berth.config.capacity import CapacityBlock
from berth.planner.blocks import instances_end, start_of
from berth.planner.moment import moment_words
from berth.planner.plan import Plan


def calendar_lines(plan: Plan) -> Iterator[str]:
    """One line for each block of the stack, and for each that takes over."""
    for pool in plan.pools.values():
        if not isinstance(pool.capacity, CapacityBlock):
            continue
        ultraserver = (pool.instance_type or "").startswith("p6e-")
        for block in (pool.capacity, pool.capacity.following()):
            if block is None:
                continue
            name = block.reservation_id or "to buy"
            yield (
                f"{pool.tier}: {block.instance_count} x {pool.instance_type} ({name}) from "
                f"{moment_words(block.starts_at)}; EC2 ends them from "
                f"{moment_words(instances_end(block, ultraserver))}, {_left(block, plan)}"
            )


def _left(block: CapacityBlock, plan: Plan) -> str:
    now = start_of(plan.as_of)
    if block.starts_at > now:
        return f"opens in {_days((block.starts_at - now).days)}"
    return f"{_days(max(0, (block.ends_at - now).days))} left"


def _days(count: int) -> str:
    return f"{count} day" if count == 1 else f"{count} days"
