"""Helm charts: their values, and what they do where the values say nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import yaml

from berth.rules.resource import Resource
from berth.rules.stack_view.accelerators import Vendor
from berth.rules.stack_view.field import Field


@dataclass(frozen=True, slots=True)
class TolerationList:
    """One list of tolerations in a chart's values, its default put in where it is not given."""

    path: tuple[str, ...]
    tolerations: Field


@dataclass(frozen=True, eq=False)
class Chart:
    """One chart that the stack installs."""

    resource: Resource

    @property
    def body(self) -> Field:
        """All properties of the resource."""
        return Field(self.resource.props)

    @property
    def chart_field(self) -> Field:
        """Where the chart is named."""
        return self.body.at("chart")

    @property
    def version_field(self) -> Field:
        """Where its version is stated."""
        return self.body.at("version")

    @property
    def reference(self) -> str:
        """What names the chart; empty where that is not known or not text."""
        value = self.chart_field.value
        return value if isinstance(value, str) else ""

    @property
    def name(self) -> str:
        """Name of the chart, without repository, path or archive suffix."""
        return self.reference.rstrip("/").rpartition("/")[2]

    @property
    def version(self) -> str:
        """Its version as `v25.10.1`; empty where none is given.

        Raises:
            KnownAfterApplyError: if it is known after apply.
        """
        stated = self.version_field.text() or ""
        return f"v{stated.removeprefix('v')}" if stated else ""

    @property
    def is_local(self) -> bool:
        """A folder or an archive, which holds one version only."""
        if self.reference.endswith((".tgz", ".tar.gz")) or self.reference.startswith((".", "/")):
            return True
        has_repository = "://" in self.reference or not self.body.at("repositoryOpts").is_absent
        return "/" in self.reference and not has_repository

    @cached_property
    def values(self) -> Field:
        """Its values as given, under them those of the files whose text the stack shows.

        A later file takes the place of an earlier one key by key, and `values` wins over both, as
        in the provider's `decodeRelease`.
        """
        stated = self.body.at("values")
        from_files: dict[str, Any] = {}
        for values in self._value_files:
            from_files |= values or {}
        if stated.is_unknown or not from_files:
            return stated
        own = stated.value if isinstance(stated.value, Mapping) else {}
        return Field(_merged(from_files, own), stated.path)

    @property
    def has_value_files(self) -> bool:
        """Values come from files that are not shown: what is absent here may be there."""
        return None in self._value_files

    @cached_property
    def _value_files(self) -> list[dict[str, Any] | None]:
        """Values of each file; None for one whose text the stack does not show."""
        listed = self.body.at("valueYamlFiles")
        return (
            [None] if listed.is_unknown else [parsed_values(file.value) for file in listed.items()]
        )

    def is_switched_on(self, switch: Field) -> bool:
        """Whether a part is installed that a chart installs unless its value says false.

        Raises:
            KnownAfterApplyError: if it is known after apply.
        """
        if switch.is_absent:
            return not self.has_value_files
        return switch.boolean() is not False

    @property
    def vendor(self) -> Vendor | None:
        """Whose GPUs its agents run on; None for a chart that is not known for one."""
        known: Vendor | None = _known_charts().get(self.name, {}).get("vendor")
        return known

    def toleration_lists(self) -> list[TolerationList]:
        """The lists of tolerations that its GPU agents get.

        Raises:
            KnownAfterApplyError: if whether a part is installed is known after apply.
        """
        lists = []
        for entry in _known_charts().get(self.name, {}).get("toleration_lists", []):
            switches = (self.values.at(*path) for path in entry.get("unless_false", ()))
            if any(switch.boolean() is False for switch in switches):
                continue
            given = self.values.at(*entry["path"])
            if given.is_absent and self.has_value_files:
                continue
            tolerations = Field(entry["default"], given.path) if given.is_absent else given
            lists.append(TolerationList(tuple(entry["path"]), tolerations))
        return lists


def parsed_values(text: object) -> dict[str, Any] | None:
    """The values of a text of YAML; None for anything but a mapping."""
    if not isinstance(text, str):
        return None
    try:
        values = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if values is None:
        return {}
    return {str(key): value for key, value in values.items()} if isinstance(values, dict) else None


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both, key by key; a null says nothing."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            merged[key] = _merged(below, value)
        elif value is not None:
            merged[key] = value
    return merged


@cache
def _known_charts() -> Mapping[str, Any]:
    text = files(__package__).joinpath("charts.yaml").read_text(encoding="utf-8")
    known: dict[str, Any] = yaml.safe_load(text)
    return known
