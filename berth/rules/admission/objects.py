"""ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding objects, made from the rules."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from berth.rules.admission.predicates import PREDICATES, Predicate
from berth.rules.environment import Environment
from berth.rules.exceptions import ANNOTATION, SECURITY_RULES
from berth.rules.registry import RULES
from berth.rules.rule import Rule

Action = Literal["Deny", "Warn", "Audit"]

_API: Final = "admissionregistration.k8s.io/v1"
_PREFIX: Final = "berth-"
_MOST_WORDS: Final = 256
"""Words of `args` that are looked at in pairs."""
_WORKLOADS: Final[Sequence[tuple[str, Sequence[str]]]] = (
    ("", ("pods",)),
    ("apps", ("daemonsets", "deployments", "replicasets", "statefulsets")),
    ("batch", ("cronjobs", "jobs")),
)
_POD: Final = (
    "object.kind == 'Pod' ? object.spec : (object.kind == 'CronJob' ? "
    "object.spec.jobTemplate.spec.template.spec : object.spec.template.spec)"
)
_NO_ANNOTATION: Final = (
    "!(has(object.metadata.annotations) && '{key}' in object.metadata.annotations && "
    r"object.metadata.annotations['{key}'].matches(r'\S'))"
)
_MADE_BY_ITS_AUTHOR: Final = (
    "!(has(object.metadata.ownerReferences) && "
    "object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller))"
)
"""What a Deployment makes was judged with the Deployment, where an exception can be written."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a cluster's owner decides."""

    environment: Environment | None = None
    actions: tuple[Action, ...] = ()
    """Of every policy; empty: as the level of each rule says."""
    namespaces: tuple[str, ...] = ()
    """Where the policies hold; empty: everywhere."""
    excluded_namespaces: tuple[str, ...] = ("kube-system",)


def exported_rules() -> tuple[Rule, ...]:
    """The rules that can be written as admission policies."""
    return tuple(rule for rule in RULES if rule.id in PREDICATES)


def admission_objects(
    parameters: Parameters, rules: Iterable[Rule] | None = None
) -> list[dict[str, Any]]:
    """A policy and its binding for each rule."""
    chosen = exported_rules() if rules is None else rules
    made: list[dict[str, Any]] = []
    for rule in chosen:
        actions = _actions(rule, parameters)
        made += (_policy(rule, actions), _binding(rule, actions, parameters))
    return made


def _actions(rule: Rule, parameters: Parameters) -> tuple[Action, ...]:
    if parameters.actions:
        return parameters.actions
    is_mandatory = rule.level_in(parameters.environment) == "mandatory"
    return ("Deny",) if is_mandatory else ("Warn", "Audit")


def _policy(rule: Rule, actions: Sequence[Action]) -> dict[str, Any]:
    predicate = PREDICATES[rule.id]
    groups = list(_WORKLOADS)
    if predicate.config_map is not None:
        groups[0] = ("", ("configmaps", "pods"))
    return {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {
            "name": f"{_PREFIX}{rule.id}",
            "annotations": {
                "berth.dev/title": rule.title,
                "berth.dev/severity": rule.severity,
                "berth.dev/source": rule.source,
            },
        },
        "spec": {
            "failurePolicy": "Fail" if "Deny" in actions else "Ignore",
            "matchConstraints": {"resourceRules": [_matched(*group) for group in groups]},
            "matchConditions": _conditions(rule),
            "variables": _variables(predicate),
            "validations": [
                {
                    "expression": "size(variables.offenders) == 0",
                    "messageExpression": _message(rule),
                    "reason": "Invalid",
                }
            ],
        },
    }


def _matched(group: str, resources: Sequence[str]) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": list(resources),
    }


def _conditions(rule: Rule) -> list[dict[str, str]]:
    conditions = [{"name": "made-by-its-author", "expression": _MADE_BY_ITS_AUTHOR}]
    if rule.id not in SECURITY_RULES:
        exempt = _NO_ANNOTATION.replace("{key}", f"{ANNOTATION}{rule.id}")
        conditions.append({"name": "not-excepted", "expression": exempt})
    return conditions


def _variables(predicate: Predicate) -> list[dict[str, str]]:
    containers = "variables.spec.containers"
    init = (
        "(has(variables.spec.initContainers) ? variables.spec.initContainers : [])"
        if predicate.with_init
        else "[]"
    )
    found = (
        f"(variables.containers + {init}).filter(c, {predicate.container}).map(c, "
        "'container ' + c.name)"
    )
    if predicate.config_map is not None:
        keys = f"(has(object.data) ? object.data.filter(k, {predicate.config_map}) : [])"
        found = f"object.kind == 'ConfigMap' ? {keys} : {found}"
    return [
        {"name": "spec", "expression": _POD},
        {"name": "containers", "expression": containers},
        {"name": "places", "expression": str(list(range(_MOST_WORDS)))},
        {"name": "offenders", "expression": found},
    ]


def _message(rule: Rule) -> str:
    title = rule.title.rstrip(".")
    fix = PREDICATES[rule.id].fix
    lesson = f": {title} ({rule.why}); fix: {fix}; see `berth explain {rule.id}`"
    name = "(has(object.metadata.name) ? object.metadata.name : object.metadata.generateName)"
    return f"'{rule.id}: ' + {name} + ': ' + variables.offenders.join(', ') + {_quoted(lesson)}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _binding(rule: Rule, actions: Sequence[Action], parameters: Parameters) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "policyName": f"{_PREFIX}{rule.id}",
        "validationActions": list(actions),
    }
    chosen = []
    key = "kubernetes.io/metadata.name"
    if parameters.namespaces:
        chosen.append({"key": key, "operator": "In", "values": list(parameters.namespaces)})
    if parameters.excluded_namespaces:
        values = list(parameters.excluded_namespaces)
        chosen.append({"key": key, "operator": "NotIn", "values": values})
    if chosen:
        spec["matchResources"] = {"namespaceSelector": {"matchExpressions": chosen}}
    return {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": f"{_PREFIX}{rule.id}"},
        "spec": spec,
    }
