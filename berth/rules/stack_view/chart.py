"""Helm charts: their values, and what they do where the values say nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
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

    @property
    def values(self) -> Field:
        """Its values as given."""
        return self.body.at("values")

    @property
    def has_value_files(self) -> bool:
        """Values come from files too, so that what is absent here may be there."""
        listed = self.body.at("valueYamlFiles")
        return listed.is_unknown or bool(listed.value)

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
            switch = entry.get("unless_false")
            if switch and self.values.at(*switch).boolean() is False:
                continue
            given = self.values.at(*entry["path"])
            if given.is_absent and self.has_value_files:
                continue
            tolerations = Field(entry["default"], given.path) if given.is_absent else given
            lists.append(TolerationList(tuple(entry["path"]), tolerations))
        return lists


@cache
def _known_charts() -> Mapping[str, Any]:
    text = files(__package__).joinpath("charts.yaml").read_text(encoding="utf-8")
    known: dict[str, Any] = yaml.safe_load(text)
    return known
