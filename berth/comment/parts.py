"""The parts of a comment, one function each."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final

from berth.comment.report import StackReport
from berth.costs.estimate import HOURS_PER_MONTH
from berth.costs.kinds import GPU_NODES
from berth.costs.line_change import OPTION_WORDS
from berth.costs.money import amount, signed, with_commas
from berth.costs.written import IdlePart, Line, OneOff, Server
from berth.planner.moment import moment_words

BLOCK_SCALED_DOWN_BEFORE: Final = timedelta(minutes=40)
"""How long before a Capacity Block ends EKS scales its node group to zero.
Source: https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells below headings; from the column `numbers_from` on they are numbers."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers_from: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the comment with its title."""

    title: str
    table: Table | None = None
    lines: tuple[str, ...] = ()
    folded: bool = False
    is_listing: bool = False
    """Every line of the stack, for looking things up."""


def counted(number: int, noun: str) -> str:
    """Such as `1 GPU` and `2 GPUs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def parts_of(report: StackReport) -> tuple[Part, ...]:
    """What a reviewer decides by first, details folded after it; parts without content left out."""
    found = (
        _tiers(report),
        _totals(report),
        _servers(report),
        _one_off(report),
        _limits(report),
        _start(report),
        _policies(report),
        _changes(report),
        _unpriced(report),
        _lines(report),
    )
    return tuple(part for part in found if part is not None)


def _tiers(report: StackReport) -> Part | None:
    """One row per tier: its nodes, how they are bought, and all money of its lines."""
    before = {each.tier: each for each in report.tier_changes}
    nodes = {line.tier: line for line in report.lines if line.name == GPU_NODES and line.tier}
    rows = []
    for tier in dict.fromkeys((*nodes, *before)):
        line, change = nodes.get(tier), before.get(tier)
        if change is None:
            continue
        total, past = change.total.plan, change.past.plan
        rows.append(
            (
                tier,
                (line.item or line.detail) if line else "gone",
                _place(line),
                _node_counts(line),
                OPTION_WORDS.get(line.capacity_type, "") if line and line.capacity_type else "",
                with_commas(total.usd_per_hour),
                with_commas(total.usd_per_month),
                signed(total.usd_per_month - past.usd_per_month),
            )
        )
    if not rows:
        return None
    headings = (
        "tier",
        "type",
        "region",
        "nodes min / plan / max",
        "bought",
        "USD/h",
        "USD/month",
        "change/month",
    )
    return Part(title="Tiers", table=Table(headings=headings, rows=tuple(rows), numbers_from=5))


def _place(line: Line | None) -> str:
    return (line.region or "outside AWS") if line else ""


def _node_counts(line: Line | None) -> str:
    if line is None:
        return ""
    counts = (line.floor_quantity, line.quantity, line.ceiling_quantity)
    said = " / ".join("?" if each is None else amount(each) for each in counts)
    return said if line.unit == "node-hour" else f"{said} {line.unit.removesuffix('-hour')}s"


def _totals(report: StackReport) -> Part:
    rows = [
        (
            name,
            with_commas(total.usd_per_hour),
            with_commas(total.usd_per_month),
            signed(change.usd_per_month),
        )
        for name, total, change in (
            ("floor: every tier at min_nodes", report.total.floor, report.diff.floor),
            ("plan: what the replicas need", report.total.plan, report.diff.plan),
            ("ceiling: every tier at max_nodes", report.total.ceiling, report.diff.ceiling),
        )
    ]
    lines = []
    if report.price_list_moves.plan_usd_per_hour:
        moved = report.price_list_moves.plan_usd_per_hour
        rest = report.diff.plan.usd_per_hour - moved
        lines.append(
            f"Of the change, {signed(moved)} USD/h is newer price lists, {signed(rest)} USD/h the "
            "change itself."
        )
    if report.idle.gpus:
        month = report.idle.usd_per_hour * HOURS_PER_MONTH
        lines.append(
            f"Idle as planned: {counted(report.idle.gpus, 'GPU')}, "
            f"{with_commas(report.idle.usd_per_hour)} USD/h, {with_commas(month)} USD/month ("
            + "; ".join(_idle(each) for each in report.idle.parts)
            + ")."
        )
    headings = ("all of the stack", "USD/h", "USD/month", "change/month")
    table = Table(headings=headings, rows=tuple(rows), numbers_from=1)
    return Part(title="Totals", table=table, lines=tuple(lines))


def _idle(part: IdlePart) -> str:
    once = "" if part.usd_per_hour else ", paid once"
    return f"{part.tier}: {part.gpus} {part.reason}{once}"


def _servers(report: StackReport) -> Part | None:
    """USD per million output tokens before and after, at the planned and at full load."""
    before = {each.name: each.past for each in report.server_changes}
    rows = []
    for server in report.servers:
        past = before.get(server.name, server)
        was = _tokens(past) if past is not None else "new"
        now = _tokens(server)
        rows.append(
            (
                server.name,
                server.tier,
                f"{server.gpus} ({server.node_share:.0%} of its nodes)",
                now if was == now else f"{was} → {now}",
                _usd(server.at_full_load),
                _usd(server.usd_per_1m_input_tokens),
                _share(server),
            )
        )
    gone = [each.name for each in report.server_changes if each.total is None]
    if not rows and not gone:
        return None
    headings = (
        "model server",
        "tier",
        "GPUs",
        "USD/1M output",
        "at full load",
        "or USD/1M input",
        "planned load",
    )
    table = Table(headings=headings, rows=tuple(rows), numbers_from=3) if rows else None
    lines = tuple(f"Gone: {name}." for name in gone)
    return Part(title="Model servers", table=table, lines=lines)


def _tokens(server: Server) -> str:
    if server.usd_per_1m_output_tokens is not None:
        return with_commas(server.usd_per_1m_output_tokens)
    return "no load stated" if server.usd_per_hour is not None else "no price"


def _usd(usd: Decimal | None) -> str:
    return "" if usd is None else with_commas(usd)


def _share(server: Server) -> str:
    return "" if server.utilization is None else f"{server.utilization:.0%}"


def _one_off(report: StackReport) -> Part | None:
    changed = {each.total.name for each in report.one_off_changes if each.total is not None}
    lines = [_fee(each, "new: " if each.name in changed else "") for each in report.one_off]
    lines += [
        f"no longer paid: {each.past.name}, {with_commas(each.past.usd)} USD"
        for each in report.one_off_changes
        if each.past is not None and each.total is None
    ]
    return Part(title="Paid once, in no month above", lines=tuple(lines)) if lines else None


def _fee(fee: OneOff, new: str) -> str:
    back = "refundable" if fee.refundable else "no refund"
    said = (
        f"{new}{fee.name}: {with_commas(fee.usd)} USD, {moment_words(fee.starts_at)} to "
        f"{moment_words(fee.ends_at)}, {back}"
    )
    if "Capacity Block" in fee.name:
        leaves = moment_words(fee.ends_at - BLOCK_SCALED_DOWN_BEFORE)
        said += f"; EKS scales its node group to 0 from {leaves} on, and the pods are evicted"
    return said


def _limits(report: StackReport) -> Part | None:
    words = {"mandatory": "refused", "advisory": "warning"}
    lines = [
        f"{words.get(each.enforcement_level, each.enforcement_level)}: {each.key}: {each.message}"
        + (f" (accepted: {each.override})" if each.override else f"; {each.fix}")
        for each in report.guardrails
    ]
    return Part(title="Limits", lines=tuple(lines)) if lines else None


def _start(report: StackReport) -> Part | None:
    lines = [
        f"{each.tier}: {'yes' if each.ok else 'no'}"
        + (f"; {each.problem}; {each.fix}" if each.problem else "")
        for each in report.start or ()
    ]
    if not lines:
        return None
    can = all(each.ok for each in report.start or ())
    return Part(title="Can it start?", lines=tuple(lines), folded=can)


def _policies(report: StackReport) -> Part | None:
    found = [each for each in report.policies or () if each.kind != "budget-exceeded"]
    if not found:
        return None
    found.sort(key=lambda each: each.enforcement_level != "mandatory")
    lines = tuple(
        f"{each.enforcement_level}: {each.kind}: {each.message}; {each.fix}" for each in found
    )
    mandatory = any(each.enforcement_level == "mandatory" for each in found)
    title = f"Policies: {counted(len(found), 'finding')}"
    return Part(title=title, lines=lines, folded=not mandatory)


def _changes(report: StackReport) -> Part | None:
    rows = [
        (
            change.tier or change.resource,
            change.name,
            move.text,
            signed(move.plan_usd_per_hour),
            signed(move.plan_usd_per_hour * HOURS_PER_MONTH),
        )
        for change in report.changes
        for move in change.moves
    ]
    if not rows:
        return None
    headings = ("of", "line", "why", "USD/h", "USD/month")
    table = Table(headings=headings, rows=tuple(rows), numbers_from=3)
    title = f"Why: {counted(len(report.changes), 'line')} changed"
    return Part(title=title, table=table, folded=True)


def _unpriced(report: StackReport) -> Part | None:
    found = list(dict.fromkeys((*report.unpriced, *report.past_unpriced)))
    if not found:
        return None
    lines = tuple(f"{each.resource}: {each.reason}" for each in found)
    title = f"Without a price: {len(found)}, so the totals are at least"
    return Part(title=title, lines=lines, folded=True)


def _lines(report: StackReport) -> Part | None:
    rows = [
        (
            line.resource,
            f"{line.name}, {line.detail}",
            f"{amount(line.quantity)} {line.unit}",
            with_commas(line.plan_usd_per_hour),
            with_commas(line.plan_usd_per_hour * HOURS_PER_MONTH),
            line.price.date.isoformat(),
        )
        for line in report.lines
    ]
    if not rows:
        return None
    headings = ("of", "line", "quantity", "USD/h", "USD/month", "price of")
    table = Table(headings=headings, rows=tuple(rows), numbers_from=3)
    return Part(
        title=f"All {counted(len(rows), 'line')}", table=table, folded=True, is_listing=True
    )
