"""Money per hour at the three numbers of nodes, with the arithmetic that a difference needs."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from berth.costs.estimate import HOURLY_DIGITS, CostLine, Estimate

NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """USD per hour at floor, plan and ceiling; of a difference they carry a sign."""

    floor: Decimal = NOTHING
    plan: Decimal = NOTHING
    ceiling: Decimal = NOTHING

    def __add__(self, other: "Amounts") -> "Amounts":
        return Amounts(
            floor=self.floor + other.floor,
            plan=self.plan + other.plan,
            ceiling=self.ceiling + other.ceiling,
        )

    def __sub__(self, other: "Amounts") -> "Amounts":
        return self + Amounts(floor=-other.floor, plan=-other.plan, ceiling=-other.ceiling)

    def __bool__(self) -> bool:
        return bool(self.floor or self.plan or self.ceiling)


def sum_amounts(amounts: Iterable[Amounts]) -> Amounts:
    """Exact sums; zeros for nothing."""
    return sum(amounts, Amounts())


def line_amounts(line: CostLine | None) -> Amounts:
    """What `line` costs; zeros for a line that is not there."""
    if line is None:
        return Amounts()
    return Amounts(
        floor=line.floor_usd_per_hour,
        plan=line.plan_usd_per_hour,
        ceiling=line.ceiling_usd_per_hour,
    )


def at_price(line: CostLine, usd_per_unit: Decimal) -> Amounts:
    """What the quantities of `line` cost at another price per unit."""
    if usd_per_unit == line.usd_per_unit:
        return line_amounts(line)  # its floor may have a price of its own

    def usd(quantity: Decimal) -> Decimal:
        return (quantity * usd_per_unit / line.hours_per_unit).quantize(HOURLY_DIGITS)

    return Amounts(
        floor=usd(line.floor_quantity),
        plan=usd(line.plan_quantity),
        ceiling=usd(line.ceiling_quantity),
    )


def estimate_amounts(estimate: Estimate) -> Amounts:
    """The three totals."""
    return Amounts(
        floor=estimate.floor.usd_per_hour,
        plan=estimate.plan.usd_per_hour,
        ceiling=estimate.ceiling.usd_per_hour,
    )
