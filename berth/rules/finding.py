"""What rules find, and how one finding travels as text through the engine."""

from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["low", "medium", "high", "critical"]
Level = Literal["advisory", "mandatory"]

_FIX: Final = "fix: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One resource that breaks one rule."""

    kind: str
    """Id of the rule."""
    severity: Severity
    enforcement_level: Level
    resource: str
    """Name of the resource."""
    urn: str
    message: str
    """`where: what is wrong, with the numbers; what to change`."""
    fix: str
    """The change itself, with its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotChecked:
    """One rule that could not judge one resource yet."""

    kind: str
    resource: str
    urn: str
    field: str

    @property
    def message(self) -> str:
        """`where: not checked: FIELD is known after apply`."""
        return f"{self.resource}: not checked: {self.field} is known after apply"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surprise:
    """One rule that failed on one resource: a bug of ours, never a reason to stop a deployment."""

    kind: str
    resource: str
    urn: str
    error: str

    @property
    def message(self) -> str:
        """One line that says what failed and what to do about it."""
        return (
            f"{self.resource}: not checked: {self.kind} failed with {self.error}; "
            "report it with the resource that made it fail"
        )


@dataclass(frozen=True, slots=True)
class Excepted:
    """One rule that a resource breaks, or may break, with a reason of its own."""

    kind: str
    urn: str
    resource: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the rules say of one stack."""

    findings: tuple[Finding, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    surprises: tuple[Surprise, ...] = ()
    excepted: tuple[Excepted, ...] = ()


def join_message(message: str, fix: str) -> str:
    """A message and its fix as one text, for a channel that carries a single one."""
    return f"{message}\n{_FIX}{fix}"


def split_message(text: str) -> tuple[str, str]:
    """The message and the fix in a text that the engine passed on.

    The engine puts the policy's description on a line of its own before the message; it is dropped.

    Returns:
        The message and the fix; the fix is empty in a text that has none.
    """
    before, _, fix = text.strip().rpartition(f"\n{_FIX}")
    lines = (before or text).strip().splitlines() or [""]
    return lines[-1].strip(), fix.strip() if before else ""
