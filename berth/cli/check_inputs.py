"""What `berth check` reads: manifests, Pulumi states and previews, lists of resources."""

import io
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from berth.costs.resources.values import SECRET_SIGNATURE, SIGNATURE, UNKNOWN_VALUES
from berth.policy_pack.author_first import author_first
from berth.rules.resource import Resource, manifest_type
from berth.rules.unknown import UNKNOWN

_ASSET_SIGNATURE: Final = "c44067f5952c0a294b673a41bacd8c17"
"""Marks an asset in a state, whose text is in it or, for a file, is not."""
_ENDINGS: Final = (".json", ".yaml", ".yml")
_SEPARATOR: Final = re.compile(r"^---(?:\s.*)?$")
_DEEPEST: Final = 60


@dataclass(frozen=True, slots=True)
class Place:
    """Where a resource is written."""

    path: str
    line: int


@dataclass(slots=True)
class Inputs:
    """Everything that was read; each stack is judged by itself."""

    stacks: list[list[Resource]] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    """By the URN that a resource has or was given."""
    problems: list[str] = field(default_factory=list)
    """`file:line: what is wrong; what to do`, for what could not be read."""
    forget: "Forget" = lambda resource, place: False


Forget = Callable[[Resource, Place], bool]
"""Whether a manifest has been judged as it was read and need not be kept."""


def read_inputs(
    paths: list[str], *, ignore_others: bool = False, forget: Forget = lambda resource, place: False
) -> Inputs:
    """Read all paths: files, folders of them, and `-` for standard input.

    Manifests of all paths are one stack; a state, a preview or a list is one of its own.

    Args:
        paths: as they were given.
        ignore_others: a file that holds no resources is no problem, as it never is in a folder.
        forget: asked of each manifest; those that it says yes to are in no stack.
    """
    inputs = Inputs(forget=forget)
    manifests: list[Resource] = []
    for name, lines, is_named in _files(paths, inputs):
        try:
            _read_lines(name, lines, is_named and not ignore_others, manifests, inputs)
        except UnicodeDecodeError:
            inputs.problems.append(f"{name}: cannot be read (not utf-8 text); name another")
    if manifests:
        inputs.stacks.append(manifests)
    return inputs


def _files(paths: list[str], inputs: Inputs) -> Iterator[tuple[str, Iterator[str], bool]]:
    """Every file with its lines; read as they are asked for, so that a large one is never held."""
    for name in paths:
        if name == "-":
            yield "<stdin>", iter(sys.stdin), True
            continue
        path = Path(name)
        files = [path]
        if path.is_dir():
            files = sorted(p for p in path.rglob("*") if p.suffix in _ENDINGS and p.is_file())
            if not files:
                inputs.problems.append(f"{name}: no YAML or JSON files in it; name another folder")
        for file in files:
            try:
                opened = file.open(encoding="utf-8")
            except OSError as error:
                reason = (error.strerror or "unreadable").lower()
                inputs.problems.append(f"{file}: cannot be read ({reason}); name another")
                continue
            with opened:
                yield str(file), iter(opened), file is path


def _read_lines(
    name: str, lines: Iterator[str], is_named: bool, manifests: list[Resource], inputs: Inputs
) -> None:
    start: list[str] = []
    for first in lines:
        start.append(first)
        if first.strip():
            break
    lines = itertools.chain(start, lines)
    if "".join(start).lstrip()[:1] in ("{", "["):
        text = "".join(lines)
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None
        if data is not None:
            _read_document(name, 1, data, is_named, manifests, inputs)
            return
        lines = iter(io.StringIO(text))
    seen = 0
    for line, part in _documents(lines):
        try:
            data = yaml.load(part, Loader=yaml.CSafeLoader)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            at = line + (mark.line if mark else 0)
            what = getattr(error, "problem", None) or "no YAML"
            inputs.problems.append(
                f"{name}:{at}: {what}; mend it (the other documents are checked)"
            )
            seen += 1
            continue
        if data is not None:
            seen += 1
            _read_document(name, line, data, is_named, manifests, inputs)
    if is_named and not seen:
        inputs.problems.append(f"{name}: nothing in it; name a file with manifests or resources")


def _documents(text: Iterator[str]) -> Iterator[tuple[int, str]]:
    """The documents of a file, each with the number of its first line."""
    start = 1
    lines: list[str] = []
    for number, line in enumerate(text, start=1):
        if _SEPARATOR.match(line.rstrip("\n")):
            yield start, "".join(lines)
            start, lines = number + 1, []
        else:
            lines.append(line)
    yield start, "".join(lines)


def _read_document(
    name: str, line: int, data: Any, is_named: bool, manifests: list[Resource], inputs: Inputs
) -> None:
    if isinstance(data, list):
        _add_stack(name, line, list(_listed(name, data, inputs)), inputs)
    elif isinstance(data, Mapping) and "deployment" in data:
        _add_stack(name, line, list(_of_state(data["deployment"])), inputs)
    elif isinstance(data, Mapping) and isinstance(data.get("steps"), list):
        _add_stack(name, line, list(_of_preview(data["steps"])), inputs)
    elif isinstance(data, Mapping) and data.get("apiVersion") and data.get("kind"):
        for resource in _manifests(name, line, data):
            place = Place(name, line)
            if not inputs.forget(resource, place):
                inputs.places[resource.urn] = place
                manifests.append(resource)
    elif is_named:
        inputs.problems.append(
            f"{name}:{line}: neither a manifest, a Pulumi state or preview, nor a list of "
            "{type, name, props}; name one of these"
        )


def _add_stack(name: str, line: int, resources: list[Resource], inputs: Inputs) -> None:
    for resource in resources:
        if resource.urn:
            inputs.places.setdefault(resource.urn, Place(name, line))
    inputs.stacks.append(resources)


def _manifests(name: str, line: int, data: Mapping[str, Any], depth: int = 0) -> Iterator[Resource]:
    items = data.get("items")
    if str(data["kind"]).endswith("List") and isinstance(items, list) and depth < _DEEPEST:
        for item in items:
            if isinstance(item, Mapping) and item.get("apiVersion") and item.get("kind"):
                yield from _manifests(name, line, item, depth + 1)
        return
    version, kind = str(data["apiVersion"]), str(data["kind"])
    token = manifest_type(version, kind)
    metadata = data.get("metadata")
    own = metadata if isinstance(metadata, Mapping) else {}
    called = own.get("name") or own.get("generateName") or kind.lower()
    yield Resource(token, str(called), f"{name}:{line}:{kind}/{called}", data)


def _listed(name: str, listed: list[Any], inputs: Inputs) -> Iterator[Resource]:
    for index, entry in enumerate(listed):
        is_whole = (
            isinstance(entry, Mapping)
            and isinstance(entry.get("type"), str)
            and isinstance(entry.get("props"), Mapping)
        )
        if not is_whole:
            inputs.problems.append(f"{name}: entry {index}: no resource; give type, name and props")
            continue
        called = str(entry.get("name") or entry["type"].rpartition(":")[2])
        urn = str(entry.get("urn") or f"{name}:{index}:{called}")
        yield Resource(entry["type"], called, urn, _plain(entry["props"]))


def _of_state(deployment: Any) -> Iterator[Resource]:
    resources = deployment.get("resources") if isinstance(deployment, Mapping) else None
    for entry in resources if isinstance(resources, list) else ():
        if isinstance(entry, Mapping) and not entry.get("delete"):
            yield from engine_resources(entry)


def _of_preview(steps: list[Any]) -> Iterator[Resource]:
    for step in steps:
        state = step.get("newState") if isinstance(step, Mapping) else None
        if isinstance(state, Mapping) and "delete" not in str(step.get("op")):
            yield from engine_resources(state)


def engine_resources(state: Mapping[str, Any]) -> Iterator[Resource]:
    """The resource of a state as the engine writes it; none for the engine's own."""
    token, urn = str(state.get("type") or ""), str(state.get("urn") or "")
    if not token or token.startswith("pulumi:"):
        return
    inputs, outputs = _plain(state.get("inputs") or {}), _plain(state.get("outputs") or {})
    if not isinstance(inputs, Mapping) or not isinstance(outputs, Mapping):
        return
    made_of = state.get("propertyDependencies")
    links = {
        str(key): tuple(map(str, urns))
        for key, urns in (made_of.items() if isinstance(made_of, Mapping) else ())
        if isinstance(urns, list)
    }
    values = author_first(inputs, outputs) if inputs else outputs
    yield Resource(token, urn.rpartition("::")[2] or token, urn, values, links)


def _plain(value: Any, depth: int = 0) -> Any:
    """Values as the rules read them: what is known after apply, and what is secret, by marks."""
    if isinstance(value, str):
        return UNKNOWN if value in UNKNOWN_VALUES else value
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value.get(SIGNATURE) == SECRET_SIGNATURE:
        return _secret(value, depth)
    if value.get(SIGNATURE) == _ASSET_SIGNATURE:
        text = value.get("text")
        return text if isinstance(text, str) else None
    return {str(key): _plain(item, depth + 1) for key, item in value.items()}


def _secret(value: Mapping[str, Any], depth: int) -> Any:
    text = value.get("plaintext")
    try:
        return _plain(json.loads(text), depth + 1) if isinstance(text, str) else "[secret]"
    except ValueError:
        return "[secret]"
