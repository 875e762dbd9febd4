"""What is wrong with the inputs of a resource, as far as the SDK's types can tell."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from berth.offline.changes import Path, path_text
from berth.offline.shapes import Kind, ListOf, MapOf, ObjectOf, Scalar
from berth.offline.values import SIGNATURE_KEY, is_unknown


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that must change before the resource can be made."""

    path: Path
    text: str

    @property
    def property(self) -> str:
        """The top-level property that it belongs to, empty if it is about the whole."""
        return str(self.path[0]) if self.path else ""


def nearest(name: str, known: Iterable[str], *, close_enough: float = 0.6) -> str:
    """`; did you mean X`, or nothing if no known name is close."""
    match = difflib.get_close_matches(name, list(known), n=1, cutoff=close_enough)
    return f"; did you mean {match[0]}" if match else ""


def unknown_settings(config: Iterable[str], known: Iterable[str]) -> list[Problem]:
    """Keys of a provider configuration that no provider of the package has."""
    names = set(known) | {"version", "pluginDownloadURL"}
    return [
        Problem((key,), f"unknown setting {key}{nearest(key, names)}")
        for key in config
        if key not in names and not key.startswith("__")
    ]


@dataclass(frozen=True, slots=True)
class ShapeCheck:
    """Looks for unknown properties, missing ones and wrong types.

    `strict` refuses a number where a string belongs, as a Kubernetes API server does; the AWS
    provider converts one into the other. `takes_number` names the texts that the server reads from
    a number too.
    """

    strict: bool
    takes_number: Callable[[Path], bool] = lambda path: False

    def problems(
        self,
        fields: Mapping[str, Kind],
        required: Iterable[str],
        inputs: Mapping[str, Any],
        path: Path = (),
    ) -> Iterator[Problem]:
        """Every problem of one resource or one block of it, in the order of the inputs."""
        for name in required:
            if inputs.get(name) is None:
                where = (*path, name)
                yield Problem(where, f"missing required property {path_text(where)}")
        for name, value in inputs.items():
            if name.startswith("__") or value is None:
                continue
            where = (*path, name)
            if name not in fields:
                hint = nearest(name, fields)
                yield Problem(where, f"unknown property {path_text(where)}{hint}")
            else:
                yield from self._value(fields[name], value, where)

    def _value(self, kind: Kind, value: Any, path: Path) -> Iterator[Problem]:
        if is_unknown(value) or value is None:
            return
        if isinstance(value, Mapping) and SIGNATURE_KEY in value:
            return
        if isinstance(kind, Scalar):
            yield from self._scalar(kind, value, path)
        elif isinstance(kind, ListOf):
            if not isinstance(value, list):
                yield self._wrong("a list", value, path)
                return
            for index, item in enumerate(value):
                yield from self._value(kind.item, item, (*path, index))
        elif not isinstance(value, Mapping):
            yield self._wrong("an object", value, path)
        elif isinstance(kind, MapOf):
            for key, item in value.items():
                yield from self._value(kind.item, item, (*path, key))
        elif isinstance(kind, ObjectOf):
            yield from self.problems(kind.fields, sorted(kind.required), value, path)

    def _scalar(self, kind: Scalar, value: Any, path: Path) -> Iterator[Problem]:
        if kind.name == "any":
            return
        if isinstance(value, Mapping | list):
            yield self._wrong(f"a {kind.name}", value, path)
        elif self.strict:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if kind.name == "string" and is_number and self.takes_number(path):
                return
            if not _is_exactly(kind.name, value):
                yield self._wrong(f"a {kind.name}", value, path)
        elif not _can_become(kind.name, value):
            yield self._wrong(f"a {kind.name}", value, path)

    def _wrong(self, wanted: str, value: Any, path: Path) -> Problem:
        given = {bool: "boolean", int: "number", float: "number", str: "string", list: "list"}
        name = given.get(type(value), "object")
        wanted = wanted.replace("a integer", "an integer")
        return Problem(path, f"{path_text(path)} must be {wanted}, not a {name}")


def _is_exactly(name: str, value: Any) -> bool:
    if name == "string":
        return isinstance(value, str)
    if name == "boolean":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (name == "number" and isinstance(value, float))


def _can_become(name: str, value: Any) -> bool:
    if name == "boolean":
        return isinstance(value, bool) or value in ("true", "false", "", "1", "0")
    if name in ("integer", "number"):
        if isinstance(value, str):
            return _is_number(value)
        return not isinstance(value, bool)
    return True


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
