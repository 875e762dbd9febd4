"""What a Karpenter node pool asks of the nodes that it starts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from berth.catalog.gpu import Gpu
from berth.rules.stack_view.accelerators import Accelerator
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.instances import is_cpu_only

_INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
_FAMILY: Final = re.compile(r"([a-z]+)([0-9]+)")
"""Series and generation: https://karpenter.sh/docs/concepts/nodepools/#instance-types"""
_OF_GPUS: Final = frozenset({"gpu-count", "gpu-manufacturer", "gpu-memory"})
"""Properties that only instances with GPUs have."""
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

    @cached_property
    def names_its_gpus(self) -> bool:
        """It says by type, family or GPU what its nodes have, not only by series or maker."""
        return any(self.choices(_INSTANCE_TYPE)) or any(map(self._of, ("family", "gpu-name")))

    def instance_types(self, accelerators: Mapping[str, Accelerator]) -> tuple[str, ...]:
        """The instance types that it may start, as far as it is sure to ask for accelerators.

        Conditions on sizes of CPU and memory are left out, so that there may be too many.
        """
        stated, families = self.choices(_INSTANCE_TYPE), self._of("family")
        if not (self.names_its_gpus or self._asks_for_accelerators):
            return ()
        types = stated or tuple(accelerators)
        if not stated and families and all(map(is_cpu_only, families)):
            types = tuple(f"{family}.large" for family in families)
        return tuple(name for name in types if self._allows(name, accelerators.get(name)))

    @property
    def _asks_for_accelerators(self) -> bool:
        categories = self._of("category")
        if categories and not any(map(is_cpu_only, categories)):
            return True
        return any(key in _OF_GPUS for key, _, _ in self._conditions)

    @cached_property
    def _conditions(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """What it says of instances: property, operator, values.

        Raises:
            KnownAfterApplyError: if one is known after apply.
        """
        found = []
        for requirement in self.listed.items():
            key = requirement.at("key").text() or ""
            prefix = next((p for p in _PREFIXES if key.startswith(p)), "")
            if prefix or key == _INSTANCE_TYPE:
                values = tuple(str(v.known()) for v in requirement.at("values").items())
                what = key.removeprefix(prefix) if prefix else "type"
                found.append((what, requirement.at("operator").text() or "", values))
        return tuple(found)

    def _allows(self, name: str, node: Accelerator | None) -> bool:
        return all(
            _meets(own, operator, values)
            for what, operator, values in self._conditions
            if (own := _property(what, name, node)) is not None
        )

    @property
    def are_for_cpu_only(self) -> bool | None:
        """Whether it leaves only series without accelerators; None: it names none."""
        categories = self._of("category")
        return all(map(is_cpu_only, categories)) if categories else None

    def _of(self, what: str) -> tuple[str, ...]:
        return tuple(v for prefix in _PREFIXES for v in self.choices(f"{prefix}{what}"))


def _property(what: str, name: str, node: Accelerator | None) -> str | None:
    """A property of an instance type as Karpenter labels nodes; None: it is not looked at."""
    family, _, size = name.partition(".")
    named = _FAMILY.match(family)
    plain = {"type": name, "family": family, "size": size}
    if named:
        plain |= {"category": named[1], "generation": named[2]}
    if node is not None:
        plain |= {"gpu-count": str(node.count), "gpu-manufacturer": node.vendor, "gpu-name": ""}
        if node.gpu is not None:
            plain |= {
                "gpu-name": _gpu_name(node.gpu),
                "gpu-memory": f"{node.gpu.nameplate_gib * 1024:.0f}",
            }
    return plain.get(what)


def _meets(own: str, operator: str, values: tuple[str, ...]) -> bool:
    """Whether a property meets a condition; an operator that is not known is met."""
    if operator in ("In", "NotIn"):
        return (own in values) == (operator == "In")
    if operator in ("Gt", "Lt") and len(values) == 1:
        try:
            difference = float(own) - float(values[0])
        except ValueError:
            return True
        return difference > 0 if operator == "Gt" else difference < 0
    return operator != "DoesNotExist"


def _gpu_name(gpu: Gpu) -> str:
    """`l40s` for an L40S, as Karpenter labels nodes."""
    label = gpu.accelerator_label or ""
    return label.removeprefix("nvidia-").removeprefix("tesla-")
