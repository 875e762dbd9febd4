"""Taints, and which of them a list of tolerations lets a pod past."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from berth.rules.stack_view.field import Field

_EFFECTS: Final = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}
"""EKS's spelling of what Kubernetes calls an effect."""

_STARTUP_KEYS: Final = frozenset(
    {
        "karpenter.sh/unregistered",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/not-ready",
    }
)


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint that keeps pods off a node."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """As kubectl writes it."""
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )

    @property
    def toleration(self) -> str:
        """A toleration that lets a pod past it."""
        return f"{{key: {self.key}, operator: Exists, effect: {self.effect}}}"


def read_taints(listed: Field) -> tuple[Taint, ...]:
    """The taints of a pool that stay: NoSchedule and NoExecute, without those of a node's start.

    Raises:
        KnownAfterApplyError: if a key or an effect is known after apply.
    """
    taints = []
    for item in listed.items():
        stated = item.at("effect").text() or ""
        effect = _EFFECTS.get(stated, stated)
        key = item.at("key").text() or ""
        if effect in ("NoSchedule", "NoExecute") and not _is_of_startup(key):
            taints.append(Taint(key, item.at("value").text() or "", effect))
    return tuple(taints)


def _is_of_startup(key: str) -> bool:
    return key in _STARTUP_KEYS or key.endswith("/agent-not-ready")


def not_tolerated(taints: Sequence[Taint], tolerations: Field) -> list[Taint]:
    """The taints that no toleration of the list lets a pod past.

    Raises:
        KnownAfterApplyError: if the answer rests on what is known after apply.
    """
    if not taints:
        return []
    listed = tolerations.items()
    return [taint for taint in taints if not _is_tolerated(taint, listed)]


def _is_tolerated(taint: Taint, tolerations: Sequence[Field]) -> bool:
    """Whether one does; a known one that does wins over an unknown one that might."""
    open_fields: list[Field] = []
    for toleration in tolerations:
        fields = [
            toleration,
            *(toleration.at(key) for key in ("key", "operator", "value", "effect")),
        ]
        unknown = [field for field in fields if field.is_unknown]
        if unknown:
            open_fields.extend(unknown[:1])
        elif _lets_past(toleration, taint):
            return True
    for field in open_fields:
        field.known()
    return False


def _lets_past(toleration: Field, taint: Taint) -> bool:
    effect = toleration.at("effect").text()
    if effect and effect != taint.effect:
        return False
    key = toleration.at("key").text() or ""
    if (toleration.at("operator").text() or "Equal") == "Exists":
        return key in ("", taint.key)
    value = toleration.at("value").value
    return key == taint.key and ("" if value is None else str(value)) == taint.value
