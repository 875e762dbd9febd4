"""One Pulumi policy per rule."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)

from berth.policy_pack.budget import BudgetPolicy
from berth.policy_pack.not_checked import note_not_checked
from berth.policy_pack.plain import without_secrets
from berth.policy_pack.request import Request, current_request
from berth.policy_pack.violations import Violations
from berth.rules.environment import ENVIRONMENTS, environment_of_stack
from berth.rules.exceptions import EXCEPTIONS_POLICY
from berth.rules.finding import join_message
from berth.rules.page_address import page_address
from berth.rules.registry import RULES
from berth.rules.rule import Rule, run_rule

_ENVIRONMENT_SCHEMA = {
    "type": "string",
    "enum": list(ENVIRONMENTS),
    "description": "Of the stack, where its own berth:environment does not say.",
}

_NAMES = {"type": "array", "items": {"type": "string"}, "minItems": 1}
_EXCEPTIONS_SCHEMA = {
    "type": "array",
    "description": "Findings that are accepted, each with the reason and, best, owner and end.",
    "items": {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "owner": {"type": "string"},
            "ends_on": {"type": "string"},
            "match": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"policies": _NAMES, "targets": _NAMES},
                },
            },
        },
    },
}


class _Args(Protocol):
    """What resource and stack policies are given alike."""

    def get_config(self) -> Mapping[str, Any]: ...

    def not_applicable(self, reason: str | None = None) -> None: ...


def make_policies(rules: Iterable[Rule]) -> list[Policy]:
    """The policies of a pack, in the order of the rules, then budget and exceptions."""
    return [
        *(_StackPolicy(rule) if rule.scope == "stack" else _ResourcePolicy(rule) for rule in rules),
        BudgetPolicy(),
        _ExceptionsPolicy(),
    ]


class _ResourcePolicy(ResourceValidationPolicy):
    """A rule that judges a resource alone, as its author wrote it, before it is made."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(**_description(rule), validate=lambda args, report: None)
        self.rule = rule

    def validate(self, args: ResourceValidationArgs, report_violation: ReportViolation) -> None:
        """Judge the resource of the current request."""
        _judge(self.rule, current_request(), args, report_violation)


class _StackPolicy(StackValidationPolicy):
    """A rule that needs several resources."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(**_description(rule), validate=lambda args, report: None)
        self.rule = rule

    def validate(self, args: StackValidationArgs, report_violation: ReportViolation) -> None:
        """Judge the stack of the current request."""
        _judge(self.rule, current_request(), args, report_violation)


class _ExceptionsPolicy(StackValidationPolicy):
    """Reads the exceptions of the pack's configuration, and says which have to go."""

    def __init__(self) -> None:
        super().__init__(
            name=EXCEPTIONS_POLICY,
            display_name=EXCEPTIONS_POLICY,
            description="Every exception has a reason, covers something and has not ended",
            enforcement_level=EnforcementLevel.ADVISORY,
            severity=Severity.LOW,
            config_schema=PolicyConfigSchema({"exceptions": _EXCEPTIONS_SCHEMA}),
            validate=lambda args, report: None,
        )

    def validate(self, args: StackValidationArgs, report_violation: ReportViolation) -> None:
        """Report after all rules have judged the stack."""
        assert isinstance(report_violation, Violations), "served by another analyzer than Berth's"
        request = current_request()
        for problem in request.exception_problems:
            report_violation.add(problem, "", "mandatory")
        for note in request.accepted.notes(request.resources, [rule.id for rule in RULES]):
            report_violation.add(note, "", "advisory")


RULE_POLICIES = (_ResourcePolicy, _StackPolicy)


def _description(rule: Rule) -> dict[str, Any]:
    return {
        "name": rule.id,
        "display_name": rule.id,
        "description": rule.title,
        "enforcement_level": EnforcementLevel(rule.level),
        "severity": Severity(rule.severity),
        "url": page_address(rule.id) or rule.source,
        "remediation_steps": f"`berth explain {rule.id}` shows a stack before and after",
        "config_schema": PolicyConfigSchema(
            {"environment": _ENVIRONMENT_SCHEMA, **{k: dict(v) for k, v in rule.options.items()}}
        ),
    }


def _judge(rule: Rule, request: Request, args: _Args, report: ReportViolation) -> None:
    config = args.get_config()
    environment = environment_of_stack(
        setting=request.environment_setting,
        pack_setting=config.get("environment"),
        stack=request.stack,
        tags=request.stack_tags,
    )
    found = run_rule(rule, request.view, environment, config)
    assert isinstance(report, Violations), "served by another analyzer than Berth's"
    request.accepted.note_excepted(found.excepted)
    for finding in request.accepted.left_of(found.findings):
        message = join_message(finding.message, finding.fix)
        report.add(
            without_secrets(message, request.secrets), finding.urn, finding.enforcement_level
        )
    for surprise in found.surprises:
        report.add_note(without_secrets(surprise.message, request.secrets), surprise.urn)
    if found.not_checked:
        note_not_checked(found.not_checked)
        args.not_applicable("; ".join(entry.message for entry in found.not_checked))
