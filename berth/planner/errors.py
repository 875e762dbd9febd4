"""Errors a stack author can act on."""

from collections.abc import Sequence


class PlanError(ValueError):
    """The stack cannot be planned as written.

    Each line has three parts in this order: the stack key, the problem with the numbers that
    show it, and what to change.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


def problem(key: str, what: str, fix: str) -> str:
    """One line of a `PlanError`."""
    return f"{key}: {what}; {fix}"
