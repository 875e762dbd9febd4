"""What a rule is, and how one is run over a view of a stack."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from berth.rules.environment import Environment, is_production
from berth.rules.exceptions import is_excepted
from berth.rules.finding import (
    Excepted,
    Finding,
    Level,
    NotChecked,
    Report,
    Severity,
    Surprise,
)
from berth.rules.resource import Resource
from berth.rules.stack_view import StackView
from berth.rules.unknown import KnownAfterApplyError


@dataclass(frozen=True, slots=True)
class Breach:
    """One case of a rule being broken."""

    where: str
    what: str
    """What is wrong, with the numbers."""
    change: str
    fix: str
    level: Level | None = None
    """Where this case is milder or graver than the rule's own level."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a judge may look at besides its subject."""

    view: StackView
    options: Mapping[str, Any]
    """The rule's own settings, as its `options` describes them."""
    environment: Environment | None = None
    """Of the stack; None: the tags and labels of each resource decide for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One pitfall: what it is, how bad it is, and the function that finds it."""

    id: str
    title: str
    """What a stack does that keeps the rule."""
    severity: Severity
    level: Level
    mandatory_in_prod: bool = False
    scope: Literal["resource", "stack"]
    """`resource`: one resource as its author wrote it is enough; `stack`: it takes several."""
    reads: str
    why: str
    source: str
    """The page that the rule comes from."""
    subjects: Callable[[StackView], Iterable[Any]]
    """What to judge, one by one; each has a `resource`."""
    judge: Callable[[Any, Context], Iterator[Breach]]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """JSON schema of each setting."""

    def level_in(self, environment: Environment | None) -> Level:
        """The level in a stack of this environment, before the tags and labels of one resource."""
        return "mandatory" if self.mandatory_in_prod and environment == "prod" else self.level


def run_rule(
    rule: Rule,
    view: StackView,
    environment: Environment | None,
    options: Mapping[str, Any] | None = None,
) -> Report:
    """Judge every subject. Nothing that a subject holds makes this raise."""
    findings: list[Finding] = []
    not_checked: dict[tuple[str, str, str], NotChecked] = {}
    surprises: list[Surprise] = []
    excepted: set[Excepted] = set()
    context = Context(view, options or {}, environment)
    for subject in rule.subjects(view):
        resource: Resource = subject.resource
        names = {"kind": rule.id, "resource": resource.name, "urn": resource.urn}
        try:
            for breach in rule.judge(subject, context):
                if is_excepted(resource, rule.id):
                    excepted.add(Excepted(rule.id, resource.urn, resource.name))
                else:
                    findings.append(_finding(rule, resource, breach, environment))
        except KnownAfterApplyError as error:
            if is_excepted(resource, rule.id):  # it may break the rule yet
                excepted.add(Excepted(rule.id, resource.urn, resource.name))
                continue
            key = (resource.urn, resource.name, error.field)
            not_checked[key] = NotChecked(**names, field=error.field)
        except Exception as error:  # a deployment must not fail on a bug of ours
            surprises.append(Surprise(**names, error=type(error).__name__))
    return Report(tuple(findings), tuple(not_checked.values()), tuple(surprises), tuple(excepted))


def _finding(
    rule: Rule, resource: Resource, breach: Breach, environment: Environment | None
) -> Finding:
    level = breach.level or rule.level
    if rule.mandatory_in_prod and is_production(resource, environment):
        level = "mandatory"
    return Finding(
        kind=rule.id,
        severity=rule.severity,
        enforcement_level=level,
        resource=resource.name,
        urn=resource.urn,
        message=_one_line(f"{breach.where}: {breach.what}; {breach.change}"),
        fix=_one_line(breach.fix),
    )


def counted(number: int, noun: str) -> str:
    """A number with what it counts: `1 GPU`, `2 GPUs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _one_line(text: str) -> str:
    return " ".join(text.split())
