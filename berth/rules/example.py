"""A stack that breaks a rule, and the same stack mended: one file per rule in `examples/`.

Kubernetes objects stand there as manifests, everything else as type, name and properties.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml

from berth.rules.check import check
from berth.rules.finding import Finding
from berth.rules.resource import Resource, manifest_type

_FOLDER: Final = "examples"


@dataclass(frozen=True, slots=True)
class Example:
    """What a rule finds, and how it looks without the mistake."""

    story: str
    """What is wrong with the bad one, in one sentence."""
    bad: Sequence[Mapping[str, Any]]
    good: Sequence[Mapping[str, Any]]

    def findings(self) -> tuple[Finding, ...]:
        """What all rules say of the bad one."""
        return check(as_resources(self.bad)).findings


@cache
def load_example(rule_id: str) -> Example:
    """The example of a rule."""
    text = files("berth.rules").joinpath(_FOLDER, f"{rule_id}.yaml").read_text("utf-8")
    return Example(**yaml.load(text, Loader=yaml.CSafeLoader))


def as_resources(entries: Sequence[Mapping[str, Any]]) -> list[Resource]:
    """The entries of an example as the rules read them."""
    return [_as_resource(entry) for entry in entries]


def name_of_entry(entry: Mapping[str, Any]) -> str:
    """Kind and name of an entry, as a text calls it."""
    resource = _as_resource(entry)
    return f"{resource.type.rpartition(':')[2]} {resource.name}"


def _as_resource(entry: Mapping[str, Any]) -> Resource:
    if "apiVersion" not in entry:
        return Resource(entry["type"], entry["name"], entry["name"], entry["properties"])
    token = manifest_type(entry["apiVersion"], entry["kind"])
    name = entry["metadata"]["name"]
    return Resource(token, name, f"{token}::{name}", entry)
