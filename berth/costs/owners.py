"""Whose money it is: owners onto the lines of an estimate, and what each of them pays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeVar

from berth.costs.amounts import Amounts, line_amounts, sum_amounts
from berth.costs.estimate import CostLine, Estimate, OneOff, Unpriced, sum_usd
from berth.planner.plan import Ownership, Plan

Found = TypeVar("Found", bound=CostLine | OneOff | Unpriced)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerTotal:
    """Everything that one owner pays at one cost centre."""

    owner: str | None
    """None: nobody says."""
    cost_center: str | None
    amounts: Amounts
    one_off_usd: Decimal
    """Paid once, in no month."""


def owner_totals(estimate: Estimate) -> list[OwnerTotal]:
    """One per owner and cost centre, the dearest plan first; together they are the estimate.

    Nothing where no line has an owner.
    """
    things: list[CostLine | OneOff] = [*estimate.lines, *estimate.one_off]
    if not any(each.owner or each.cost_center for each in things):
        return []
    pairs = dict.fromkeys((each.owner, each.cost_center) for each in things)
    found = [
        OwnerTotal(
            owner=owner,
            cost_center=cost_center,
            amounts=sum_amounts(
                line_amounts(line)
                for line in estimate.lines
                if (line.owner, line.cost_center) == (owner, cost_center)
            ),
            one_off_usd=sum_usd(
                each.usd
                for each in estimate.one_off
                if (each.owner, each.cost_center) == (owner, cost_center)
            ),
        )
        for owner, cost_center in pairs
    ]
    return sorted(found, key=lambda each: (-each.amounts.plan, -each.one_off_usd))


def owned_by(found: Sequence[Found], who: Ownership) -> list[Found]:
    """The same lines and fees, paid by `who`."""
    return [
        each
        if isinstance(each, Unpriced)
        else replace(each, owner=who.owner, cost_center=who.cost_center)
        for each in found
    ]


def owned_by_plan(found: Sequence[Found], plan: Plan) -> list[Found]:
    """The same, each paid by its tier's owner, and by the stack's where it is of no tier."""
    return [
        one
        for each in found
        for one in owned_by([each], _owner_in(plan, None if isinstance(each, Unpriced) else each))
    ]


def _owner_in(plan: Plan, of: CostLine | OneOff | None) -> Ownership:
    pool = plan.pools.get(of.tier) if of is not None and of.tier is not None else None
    return pool.ownership if pool is not None else plan.ownership
