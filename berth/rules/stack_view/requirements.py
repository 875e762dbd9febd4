"""What a Karpenter node pool asks of the nodes that it starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from berth.rules.stack_view.accelerators import Accelerator
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.instances import is_cpu_only

_INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
_PREFIXES: Final = ("karpenter.k8s.aws/instance-", "eks.amazonaws.com/instance-")


@dataclass(frozen=True, eq=False)
class Requirements:
    """The list `requirements` of a node pool."""

    listed: Field

    @cached_property
    def _choices(self) -> Mapping[str, tuple[str, ...]]:
        """Values that `In` leaves, by key.

        Raises:
            KnownAfterApplyError: if one is known after apply.
        """
        found: dict[str, tuple[str, ...]] = {}
        for requirement in self.listed.items():
            key = requirement.at("key").text()
            if key and requirement.at("operator").text() == "In":
                values = requirement.at("values").items()
                found[key] = tuple(str(value.known()) for value in values)
        return found

    def choices(self, key: str) -> tuple[str, ...]:
        """Values that it leaves for a label; empty: it says nothing."""
        return self._choices.get(key, ())

    def mentions(self, key: str) -> bool:
        """Whether it says anything about a label."""
        return any(requirement.at("key").text() == key for requirement in self.listed.items())

    def instance_types(self, accelerators: Mapping[str, Accelerator]) -> tuple[str, ...]:
        """The instance types that it may start, as far as it names types, families or GPUs."""
        stated = self.choices(_INSTANCE_TYPE)
        families, gpus = self._of("family"), self._of("gpu-name")
        if not (stated or families or gpus):
            return ()
        types = stated or tuple(
            name
            for name, node in accelerators.items()
            if (not families or name.partition(".")[0] in families)
            and (not gpus or _gpu_name(node) in gpus)
        )
        if not types and families and all(map(is_cpu_only, families)):
            types = tuple(f"{family}.large" for family in families)
        sizes, counts = self._of("size"), self._of("gpu-count")
        return tuple(
            name
            for name in types
            if (not sizes or name.partition(".")[2] in sizes)
            and (not counts or name not in accelerators or str(accelerators[name].count) in counts)
        )

    @property
    def are_for_cpu_only(self) -> bool | None:
        """Whether it leaves only series without accelerators; None: it names none."""
        categories = self._of("category")
        return all(map(is_cpu_only, categories)) if categories else None

    def _of(self, what: str) -> tuple[str, ...]:
        return tuple(v for prefix in _PREFIXES for v in self.choices(f"{prefix}{what}"))


def _gpu_name(node: Accelerator) -> str:
    """`l40s` for an L40S, as Karpenter labels nodes."""
    if node.gpu is None:
        return ""
    label = node.gpu.accelerator_label or ""
    return label.removeprefix("nvidia-").removeprefix("tesla-")
