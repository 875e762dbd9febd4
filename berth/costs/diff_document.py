"""A difference as the JSON that others read: the document of the new side, and what was before."""

from collections.abc import Iterable, Sequence
from typing import Any

from berth.costs.amounts import Amounts, estimate_amounts, sum_amounts
from berth.costs.diff import CostDiff
from berth.costs.document import (
    estimate_document,
    line_document,
    one_off_document,
    server_document,
    total_document,
    unpriced_document,
)
from berth.costs.estimate import Total
from berth.costs.line_change import LineChange, Move
from berth.costs.money import cents, to_the_last_digit


def diff_document(diff: CostDiff) -> dict[str, Any]:
    """`past`, `total` and `diff` of one form, what each side has, and why each line changed."""
    document = estimate_document(diff.total)
    document["past"] = estimate_document(diff.past)["total"]
    document["diff"] = difference([diff])
    document["at_least"] = diff.at_least
    document["code_moves"] = moved(diff.code_moves)
    document["price_list_moves"] = moved(diff.price_list_moves)
    document["changes"] = [_change(each) for each in diff.changes]
    document["tier_changes"] = [
        {
            "tier": each.tier,
            "past": amounts_document(each.before),
            "total": amounts_document(each.after),
        }
        for each in diff.tiers
    ]
    document["server_changes"] = [
        {
            "name": each.name,
            "past": each.before and server_document(each.before),
            "total": each.after and server_document(each.after),
        }
        for each in diff.servers
        if each.is_change
    ]
    document["one_off_changes"] = [
        {
            "past": each.before and one_off_document(each.before),
            "total": each.after and one_off_document(each.after),
        }
        for each in diff.one_off
    ]
    document["past_unpriced"] = unpriced_document(diff.past)
    return document


def diffs_document(
    diffs: Sequence[CostDiff], documents: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The documents of several stacks, and their sum in the same form."""
    return {
        "stacks": list(documents),
        "past": _sum(estimate_amounts(diff.past) for diff in diffs),
        "total": _sum(estimate_amounts(diff.total) for diff in diffs),
        "diff": difference(diffs),
        "at_least": any(diff.at_least for diff in diffs),
    }


def difference(diffs: Sequence[CostDiff]) -> dict[str, Any]:
    """Total less past; its months are the difference of the months that are shown."""
    past = sum_amounts(estimate_amounts(diff.past) for diff in diffs)
    total = sum_amounts(estimate_amounts(diff.total) for diff in diffs)

    def at(name: str) -> dict[str, str]:
        old, new = (Total(usd_per_hour=getattr(each, name)) for each in (past, total))
        return {
            "usd_per_hour": to_the_last_digit(new.usd_per_hour - old.usd_per_hour),
            "usd_per_month": cents(new.usd_per_month - old.usd_per_month),
        }

    return {name: at(name) for name in ("floor", "plan", "ceiling")}


def amounts_document(amounts: Amounts) -> dict[str, Any]:
    """In the form of `total`."""
    return {
        name: total_document(Total(usd_per_hour=usd))
        for name, usd in (
            ("floor", amounts.floor),
            ("plan", amounts.plan),
            ("ceiling", amounts.ceiling),
        )
    }


def moved(amounts: Amounts) -> dict[str, str]:
    """A signed part of a difference, per hour."""
    return {
        "floor_usd_per_hour": to_the_last_digit(amounts.floor),
        "plan_usd_per_hour": to_the_last_digit(amounts.plan),
        "ceiling_usd_per_hour": to_the_last_digit(amounts.ceiling),
    }


def _sum(amounts: Iterable[Amounts]) -> dict[str, Any]:
    return amounts_document(sum_amounts(amounts))


def _change(change: LineChange) -> dict[str, Any]:
    return {
        "name": change.line.name,
        "resource": change.line.resource,
        "tier": change.line.tier,
        "past": change.before and line_document(change.before),
        "total": change.after and line_document(change.after),
        "diff": moved(change.amounts),
        "moves": [_move(each) for each in change.moves],
    }


def _move(move: Move) -> dict[str, Any]:
    return {"reasons": list(move.reasons), "text": move.text, **moved(move.amounts)}
