"""An estimate as lines of text for a person."""

from collections.abc import Sequence
from decimal import Decimal

from berth.costs.estimate import HOURS_PER_MONTH, CostLine, Estimate, OneOff
from berth.costs.money import with_commas
from berth.planner.moment import moment_words

_HEADINGS = ("USD per hour", "floor", "plan", "ceiling", "plan per month", "price date")


_MEANING = (
    "floor: every tier at min_nodes; plan: the nodes that the replicas need; "
    "ceiling: every tier at max_nodes"
)


def estimate_lines(estimate: Estimate) -> list[str]:
    """The table of what recurs, then what is paid once and what has no price."""
    return [*_columns(estimate_rows(estimate)), *estimate_notes(estimate)]


def estimate_rows(estimate: Estimate) -> list[tuple[str, ...]]:
    """What recurs: a row of headings, one row per line, and the totals per hour and month."""
    rows = [_HEADINGS, *(_row(line) for line in estimate.lines)]
    totals = (estimate.floor, estimate.plan, estimate.ceiling)
    least = "at least, " if estimate.at_least else ""
    rows.append((f"{least}in all", *(_hourly(total.usd_per_hour) for total in totals), "", ""))
    months = (with_commas(total.usd_per_month) for total in totals)
    rows.append((f"{least}in a month of {HOURS_PER_MONTH} hours", *months, "", ""))
    return rows


def estimate_notes(estimate: Estimate) -> list[str]:
    """What the columns mean, what is paid once, and what has no price."""
    lines = [_MEANING]
    if estimate.one_off:
        lines.append("paid once, in no month above:")
        lines.extend(f"  {_paid_once(each)}" for each in estimate.one_off)
    if estimate.unpriced:
        lines.append("the totals are at least, since these have no price:")
        lines.extend(f"  {each.resource}: {each.reason}" for each in estimate.unpriced)
    return lines


def _row(line: CostLine) -> tuple[str, ...]:
    return (
        f"{line.resource}: {line.name}, {line.detail}",
        _hourly(line.floor_usd_per_hour),
        _hourly(line.plan_usd_per_hour),
        _hourly(line.ceiling_usd_per_hour),
        with_commas(line.plan_usd_per_hour * HOURS_PER_MONTH),
        line.price.date.isoformat(),
    )


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows with the first column to the left and the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        ).rstrip()
        for row in rows
    ]


def _paid_once(one_off: OneOff) -> str:
    back = "refundable" if one_off.refundable else "not refunded"
    price = one_off.price
    whence = f"price of {price.date}" if price else "the stack's own figure"
    return (
        f"{one_off.name}: {_usd(one_off.usd)}, {moment_words(one_off.starts_at)} to "
        f"{moment_words(one_off.ends_at)}, {back} ({whence})"
    )


def _usd(usd: Decimal) -> str:
    return f"{with_commas(usd)} USD"


def _hourly(usd: Decimal) -> str:
    return f"{usd:,.4f}"
