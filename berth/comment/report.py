"""What a comment is made of: the JSON of `berth cost diff`, and of `berth preview` beside it.

Both may come from a job that runs the code of a stranger, so nothing in them is taken for more than
text and numbers.
"""

from decimal import Decimal
from typing import Any

import msgspec

from berth.costs.bounds import absurd_number
from berth.costs.written import Idle, Line, OneOff, Server, Unpriced


class ReportError(ValueError):
    """The input is no such document; the text says where it differs and what to give."""


class Total(msgspec.Struct, frozen=True):
    """Recurring money at one number of nodes; of a difference with its sign."""

    usd_per_hour: Decimal
    usd_per_month: Decimal


class Totals(msgspec.Struct, frozen=True):
    """At the fewest, the planned and the most nodes."""

    floor: Total
    plan: Total
    ceiling: Total


class Moved(msgspec.Struct, frozen=True):
    """A part of a difference, per hour and with its sign."""

    plan_usd_per_hour: Decimal
    ceiling_usd_per_hour: Decimal = Decimal(0)


class Move(msgspec.Struct, frozen=True):
    """One reason of a line's difference."""

    text: str
    plan_usd_per_hour: Decimal
    reasons: tuple[str, ...] = ()


class Change(msgspec.Struct, frozen=True):
    """A line that is another than before."""

    name: str
    resource: str
    diff: Moved
    moves: tuple[Move, ...]
    tier: str | None = None


class ServerChange(msgspec.Struct, frozen=True):
    """A model server of which something is another."""

    name: str
    past: Server | None = None
    total: Server | None = None


class OneOffChange(msgspec.Struct, frozen=True):
    """Money paid once that one side alone has."""

    past: OneOff | None = None
    total: OneOff | None = None


class TierChange(msgspec.Struct, frozen=True):
    """All lines of a tier before and after."""

    tier: str
    past: Totals
    total: Totals


class Limit(msgspec.Struct, frozen=True):
    """A limit that is exceeded."""

    key: str
    enforcement_level: str
    message: str
    fix: str = ""
    override: str | None = None


class Start(msgspec.Struct, frozen=True):
    """Whether the nodes of a tier can be had."""

    tier: str
    ok: bool
    problem: str = ""
    fix: str = ""


class Policy(msgspec.Struct, frozen=True):
    """A finding of the policies."""

    kind: str
    enforcement_level: str
    resource: str
    message: str
    fix: str = ""


class StackReport(msgspec.Struct, frozen=True):
    """Everything about one stack."""

    past: Totals
    total: Totals
    diff: Totals
    lines: tuple[Line, ...]
    changes: tuple[Change, ...]
    stack: str = ""
    at_least: bool = False
    price_list_moves: Moved = Moved(plan_usd_per_hour=Decimal(0))
    tier_changes: tuple[TierChange, ...] = ()
    servers: tuple[Server, ...] = ()
    server_changes: tuple[ServerChange, ...] = ()
    one_off: tuple[OneOff, ...] = ()
    one_off_changes: tuple[OneOffChange, ...] = ()
    idle: Idle = Idle()
    unpriced: tuple[Unpriced, ...] = ()
    past_unpriced: tuple[Unpriced, ...] = ()
    guardrails: tuple[Limit, ...] = ()
    start: tuple[Start, ...] | None = None
    """None: no preview says."""
    policies: tuple[Policy, ...] | None = None

    @property
    def is_unchanged(self) -> bool:
        """Nothing that costs money is another."""
        return not (
            self.changes
            or self.server_changes
            or self.one_off_changes
            or self.unpriced != self.past_unpriced
        )

    @property
    def refused(self) -> bool:
        """A limit or a policy stops the stack."""
        limits = any(
            each.enforcement_level == "mandatory" and each.override is None
            for each in self.guardrails
        )
        found = any(
            each.enforcement_level == "mandatory" and each.kind != "budget-exceeded"
            for each in self.policies or ()
        )
        return limits or found


class _Several(msgspec.Struct):
    stacks: list[StackReport]


class _Preview(msgspec.Struct):
    stack: str
    start: tuple[Start, ...] = ()
    policies: tuple[Policy, ...] = ()


def read_reports(diff: bytes, previews: dict[str, bytes], where: str) -> list[StackReport]:
    """The stacks in the JSON of `berth cost diff`, each with its preview where there is one.

    Args:
        diff: of one stack or of several.
        previews: the JSON of `berth preview` by file, in any order.
        where: what messages call `diff`.

    Raises:
        ReportError: if a document is cut off or of another kind, or a preview is of no stack here.
    """
    whole = _decoded(diff, where, Any)
    kind = _Several if isinstance(whole, dict) and "stacks" in whole else StackReport
    read = _decoded(diff, where, kind)
    reports = {each.stack: each for each in (read.stacks if kind is _Several else [read])}
    for file, data in previews.items():
        preview = _decoded(data, file, _Preview)
        if preview.stack not in reports:
            known = ", ".join(reports) or "none"
            raise ReportError(
                f"{file}: is of the stack {preview.stack}, {where} of {known}; "
                "give the difference of the same stack"
            )
        reports[preview.stack] = msgspec.structs.replace(
            reports[preview.stack], start=preview.start, policies=preview.policies
        )
    return list(reports.values())


def _decoded(data: bytes, where: str, kind: Any) -> Any:
    try:
        read = msgspec.json.decode(data, type=kind)
        if (absurd := absurd_number(read)) is not None:
            raise msgspec.ValidationError(absurd)
        return read
    except msgspec.ValidationError as error:
        command = "berth preview --json" if kind is _Preview else "berth cost diff --json"
        what = str(error).replace("`", "")
        raise ReportError(
            f"{where}: not what `{command}` writes ({what}); give its output as it is"
        ) from None
    except (msgspec.DecodeError, RecursionError) as error:
        what = str(error).removeprefix("JSON is malformed: ")
        raise ReportError(f"{where}: no whole JSON ({what}); make it again") from None
