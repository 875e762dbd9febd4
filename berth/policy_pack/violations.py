"""Violations of one policy in one answer to the engine, each at a level of its own."""

from typing import Any

from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import ReportViolation

from berth.rules.finding import Level

_LEVELS: dict[Level, Any] = {
    "advisory": analyzer_pb2.ADVISORY,
    "mandatory": analyzer_pb2.MANDATORY,
}


class Violations:
    """A `ReportViolation` that also takes a level.

    The SDK knows one level per policy; the engine takes one per violation.
    """

    def __init__(
        self,
        response: analyzer_pb2.AnalyzeResponse,
        report: ReportViolation,
        *,
        level_is_chosen: bool,
    ) -> None:
        """Collect into `response`; `level_is_chosen`: the user set the policy's level."""
        self._response = response
        self._report = report
        self._level_is_chosen = level_is_chosen

    def __call__(self, message: str, urn: str | None = None) -> None:
        """Report at the policy's level."""
        self._report(message, urn)

    def add(self, message: str, urn: str, level: Level) -> None:
        """Report at a level; the user's choice for the policy wins over it."""
        self._report(message, urn)
        if not self._level_is_chosen:
            self._response.diagnostics[-1].enforcementLevel = _LEVELS[level]

    def add_note(self, message: str, urn: str) -> None:
        """Report what may never stop a deployment."""
        self._report(message, urn)
        self._response.diagnostics[-1].enforcementLevel = analyzer_pb2.ADVISORY
