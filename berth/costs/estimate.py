"""What a plan costs: its lines, what is paid once, and what has no price."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

CapacityType = Literal["ON_DEMAND", "SPOT", "ODCR", "CAPACITY_BLOCK", "OWN"]
"""The words of a stack's `capacity.type`, and `OWN` for nodes at a price that the stack states."""
HOURS_PER_MONTH = Decimal(730)
"""365 x 24 / 12, the month of the AWS pricing pages."""
HOURLY_DIGITS = Decimal("1E-10")
"""To which amounts per hour are kept, so that the sum of the lines that are shown is the total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Recurring money at one number of nodes."""

    usd_per_hour: Decimal

    @property
    def usd_per_month(self) -> Decimal:
        """A month of 730 hours, rounded to cents."""
        return (self.usd_per_hour * HOURS_PER_MONTH).quantize(Decimal("0.01"))


def sum_usd(amounts: Iterable[Decimal]) -> Decimal:
    """Exact sum; zero for nothing."""
    return sum(amounts, Decimal(0))


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
    """Of spot nodes the highest reading."""
    low_usd_per_unit: Decimal | None = None
    """Lowest reading of a price that moves, at which the floor is counted; None: it is fixed."""
    hours_per_unit: Decimal = Decimal(1)
    """Hours that one unit price covers: 1, or a month for a price per GB and month."""
    floor_quantity: Decimal
    plan_quantity: Decimal
    ceiling_quantity: Decimal
    price: PriceSource
    item: str | None = None
    """What the price book knows it by, such as an instance type; None: not of the book."""
    region: str | None = None
    """The region of the price; None: nodes outside a cloud."""
    capacity_type: CapacityType | None = None
    """How nodes are had; None: no nodes."""

    @property
    def floor_usd_per_hour(self) -> Decimal:
        """At the fewest nodes."""
        price = self.usd_per_unit if self.low_usd_per_unit is None else self.low_usd_per_unit
        return self._usd_per_hour(self.floor_quantity, price)

    @property
    def plan_usd_per_hour(self) -> Decimal:
        """At the planned nodes."""
        return self._usd_per_hour(self.plan_quantity, self.usd_per_unit)

    @property
    def ceiling_usd_per_hour(self) -> Decimal:
        """At the most nodes."""
        return self._usd_per_hour(self.ceiling_quantity, self.usd_per_unit)

    def _usd_per_hour(self, quantity: Decimal, usd_per_unit: Decimal) -> Decimal:
        return (quantity * usd_per_unit / self.hours_per_unit).quantize(HOURLY_DIGITS)


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
    tier: str | None = None
    instance_hours: Decimal | None = None
    """Of a block: its hours times its instances, by which the fee is shared out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpriced:
    """Something that costs money whose price is not known."""

    resource: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCost:
    """What one model server costs: its share of its nodes, by GPUs.

    Money per million tokens is all of it divided by the tokens of one direction: input and output
    are two views of the same money, never to be added.
    """

    name: str
    tier: str
    model: str
    gpus: int
    """Of all replicas."""
    node_share: Decimal
    """Of the GPUs of the planned nodes, 0 to 1."""
    usd_per_hour: Decimal | None
    """None: its nodes have no price. Of a Capacity Block: the fee by the hour."""
    is_paid_once: bool
    """The nodes are of a Capacity Block, so no month has this money."""
    usd_per_1m_output_tokens: Decimal | None = None
    """At the planned load; None: the stack states none."""
    usd_per_1m_input_tokens: Decimal | None = None
    at_full_load: Decimal | None = None
    """USD per million output tokens when the replicas answer all that they can."""
    input_at_full_load: Decimal | None = None
    utilization: Decimal | None = None
    """The planned load as a share of what the replicas can answer."""

    @property
    def unused_usd_per_hour(self) -> Decimal | None:
        """The part that is paid for requests which the planned load does not have."""
        if self.usd_per_hour is None or self.utilization is None:
            return None
        return self.usd_per_hour * max(Decimal(0), 1 - self.utilization)

    def break_even_tokens_per_s(self, usd_per_1m: Decimal) -> Decimal | None:
        """Output tokens, all hours on average, at which a million of them cost `usd_per_1m`.

        None where the price of a million is known, or that of the nodes is not.
        """
        if self.usd_per_hour is None or self.usd_per_1m_output_tokens is not None:
            return None
        return self.usd_per_hour / usd_per_1m * 1_000_000 / 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStart:
    """One server, all replicas at once, by one way."""

    server: str
    path: str
    words: str
    seconds: int
    """Until the last replica answers, where the way is as fast as it was seen."""
    seconds_at_most: int
    """Where it is as slow as it was seen."""
    gpu_usd: Decimal | None
    """Paid for the GPUs meanwhile, at the slow end; None: their price is not known. Of a Capacity
    Block it is a part of what was paid before."""
    traffic_usd: Decimal | None
    """Paid for the GB on their way; None: a price is not known in this region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """Money that serves nothing as planned."""

    tier: str
    reason: str
    gpus: int
    usd_per_hour: Decimal
    """Recurring; 0 where the nodes were paid once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """All money of one plan."""

    lines: Sequence[CostLine]
    one_off: Sequence[OneOff]
    unpriced: Sequence[Unpriced]
    servers: Sequence[ServerCost] = ()
    idle: Sequence[Idle] = ()
    cold_starts: Sequence[ColdStart] = ()
    """Of the servers of a plan."""
    break_even_usd: Decimal = Decimal(1)
    """What a million output tokens are to cost, where the speed of a server is not known."""

    @property
    def floor(self) -> Total:
        """Every pool at its fewest nodes."""
        return Total(usd_per_hour=sum_usd(line.floor_usd_per_hour for line in self.lines))

    @property
    def plan(self) -> Total:
        """The nodes that the planned replicas need."""
        return Total(usd_per_hour=sum_usd(line.plan_usd_per_hour for line in self.lines))

    @property
    def ceiling(self) -> Total:
        """Every pool at its most nodes."""
        return Total(usd_per_hour=sum_usd(line.ceiling_usd_per_hour for line in self.lines))

    @property
    def at_least(self) -> bool:
        """Something has no price, so the totals are lower bounds."""
        return bool(self.unpriced)
