"""What a comment says of a stack, in parts that every format renders alike."""

from collections.abc import Iterator
from dataclasses import dataclass

from berth.comment.parts import Part, counted, parts_of
from berth.comment.report import StackReport, Total, Totals
from berth.costs.money import signed, with_commas


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One comment."""

    stack: str
    headline: str
    verdict: tuple[str, ...]
    """What a reviewer has to know beside the money: what refuses, what cannot start."""
    parts: tuple[Part, ...]


def content_of(report: StackReport) -> Content:
    """Everything worth saying of a stack."""
    return Content(
        stack=report.stack,
        headline=headline(report),
        verdict=tuple(_verdict(report)),
        parts=parts_of(report),
    )


def headline(report: StackReport) -> str:
    """Change per hour and month, sign first, and the days of the prices."""
    if report.is_unchanged:
        least = "at least " if report.at_least else ""
        said = f"no change, {least}{_per(report.total.plan)}"
    else:
        said = change_words(report.past, report.diff, at_least=report.at_least)
        if len(report.changes) == 1 and len(report.changes[0].moves) == 1:
            (only,) = report.changes
            said += f": {only.tier or only.resource} {only.moves[0].text}"
    days = sorted({line.price.date for line in report.lines})
    if not days:
        return said
    between = str(days[0]) if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{said}; price lists of {between}"


def change_words(past: Totals, diff: Totals, *, at_least: bool) -> str:
    """Such as `+4.60 USD/h, +3,358.00 USD/month (+12.0 %)`."""
    hour, month = diff.plan.usd_per_hour, diff.plan.usd_per_month
    share = f" ({hour / past.plan.usd_per_hour * 100:+.1f} %)" if past.plan.usd_per_hour else ""
    least = "at least " if at_least else ""
    return f"{least}{signed(hour)} USD/h, {signed(month)} USD/month{share if hour else ''}"


def _per(total: Total) -> str:
    return f"{with_commas(total.usd_per_hour)} USD/h, {with_commas(total.usd_per_month)} USD/month"


def _verdict(report: StackReport) -> Iterator[str]:
    blocked = [each for each in report.guardrails if each.enforcement_level == "mandatory"]
    accepted = [each for each in blocked if each.override is not None]
    refusing = len(blocked) - len(accepted)
    if refusing:
        yield f"Refused by {counted(refusing, 'limit')} on cost."
    for each in accepted:
        yield f"Above a limit on cost, accepted: {each.override}."
    mandatory = sum(
        each.enforcement_level == "mandatory" and each.kind != "budget-exceeded"
        for each in report.policies or ()
    )
    if mandatory:
        yield f"Refused by {counted(mandatory, 'policy finding')}."
    for start in report.start or ():
        if not start.ok:
            yield f"Tier {start.tier} cannot start: {start.problem}."
