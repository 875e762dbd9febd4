"""Whether a pod may run on a node, by the rules of the scheduler that our pods use."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

KEPT_AWAY: Final = ("NoSchedule", "NoExecute")
Labels = Mapping[str, str]


def tolerates(tolerations: Sequence[Mapping[str, Any]], taint: Mapping[str, Any]) -> bool:
    """Whether one of the tolerations covers a taint."""
    return any(_covers(each, taint) for each in tolerations)


def admitted(spec: Mapping[str, Any], labels: Labels, taints: Sequence[Mapping[str, Any]]) -> bool:
    """Whether selector, affinity and tolerations let a pod onto a node."""
    tolerations = spec.get("tolerations") or ()
    kept_away = [taint for taint in taints if taint.get("effect") in KEPT_AWAY]
    return (
        all(tolerates(tolerations, taint) for taint in kept_away)
        and selected(spec.get("nodeSelector") or {}, labels)
        and _in_affinity(spec, labels)
    )


def selected(selector: Labels, labels: Labels) -> bool:
    """Whether labels hold all that a selector names."""
    return all(labels.get(key) == value for key, value in selector.items())


def preference(spec: Mapping[str, Any], labels: Labels) -> int:
    """How much a pod would like a node with these labels."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return sum(int(t["weight"]) for t in terms if _matches(t["preference"], labels))


def _covers(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return (toleration.get("value") or "") == (taint.get("value") or "")


def _in_affinity(spec: Mapping[str, Any], labels: Labels) -> bool:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms")
    return not terms or any(_matches(term, labels) for term in terms)


def _matches(term: Mapping[str, Any], labels: Labels) -> bool:
    return all(_holds(each, labels) for each in term.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Labels) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return True  # Gt and Lt: none of our pods has them
