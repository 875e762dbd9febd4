"""Reading values of a stack file before anything is known about them."""

import ipaddress
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from berth.config.values import Moment


def mapping(value: object) -> Mapping[str, Any]:
    """The value, or nothing where it is no mapping."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> list[Any]:
    """The value, or nothing where it is no list."""
    return value if isinstance(value, list) else []


def whole(value: object) -> int | None:
    """The value where it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_a(kind: Any, value: object) -> bool:
    """Whether the vocabulary accepts the value as one of that kind."""
    try:
        _adapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


def moment(value: object) -> datetime | None:
    """The value where it is a point in time with its zone."""
    return _adapter(Moment).validate_python(value) if is_a(Moment, value) else None


def network(value: object) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The value where it is a network in CIDR form."""
    try:
        return ipaddress.ip_network(value) if isinstance(value, str) else None
    except ValueError:
        return None


def tiers_of(values: Mapping[str, object]) -> list[tuple[str, Mapping[str, Any]]]:
    """Name and keys of every tier."""
    return [(name, mapping(tier)) for name, tier in mapping(values.get("tiers")).items()]


def is_new(cluster: Mapping[str, Any]) -> bool:
    """Whether the keys are those of a cluster that the stack makes."""
    return "kubernetes_version" in cluster or "endpoint" in cluster


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
