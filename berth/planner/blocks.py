"""Capacity Blocks and reservations: which one serves on a day, and what is wrong with it."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from berth.config.capacity import (
    TAKEN_BACK_EARLIER,
    Capacity,
    CapacityBlock,
    ReservedCapacity,
)
from berth.config.stack import EksTier, StackConfig
from berth.planner.account import Account
from berth.planner.errors import problem
from berth.planner.moment import moment_words

ULTRASERVER_TAKEN_BACK_EARLIER = timedelta(minutes=60)
"""Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html"""


def serving(capacity: Capacity, as_of: date) -> Capacity:
    """The capacity as of a day: of a block that ends on it or before, the one that takes over."""
    if isinstance(capacity, CapacityBlock):
        return capacity.serving(start_of(as_of + timedelta(days=1)))
    return capacity


def start_of(day: date) -> datetime:
    """The first moment of a day in UTC."""
    return datetime.combine(day, time(), tzinfo=UTC)


def is_open(block: CapacityBlock, day: date) -> bool:
    """Whether the block serves on `day`: from the day it starts to the day before it ends."""
    return _utc_day(block.starts_at) <= day < _utc_day(block.ends_at)


def instances_end(block: CapacityBlock, ultraserver: bool) -> datetime:
    """When EC2 begins to end the instances of a block."""
    earlier = ULTRASERVER_TAKEN_BACK_EARLIER if ultraserver else TAKEN_BACK_EARLIER
    return block.ends_at - earlier


def check_reservation(
    name: str, tier: EksTier, config: StackConfig, account: Account, problems: list[str]
) -> None:
    """Add a line for everything that is wrong with the block or reservation of a tier."""
    capacity = serving(tier.capacity, config.as_of)
    if not isinstance(capacity, CapacityBlock | ReservedCapacity):
        return
    key = f"berth:tiers.{name}"
    owner = "block" if isinstance(capacity, CapacityBlock) else "reservation"
    if tier.max_nodes > capacity.instance_count:
        problems.append(
            problem(
                f"{key}.max_nodes",
                f"{tier.max_nodes} is above the {capacity.instance_count} instances of the {owner}",
                f"lower max_nodes to {capacity.instance_count} or less",
            )
        )
    zones = account.availability_zones
    if zones and capacity.availability_zone not in zones:
        problems.append(
            problem(
                f"{key}.capacity.availability_zone",
                f"{capacity.availability_zone} is not a zone of {config.region}",
                f"the zones are {', '.join(zones)}",
            )
        )
    if isinstance(capacity, CapacityBlock):
        _check_times(f"{key}.capacity.ends_at", capacity, config.as_of, problems)


def _check_times(key: str, block: CapacityBlock, as_of: date, problems: list[str]) -> None:
    ends = moment_words(block.ends_at)
    if block.ends_at <= block.starts_at:
        problems.append(
            problem(
                key,
                f"{ends} is not after starts_at {moment_words(block.starts_at)}",
                "give the block's own start and end",
            )
        )
    elif block.ends_at < start_of(as_of):
        problems.append(
            problem(
                key,
                f"the block ended at {ends}, before berth:as_of {as_of}",
                "name a block that has not ended",
            )
        )


def check_reservations_are_not_shared(config: StackConfig, problems: list[str]) -> None:
    """Add a line for each block or reservation that two tiers name."""
    first: dict[str, str] = {}
    for name, key, reservation_id in _reservation_ids(config):
        if reservation_id in first:
            owner = "block" if "next" in key or _is_block(config, name) else "reservation"
            problems.append(
                problem(
                    f"berth:tiers.{name}.capacity.{key}",
                    f"{reservation_id} is the {owner} of tier {first[reservation_id]} already",
                    f"give each {owner} one tier",
                )
            )
        first.setdefault(reservation_id, name)


def _reservation_ids(config: StackConfig) -> Iterator[tuple[str, str, str]]:
    for name, tier in config.tiers.items():
        if not isinstance(tier, EksTier):
            continue
        capacity = tier.capacity
        if isinstance(capacity, CapacityBlock | ReservedCapacity) and capacity.reservation_id:
            yield name, "reservation_id", capacity.reservation_id
        if isinstance(capacity, CapacityBlock) and capacity.next_reservation_id:
            yield name, "next_reservation_id", capacity.next_reservation_id


def _is_block(config: StackConfig, name: str) -> bool:
    tier = config.tiers[name]
    return isinstance(tier, EksTier) and isinstance(tier.capacity, CapacityBlock)


def _utc_day(moment: datetime) -> date:
    return moment.date() if moment.tzinfo is None else moment.astimezone(UTC).date()
