"""What a plan costs: its lines, what is paid once, and what has no price."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

HOURS_PER_MONTH = Decimal(730)
"""365 x 24 / 12, the month of the AWS pricing pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Recurring money at one number of nodes."""

    usd_per_hour: Decimal

    @property
    def usd_per_month(self) -> Decimal:
        """A month of 730 hours, rounded to cents."""
        return (self.usd_per_hour * HOURS_PER_MONTH).quantize(Decimal("0.01"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSource:
    """Where a price was read and of which day it is."""

    source: str
    date: date


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """A quantity of something and its unit price.

    `name` is fixed per kind of line; what varies between stacks goes in `detail`.
    """

    name: str
    detail: str
    resource: str
    tier: str | None
    unit: str
    usd_per_unit: Decimal
    """Per unit and hour."""
    floor_quantity: Decimal
    plan_quantity: Decimal
    ceiling_quantity: Decimal
    price: PriceSource


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOff:
    """Money paid once, such as the fee of a Capacity Block; never part of a month."""

    name: str
    usd: Decimal
    starts_at: datetime
    ends_at: datetime
    refundable: bool
    price: PriceSource | None
    """None: the owner's own figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpriced:
    """Something that costs money whose price is not known."""

    resource: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """All money of one plan."""

    lines: Sequence[CostLine]
    one_off: Sequence[OneOff]
    unpriced: Sequence[Unpriced]

    @property
    def at_least(self) -> bool:
        """Something has no price, so the totals are lower bounds."""
        return bool(self.unpriced)
