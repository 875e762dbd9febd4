"""What is known about AWS resource types beyond the SDK: replacements, defaults, bounds, ids."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class AutoName:
    """How an unnamed resource of a type gets its name."""

    property: str
    max_length: int = 255
    separator: str = "-"
    random_hex: int = 7
    prefix: str = ""
    transform: str = ""


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """The facts of one type; empty where nothing is known."""

    required: Sequence[str] = ()
    computed: Sequence[str] = ()
    computed_optional: Sequence[str] = ()
    computed_nested: Sequence[str] = ()
    replace_on: Sequence[str] = ()
    replace_if: Sequence[Mapping[str, Any]] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    enums: Mapping[str, Sequence[str | int]] = field(default_factory=dict)
    conflicts: Sequence[Sequence[str]] = ()
    exactly_one_of: Sequence[Sequence[str]] = ()
    required_with: Mapping[str, Sequence[str]] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    api_limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sets: Sequence[str] = ()
    secret_outputs: Sequence[str] = ()
    unknown_after_change: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    delete_before_replace: bool = False
    auto_name: AutoName | None = None
    id: str = ""
    """Pattern of the id, such as `vpc-{hex17}` or `{clusterName}:{nodeGroupName}`."""
    arn: str = ""
    assigned: Mapping[str, Any] = field(default_factory=dict)
    """Patterns of other values that the cloud gives out, by property or path."""
    exists: str = ""
    """The cloud's words for a second resource of the same name."""
    unique: Sequence[str] = ()
    """Properties that together may exist once, where the id does not say it."""
    idempotent: bool = False
    """Making it again is no error."""
    overwrite: str = ""
    """The input that allows making it again."""
    kept_on_delete: bool = False
    """Deleting it takes it out of the state only."""


@cache
def _table() -> Mapping[str, Any]:
    text = resources.files("berth.offline.aws").joinpath("resources.json").read_text("utf-8")
    types: Mapping[str, Any] = json.loads(text)["types"]
    return types


def known_types() -> list[str]:
    """Every type that has facts."""
    return list(_table())


@cache
def facts_of(resource_type: str) -> TypeFacts | None:
    """The facts of a type, or None if only the SDK knows it."""
    row = _table().get(resource_type)
    if row is None:
        return None
    known = {f.name for f in fields(TypeFacts)}
    values = {key: value for key, value in row.items() if key in known}
    if "auto_name" in values:
        values["auto_name"] = AutoName(**values["auto_name"])
    return TypeFacts(**values)
