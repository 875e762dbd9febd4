"""A difference as text: what the change costs, why each line moved, what else is another."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from berth.costs.amounts import estimate_amounts, sum_amounts
from berth.costs.diff import CostDiff, OneOffChange, ServerChange
from berth.costs.diff_document import difference
from berth.costs.estimate import ServerCost
from berth.costs.line_change import LineChange
from berth.costs.money import signed, with_commas
from berth.planner.moment import moment_words


def diff_lines(found: Sequence[tuple[str, CostDiff]]) -> list[str]:
    """A part per stack; of several, their sum first."""
    lines = []
    if len(found) > 1:
        lines.append(headline(f"{len(found)} stacks", [diff for _, diff in found]))
    for name, diff in found:
        lines.extend(_stack(name, diff))
    return lines


def headline(name: str, diffs: Sequence[CostDiff]) -> str:
    """Such as `h100-prod: +4.60 USD an hour, +3,358.00 a month (+12.0 %), prices of 2026-07-20`."""
    plan = difference(diffs)["plan"]
    hour, month = Decimal(plan["usd_per_hour"]), Decimal(plan["usd_per_month"])
    past = sum_amounts(estimate_amounts(diff.past) for diff in diffs).plan
    share = f" ({hour / past * 100:+.1f} %)" if past and hour else ""
    least = "at least " if any(diff.at_least for diff in diffs) else ""
    days = sorted({line.price.date for diff in diffs for line in diff.total.lines})
    dates = f", prices of {' to '.join(str(day) for day in dict.fromkeys(days[:1] + days[-1:]))}"
    return (
        f"{name}: {least}{signed(hour)} USD an hour, {signed(month)} a month{share}"
        f"{dates if days else ''}"
    )


def _stack(name: str, diff: CostDiff) -> Iterator[str]:
    yield headline(name or "stack", [diff])
    if diff.is_empty:
        yield "  nothing that costs money is another"
    else:
        yield (
            f"  floor {signed(diff.amounts.floor)}, plan {signed(diff.amounts.plan)}, ceiling "
            f"{signed(diff.amounts.ceiling)} USD an hour"
        )
    if diff.price_list_moves:
        yield (
            f"  of the plan {signed(diff.code_moves.plan)} by the change itself, "
            f"{signed(diff.price_list_moves.plan)} by newer price lists"
        )
    for change in diff.changes:
        yield from _change(change)
    for server in diff.servers:
        if server.is_change:
            yield f"  {server.name}: {_tokens(server)}"
    for fee in diff.one_off:
        yield f"  {_fee(fee)}"
    unpriced = list(dict.fromkeys((*diff.total.unpriced, *diff.past.unpriced)))
    if unpriced:
        yield "  without a price, so in neither side:"
        yield from (f"    {each.resource}: {each.reason}" for each in unpriced)


def _change(change: LineChange) -> Iterator[str]:
    line = change.line
    most = f", ceiling {signed(change.amounts.ceiling)}" if not change.amounts.plan else ""
    yield f"  {line.resource}: {line.name}, {signed(change.amounts.plan)} USD an hour{most}"
    for move in change.moves:
        yield f"    {signed(move.amounts.plan)}  {move.text}"


def _tokens(change: ServerChange) -> str:
    if change.before is None or change.after is None:
        word = "new" if change.before is None else "gone"
        server = change.after or change.before
        return f"{word}, {_price(server)}"
    return f"{_price(change.before)} → {_price(change.after)}"


def _price(server: ServerCost | None) -> str:
    if server is not None and server.usd_per_1m_output_tokens is not None:
        return f"{with_commas(server.usd_per_1m_output_tokens)} USD per million output tokens"
    if server is None or server.usd_per_hour is None:
        return "no price"
    return f"{with_commas(server.usd_per_hour)} USD an hour, no load stated"


def _fee(change: OneOffChange) -> str:
    fee = change.after or change.before
    assert fee is not None
    word = "no longer paid" if change.after is None else "paid once"
    return (
        f"{word}: {fee.name}, {with_commas(fee.usd)} USD, {moment_words(fee.starts_at)} to "
        f"{moment_words(fee.ends_at)}"
    )
