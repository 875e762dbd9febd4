"""Kubernetes quantities such as `500m` and `8Gi` as numbers."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

SUFFIXES: Final[Mapping[str, Decimal]] = {
    "m": Decimal("0.001"),
    "k": Decimal(1000),
    "M": Decimal(1000) ** 2,
    "G": Decimal(1000) ** 3,
    "T": Decimal(1000) ** 4,
    "Ki": Decimal(1024),
    "Mi": Decimal(1024) ** 2,
    "Gi": Decimal(1024) ** 3,
    "Ti": Decimal(1024) ** 4,
}
Amounts = dict[str, Decimal]


def amount(text: str) -> Decimal:
    """The number that a quantity stands for."""
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if text.endswith(suffix):
            return Decimal(text.removesuffix(suffix)) * SUFFIXES[suffix]
    return Decimal(text)


def amounts(quantities: Mapping[str, Any]) -> Amounts:
    """Every quantity of a resource list."""
    return {name: amount(str(text)) for name, text in quantities.items()}


def total(lists: Iterable[Amounts]) -> Amounts:
    """Resource lists added up."""
    found: Amounts = {}
    for each in lists:
        for name, number in each.items():
            found[name] = found.get(name, Decimal(0)) + number
    return found


def pod_requests(spec: Mapping[str, Any]) -> Amounts:
    """What a pod asks for: its containers together, and a place among the node's pods."""
    each = []
    for container in spec.get("containers") or ():
        resources = container.get("resources") or {}
        each.append(
            amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})
        )
    return total([*each, {"pods": Decimal(1)}])


def fits(wanted: Amounts, free: Amounts) -> bool:
    """Whether there is enough of everything; the disk is the kubelet's own business."""
    return all(number <= free.get(name, Decimal(0)) for name, number in wanted.items() if number)


def less(free: Amounts, taken: Amounts) -> Amounts:
    """What is left of something."""
    return {name: number - taken.get(name, Decimal(0)) for name, number in free.items()}
