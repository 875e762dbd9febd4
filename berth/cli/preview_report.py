"""What a preview found, put together; its JSON shape is a contract."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from berth.cli.running_nodes import bounds_findings
from berth.config.budget import Guardrails
from berth.costs.document import estimate_document, priced_plan_document
from berth.costs.estimate import Estimate
from berth.costs.guardrails import BUDGET_EXCEEDED, Judged, breaches, stack_limits
from berth.engine.preview import EnginePreview
from berth.planner.plan import Plan
from berth.planner.start import StartFinding, start_document
from berth.rules.finding import NotChecked, split_message


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One broken rule, with what mends it."""

    kind: str
    enforcement_level: str
    resource: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One preview of one stack."""

    stack: str
    plan: Plan
    estimate: Estimate
    preview: EnginePreview
    not_checked: Sequence[NotChecked] = ()
    """What the policies could not judge before `up`."""
    assumed_start: Sequence[StartFinding] = ()
    """Whether the tiers can start, by what no account was asked for."""
    offline: bool = False
    guardrails: Guardrails = field(default_factory=Guardrails)
    """Limits of the repository."""

    @property
    def start(self) -> list[dict[str, Any]]:
        """Whether the tiers can start: as the program read it in the account, else as assumed."""
        read = self.preview.outputs.get("start")
        known = list(read) if isinstance(read, list) else start_document(self.assumed_start)
        bounds = start_document(list(bounds_findings(self.preview.resources, self.plan)))
        said = {each["tier"] for each in bounds}
        return [each for each in known if each["problem"] or each["tier"] not in said] + bounds

    @property
    def findings(self) -> list[Finding]:
        """What the policies reported, and the budget."""
        found = []
        for policy in self.preview.policies:
            if policy.kind == BUDGET_EXCEEDED:
                continue  # judged below, with the numbers of the plan
            message, fix = split_message(policy.message)
            found.append(
                Finding(
                    kind=policy.kind,
                    enforcement_level=policy.enforcement_level,
                    resource=policy.resource,
                    message=message,
                    fix=fix,
                )
            )
        return found + self._over_budget()

    @property
    def refusals(self) -> list[str]:
        """One line for each mandatory finding."""
        return [
            f"{finding.kind}: {finding.message}; {finding.fix}"
            for finding in self.findings
            if finding.enforcement_level == "mandatory"
        ]

    @property
    def refused(self) -> bool:
        """The stack may not go up as it is."""
        return bool(self.refusals)

    def _over_budget(self) -> list[Finding]:
        judged = Judged(estimate=self.estimate, day=self.plan.as_of, tiers=self.plan.pools)
        limits = stack_limits(self.stack, self.plan.budget, self.guardrails)
        return [
            Finding(
                kind=BUDGET_EXCEEDED,
                enforcement_level=each.level,
                resource=self.stack,
                message=f"{each.key}: {each.what}",
                fix=each.fix,
            )
            for where, budget in limits
            for each in breaches(budget, where, judged)
        ]


def report_document(report: Report) -> dict[str, Any]:
    """The report as others read it; `not_checked` only where something is."""
    document: dict[str, Any] = {
        "stack": report.stack,
        "resources": [
            {"urn": r.urn, "type": r.type, "name": r.name, "op": r.op}
            for r in report.preview.resources
        ],
        "plan": priced_plan_document(report.plan, report.estimate),
        "policies": [
            {
                "kind": finding.kind,
                "enforcement_level": finding.enforcement_level,
                "resource": finding.resource,
                "message": finding.message,
                "fix": finding.fix,
            }
            for finding in report.findings
        ],
        "cost": estimate_document(report.estimate),
        "start": report.start,
    }
    if report.not_checked:
        document["not_checked"] = [
            {"kind": e.kind, "resource": e.resource, "field": e.field, "message": e.message}
            for e in report.not_checked
        ]
    return document
