"""Capacity Blocks that a stack buys: money paid once, in no hour."""

from datetime import datetime
from decimal import Decimal
from typing import Final

from berth.costs.bought import PriceList, UnknownPriceError, price_source
from berth.costs.estimate import OneOff, Unpriced
from berth.costs.resources.resource import Declared
from berth.costs.resources.values import NotShownError, count, text

BLOCK_PURCHASE: Final = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"


def block_purchase(resource: Declared, prices: PriceList) -> OneOff | Unpriced:
    """What a block costs by the catalog's reading, once the cloud says what was bought.

    Before, only the offering knows the fee.
    """
    try:
        instance_type, instances, starts_at, ends_at = _bought(resource)
        reading = prices.find(instance_type, "capacity_block")
    except (NotShownError, UnknownPriceError) as error:
        reason = (
            f"the fee of the block, paid once and never refunded, is not in the stack ({error})"
        )
        return Unpriced(resource=resource.name, reason=reason)
    seconds = int((ends_at - starts_at).total_seconds())
    instance_hours = Decimal(seconds) / 3600 * instances
    return OneOff(
        name=f"Capacity Block {resource.id or resource.name}, {instances} x {instance_type} for "
        f"{(Decimal(seconds) / 3600).normalize():f} hours",
        usd=(reading.usd * instance_hours).quantize(Decimal("0.01")),
        starts_at=starts_at,
        ends_at=ends_at,
        refundable=False,
        price=price_source(reading),
        instance_hours=instance_hours,
    )


def _bought(resource: Declared) -> tuple[str, int, datetime, datetime]:
    shown = resource.outputs
    instance_type, instances = text(shown, "instanceType"), count(shown, "instanceCount")
    starts_at, ends_at = (_moment(text(shown, key)) for key in ("startDate", "endDate"))
    if not instance_type or not instances or starts_at is None or ends_at is None:
        raise NotShownError("known after it is bought")
    if ends_at <= starts_at:
        raise NotShownError(f"it ends at {ends_at.isoformat()}, before it starts")
    return instance_type, instances, starts_at, ends_at


def _moment(written: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(written or "")
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
