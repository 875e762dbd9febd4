"""Why one line costs more or less: the price list, what is bought, or how much of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, Literal

from berth.costs.amounts import Amounts, at_price, line_amounts, sum_amounts
from berth.costs.estimate import CapacityType, CostLine
from berth.costs.money import amount, exact

Reason = Literal["added", "removed", "price_list", "own_price", "type", "region", "option", "count"]
"""`type`: another instance type or service; `option`: another way of buying; `count`: more or less
of the same."""
PriceNow = Callable[[CostLine], Decimal | None]
"""What the thing of an older line costs per unit on the newer price list; None: not known."""
OPTION_WORDS: Final[dict[CapacityType, str]] = {
    "ON_DEMAND": "on demand",
    "SPOT": "spot",
    "ODCR": "reservation",
    "CAPACITY_BLOCK": "Capacity Block",
    "OWN": "own price",
}
_PAID_BY_STACK: Final = ("OWN", "CAPACITY_BLOCK")
"""Prices that the stack states, or money paid once: no price list moves them."""
_UNCOUNTED: Final = ("GB", "IOPS", "MiBps")
"""Units of measure, which have no plural."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One part of a line's difference."""

    reasons: tuple[Reason, ...]
    """More than one where their money cannot be told apart."""
    text: str
    amounts: Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChange:
    """A line before and after; one of them is missing where it was added or removed."""

    before: CostLine | None
    after: CostLine | None
    moves: tuple[Move, ...]
    """Their amounts add up to the difference."""

    @property
    def line(self) -> CostLine:
        """The newer of the two."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def amounts(self) -> Amounts:
        """After less before."""
        return line_amounts(self.after) - line_amounts(self.before)


def line_change(
    before: CostLine | None, after: CostLine | None, price_now: PriceNow
) -> LineChange | None:
    """What happened to a line; None if nothing that costs or may cost money did."""
    if before is None and after is not None:
        text = f"new: {_how_many(after)}"
        moves = [Move(reasons=("added",), text=text, amounts=line_amounts(after))]
    elif after is None and before is not None:
        moves = list(_removed(before, price_now))
    elif before is not None and after is not None:
        moves = list(_changed(before, after, price_now))
    else:
        moves = []
    return LineChange(before=before, after=after, moves=tuple(moves)) if moves else None


def _removed(before: CostLine, price_now: PriceNow) -> Iterator[Move]:
    usd_now = _now(before, price_now)
    yield from _price_list(before, usd_now)
    gone = Amounts() - at_price(before, usd_now)
    yield Move(reasons=("removed",), text=f"gone: {_how_many(before)}", amounts=gone)


def _changed(before: CostLine, after: CostLine, price_now: PriceNow) -> Iterator[Move]:
    """The price list first, then what is bought, then how much: they add up to the difference."""
    bought = list(_bought(before, after))
    if bought:
        usd_now = _now(before, price_now)
    else:
        stays = before.capacity_type in _PAID_BY_STACK
        usd_now = before.usd_per_unit if stays else after.usd_per_unit
    moves = list(_price_list(before, usd_now))
    if bought:
        reasons = tuple(reason for reason, _ in bought)
        text = ", ".join(text for _, text in bought)
        moves.append(_repriced(before, usd_now, after, reasons, text))
    elif usd_now != after.usd_per_unit:
        price = f"{exact(before.usd_per_unit)} → {exact(after.usd_per_unit)} USD per {after.unit}"
        moves.append(_repriced(before, usd_now, after, ("own_price",), f"own price {price}"))
    difference = line_amounts(after) - line_amounts(before)
    counted = _counts(before, after)
    if before.unit == after.unit and counted:
        moves.append(Move(reasons=("count",), text=counted, amounts=Amounts()))
    elif difference and not moves:
        text = f"{before.detail} → {after.detail}"
        moves.append(Move(reasons=("type",), text=text, amounts=Amounts()))
    yield from moves[:-1]
    rest = difference - sum_amounts(move.amounts for move in moves[:-1])
    yield from (replace(move, amounts=rest) for move in moves[-1:])


def _repriced(
    before: CostLine,
    usd_now: Decimal,
    after: CostLine,
    reasons: tuple[Reason, ...],
    text: str,
) -> Move:
    """The quantity of before at the price of after."""
    amounts = at_price(before, after.usd_per_unit) - at_price(before, usd_now)
    return Move(reasons=reasons, text=text, amounts=amounts)


def _now(line: CostLine, price_now: PriceNow) -> Decimal:
    if line.capacity_type in _PAID_BY_STACK:
        return line.usd_per_unit
    found = price_now(line)
    return line.usd_per_unit if found is None else found


def _price_list(before: CostLine, usd_now: Decimal) -> Iterator[Move]:
    if usd_now != before.usd_per_unit:
        yield Move(
            reasons=("price_list",),
            text=f"price list: {exact(before.usd_per_unit)} of {before.price.date} → "
            f"{exact(usd_now)} USD per {before.unit}",
            amounts=at_price(before, usd_now) - line_amounts(before),
        )


def _bought(before: CostLine, after: CostLine) -> Iterator[tuple[Reason, str]]:
    """What is another thing than before, in words; nothing where a line does not say."""
    if before.item and after.item and before.item != after.item:
        yield "type", f"{before.item} → {after.item}"
    if before.region and after.region and before.region != after.region:
        yield "region", f"{before.region} → {after.region}"
    old, new = before.capacity_type, after.capacity_type
    if old and new and old != new:
        yield "option", f"{OPTION_WORDS[old]} → {OPTION_WORDS[new]}"


def _counts(before: CostLine, after: CostLine) -> str:
    """Such as `1 → 2, at most 2 → 4 nodes`; empty where every quantity stays.

    What happens to the fewest and the most is said where it is not what happens to the plan.
    """
    planned = (before.plan_quantity, after.plan_quantity)
    parts = [
        f"{word}{amount(old)} → {amount(new)}"
        for word, old, new in (
            ("", before.plan_quantity, after.plan_quantity),
            ("at least ", before.floor_quantity, after.floor_quantity),
            ("at most ", before.ceiling_quantity, after.ceiling_quantity),
        )
        if old != new and (not word or (old, new) != planned)
    ]
    return f"{', '.join(parts)} {_things(after)}" if parts else ""


def _how_many(line: CostLine) -> str:
    things = _thing(line) if line.plan_quantity == 1 else _things(line)
    return f"{amount(line.plan_quantity)} {things}, {line.detail}"


def _thing(line: CostLine) -> str:
    """What is counted: the unit without its time, such as node of `node-hour`."""
    return line.unit.rpartition("-")[0] or line.unit


def _things(line: CostLine) -> str:
    """The same for more than one."""
    thing = _thing(line)
    if thing in _UNCOUNTED:
        return thing
    return thing + ("es" if thing.endswith("s") else "s")
