"""What a change costs: two estimates side by side, and why every line moved."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from berth.costs.amounts import Amounts, estimate_amounts, line_amounts, sum_amounts
from berth.costs.document import server_document
from berth.costs.estimate import CostLine, Estimate, OneOff, ServerCost
from berth.costs.line_change import LineChange, PriceNow, line_change

NO_ESTIMATE = Estimate(lines=(), one_off=(), unpriced=())
"""Of a stack that is not there: nothing, at no price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierChange:
    """All lines of one tier."""

    tier: str
    before: Amounts
    after: Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerChange:
    """One model server; a side is None where it is not there."""

    name: str
    before: ServerCost | None
    after: ServerCost | None

    @property
    def is_change(self) -> bool:
        """Something about it is another, as far as documents show it."""
        return _as_shown(self.before) != _as_shown(self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOffChange:
    """Money that is paid once now and was not before, or the other way round."""

    before: OneOff | None
    after: OneOff | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostDiff:
    """Two estimates and what lies between them."""

    past: Estimate
    total: Estimate
    changes: Sequence[LineChange]
    """Lines whose money or quantity is another, the largest difference of the plan first."""

    @property
    def amounts(self) -> Amounts:
        """After less before, per hour."""
        return estimate_amounts(self.total) - estimate_amounts(self.past)

    @property
    def price_list_moves(self) -> Amounts:
        """The part that newer prices of the same things make."""
        return sum_amounts(
            move.amounts
            for change in self.changes
            for move in change.moves
            if move.reasons == ("price_list",)
        )

    @property
    def code_moves(self) -> Amounts:
        """The rest: what the change itself makes."""
        return self.amounts - self.price_list_moves

    @property
    def tiers(self) -> list[TierChange]:
        """Every tier of either side, those of the new one first."""
        before, after = _by_tier(self.past.lines), _by_tier(self.total.lines)
        return [
            TierChange(
                tier=tier,
                before=before.get(tier, Amounts()),
                after=after.get(tier, Amounts()),
            )
            for tier in dict.fromkeys((*after, *before))
        ]

    @property
    def servers(self) -> list[ServerChange]:
        """Every model server of either side, those of the new one first."""
        before = {each.name: each for each in self.past.servers}
        after = {each.name: each for each in self.total.servers}
        return [
            ServerChange(name=name, before=before.get(name), after=after.get(name))
            for name in dict.fromkeys((*after, *before))
        ]

    @property
    def one_off(self) -> list[OneOffChange]:
        """Fees that only one side has, or that have another price or another window."""
        before = {each.name: each for each in self.past.one_off}
        after = {each.name: each for each in self.total.one_off}
        found = [
            OneOffChange(before=before.get(name), after=after.get(name))
            for name in dict.fromkeys((*after, *before))
        ]
        return [each for each in found if _money(each.before) != _money(each.after)]

    @property
    def at_least(self) -> bool:
        """A side has something without a price, so the difference is not the whole of it."""
        return self.past.at_least or self.total.at_least

    @property
    def is_empty(self) -> bool:
        """Nothing that costs money is another."""
        return not (
            self.changes
            or self.one_off
            or any(each.is_change for each in self.servers)
            or list(self.past.unpriced) != list(self.total.unpriced)
        )


def cost_diff(past: Estimate, total: Estimate, price_now: PriceNow = lambda _: None) -> CostDiff:
    """Pair the lines of both sides.

    Args:
        past: before the change.
        total: after it.
        price_now: what the thing of a line of `past` costs on the price list of `total`, which
            tells the price list from the change where one thing took the place of another.
    """
    found = (line_change(old, new, price_now) for old, new in _pairs(past.lines, total.lines))
    changes = [each for each in found if each is not None]
    changes.sort(key=lambda each: (-abs(each.amounts.plan), -abs(each.amounts.ceiling)))
    return CostDiff(past=past, total=total, changes=changes)


def _pairs(
    before: Iterable[CostLine], after: Iterable[CostLine]
) -> Iterator[tuple[CostLine | None, CostLine | None]]:
    """Lines of the same kind and resource; of several, those that say the same, then in order."""
    left: dict[tuple[str, str], list[CostLine]] = defaultdict(list)
    for line in before:
        left[line.resource, line.name].append(line)
    waiting: list[CostLine] = []
    for line in after:
        old = left[line.resource, line.name]
        same = next((each for each in old if each.detail == line.detail), None)
        if same is None:
            waiting.append(line)
        else:
            old.remove(same)
            yield same, line
    for line in waiting:
        old = left[line.resource, line.name]
        yield (old.pop(0) if old else None), line
    for gone in left.values():
        yield from ((line, None) for line in gone)


def _by_tier(lines: Iterable[CostLine]) -> dict[str, Amounts]:
    found: dict[str, Amounts] = defaultdict(Amounts)
    for line in lines:
        if line.tier is not None:
            found[line.tier] += line_amounts(line)
    return dict(found)


def _as_shown(server: ServerCost | None) -> object:
    return server and server_document(server)


def _money(one_off: OneOff | None) -> object:
    return one_off and (one_off.usd, one_off.starts_at, one_off.ends_at)
