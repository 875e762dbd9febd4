"""Cases of one rule, each a few changes to a stack of its example: one file per rule in `cases/`.

A path starts with the place of a resource in the example, or with `pod` or `c`: the first pod
template, and its first container. `!absent` takes a value away, `!unknown` is known after apply.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, get_args

import yaml

from berth.rules.edit import path_of
from berth.rules.example import as_resources, load_example
from berth.rules.resource import Resource
from berth.rules.unknown import UNKNOWN

Outcome = Literal["fires", "silent", "does not apply", "unknown"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
FOLDER: Final = Path(__file__).parent / "cases"

_ABSENT: Final = object()


class _Loader(yaml.CSafeLoader):
    """Reads the two marks."""


_Loader.add_constructor("!absent", lambda loader, node: _ABSENT)
_Loader.add_constructor("!unknown", lambda loader, node: UNKNOWN)


@dataclass(frozen=True, slots=True)
class Case:
    """One stack and what its rule must say of it."""

    rule: str
    outcome: Outcome
    when: str
    """What is special about the stack."""
    change: Mapping[str, Any] = field(default_factory=dict)
    """Values by path."""
    start: Literal["bad", "good"] = "bad"
    add: tuple[Mapping[str, Any], ...] = ()
    """Entries after those of the example."""
    options: Mapping[str, Any] = field(default_factory=dict)
    environment: Literal["dev", "prod"] | None = None
    level: Literal["advisory", "mandatory"] | None = None
    """Of every finding, where the case is about it."""
    count: int = 1
    """Findings."""
    says: str | None = None
    """The message, word for word."""
    fix: str | None = None
    open: tuple[str, ...] = ()
    """What is not known yet: `RESOURCE: FIELD`."""

    @property
    def id(self) -> str:
        """As a test is called."""
        return f"{self.rule}: {self.outcome}: {self.when}"

    def stack(self) -> list[Resource]:
        """The resources."""
        entries: list[Any] = copy.deepcopy(list(getattr(load_example(self.rule), self.start)))
        entries += copy.deepcopy(list(self.add))
        for path, value in self.change.items():
            _put(entries, path, value)
        return as_resources([entry for entry in entries if entry is not None])


@cache
def cases_of(rule_id: str) -> tuple[Case, ...]:
    """The cases of a rule."""
    text = (FOLDER / f"{rule_id}.yaml").read_text("utf-8")
    listed = yaml.load(text, Loader=_Loader)
    return tuple(
        Case(rule_id, outcome, **{**entry, **{k: tuple(entry.get(k, ())) for k in ("add", "open")}})
        for outcome, entries in listed.items()
        for entry in entries
    )


def _has_pod(entry: Any) -> bool:
    template = ((entry or {}).get("spec") or {}).get("template") or {}
    return "containers" in template.get("spec", {})


def _put(entries: list[Any], path: str, value: Any) -> None:
    head, *rest = path_of(path)
    if head in ("pod", "c"):
        place = next(i for i, entry in enumerate(entries) if _has_pod(entry))
        steps: list[Any] = [place, "spec", "template", "spec"]
        steps += ["containers", 0, *rest] if head == "c" else rest
    else:
        place = int(head)
        steps = [place, *(() if "apiVersion" in entries[place] else ("properties",)), *rest]
    if len(steps) == 1 or steps[1:] == ["properties"]:
        entries[place] = None
        return
    node: Any = entries
    for step, following in pairwise(steps):
        if isinstance(step, str) and step not in node:
            node[step] = [] if isinstance(following, int) else {}
        elif isinstance(step, int) and step == len(node):
            node.append([] if isinstance(following, int) else {})
        node = node[step]
    last = steps[-1]
    if value is _ABSENT:
        del node[last]
    elif isinstance(last, int) and last == len(node):
        node.append(value)
    else:
        node[last] = value
