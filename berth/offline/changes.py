"""What differs between two sets of inputs, compared as the provider compares them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from berth.offline.values import is_unknown

Path = tuple[str | int, ...]
ChangeKind = Literal["add", "delete", "update"]

_DOCUMENT = re.compile(r"policy(document)?$", re.IGNORECASE)
_PLAIN_KEY = re.compile(r"^[A-Za-z_$][\w$]*$")


@dataclass(frozen=True, slots=True)
class Change:
    """One property that differs."""

    path: Path
    kind: ChangeKind
    old: Any
    new: Any
    in_inputs: bool = True
    """False for an output that changes though the program's inputs do not."""

    @property
    def pattern(self) -> str:
        """The path with every index as `[]`, as the tables name it."""
        return pattern_of(self.path)

    @property
    def text(self) -> str:
        """The path as the engine writes it."""
        return path_text(self.path)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a provider compares: `lenient` is the AWS provider's way, else the Kubernetes way.

    Lenient: an empty block is no block, "3" is 3, policy documents are compared by meaning.
    `sets` are patterns of lists whose order does not count.
    """

    lenient: bool
    sets: frozenset[str] = frozenset()

    def changes(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
        """All differences of two plain property maps, in the order of their keys."""
        return list(self._in_map((), old, new))

    def _in_map(
        self, path: Path, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Change]:
        for key in [*old, *(key for key in new if key not in old)]:
            if not key.startswith("__"):
                yield from self._in_value((*path, key), old.get(key), new.get(key))

    def _in_value(self, path: Path, old: Any, new: Any) -> Iterator[Change]:
        if self._same(path, old, new):
            return
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from self._in_map(path, old, new)
        elif isinstance(old, list) and isinstance(new, list):
            if pattern_of(path) in self.sets:
                yield from self._in_set(path, old, new)
            else:
                yield from self._in_list(path, old, new)
        elif self._missing(old):
            yield Change(path, "add", None, new)
        elif self._missing(new):
            yield Change(path, "delete", old, None)
        else:
            yield Change(path, "update", old, new)

    def _in_list(self, path: Path, old: list[Any], new: list[Any]) -> Iterator[Change]:
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else None
            after = new[index] if index < len(new) else None
            yield from self._in_value((*path, index), before, after)

    def _in_set(self, path: Path, old: list[Any], new: list[Any]) -> Iterator[Change]:
        rest = list(enumerate(new))
        for index, item in enumerate(old):
            match = next((e for e in rest if self._same((*path, 0), item, e[1])), None)
            if match is None:
                yield Change((*path, index), "delete", item, None)
            else:
                rest.remove(match)
        for index, item in rest:
            yield Change((*path, index), "add", None, item)

    def _missing(self, value: Any) -> bool:
        return value is None or (self.lenient and value in ({}, []))

    def _same(self, path: Path, old: Any, new: Any) -> bool:
        if is_unknown(old) or is_unknown(new):
            return False
        if self._missing(old) and self._missing(new):
            return True
        if isinstance(old, Mapping | list) or isinstance(new, Mapping | list):
            return type(old) is type(new) and not any(self._inside(path, old, new))
        if self.lenient:
            if _text(old) == _text(new):
                return True
            return _is_document(path) and _same_document(old, new)
        return isinstance(old, bool) == isinstance(new, bool) and bool(old == new)

    def _inside(self, path: Path, old: Any, new: Any) -> Iterator[Change]:
        if isinstance(old, Mapping):
            return self._in_map(path, old, new)
        if pattern_of(path) in self.sets:
            return self._in_set(path, old, new)
        return self._in_list(path, old, new)


def pattern_of(path: Path) -> str:
    """`("taints", 0, "key")` as `taints[].key`."""
    text = "".join("[]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def path_text(path: Path) -> str:
    """`("tags", "a.b", 0)` as `tags["a.b"][0]`."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN_KEY.match(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f'["{step}"]')
    return "".join(parts)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _is_document(path: Path) -> bool:
    return isinstance(path[-1], str) and _DOCUMENT.search(path[-1]) is not None


def _same_document(old: Any, new: Any) -> bool:
    try:
        return bool(_meaning(json.loads(old)) == _meaning(json.loads(new)))
    except (TypeError, ValueError):
        return False


def _meaning(document: Any, key: str = "") -> Any:
    """A policy document with what does not count taken out: order, and lists of one."""
    if isinstance(document, Mapping):
        return {name: _meaning(item, name) for name, item in document.items()}
    if isinstance(document, list):
        if len(document) == 1 and key != "":
            return _meaning(document[0], key)
        items = [_meaning(item) for item in document]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    return document
