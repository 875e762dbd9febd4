"""A YAML file to plain values with their lines, within bounds. It knows nothing of stacks."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Final

import yaml

from berth.config.document import (
    DEEPEST_NESTING,
    SECRET,
    Document,
    check_characters,
    too_deep,
)
from berth.config.problems import ConfigError, Path, Problem, plain
from berth.config.scalars import UnusualNumberError, meaning
from berth.config.yaml_syntax import syntax_problem

LARGEST_FILE_BYTES: Final = 256 * 1024
MOST_VALUES: Final = 5_000
"""In one file, aliases written out."""


@dataclass(slots=True)
class _Node:
    line: int
    kind: str
    text: str = ""
    quoted: bool = False
    entries: list[tuple["_Node", "_Node"]] = field(default_factory=list)
    items: list["_Node"] = field(default_factory=list)
    values: int = 1
    """In the node and below, aliases written out."""
    levels: int = 1


def read_yaml_file(path: FilePath, file: str) -> Document:
    """The values of the file at `path`, which messages call `file`.

    Raises:
        ConfigError: if the file cannot be read, is not UTF-8 or not one YAML document, or
            exceeds a bound.
    """
    text = _read_text(path, file)
    document = Document(file)
    try:
        root = _compose(text, file)
        document.values = _values(root, (), document)
    except yaml.YAMLError as error:
        raise ConfigError([f"{file}:{syntax_problem(error, text)}"]) from None
    except (ValueError, OverflowError) as error:
        if isinstance(error, ConfigError):
            raise
        what = "an escape in double quotes, or a line that starts with %, that means nothing"
        raise ConfigError([f"{file}: {what}; write the character, or remove the line"]) from None
    return document


def _read_text(path: FilePath, file: str) -> str:
    try:
        if path.is_dir():
            raise ConfigError([f"{file}: is a folder; name a stack file in it"])
        if path.exists() and not path.is_file():
            raise ConfigError([f"{file}: is not a regular file; name a stack file"])
        with path.open("rb") as stream:
            content = stream.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError([f"{file}: no such file; name one that exists"]) from None
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        reason = getattr(error, "strerror", None) or "no valid file name"
        raise ConfigError(
            [f"{file}: cannot be read ({reason.lower()}); make it readable, or name another"]
        ) from None
    if len(content) > LARGEST_FILE_BYTES:
        kib = LARGEST_FILE_BYTES // 1024
        raise ConfigError([f"{file}: larger than {kib} KiB; a stack file has a few; name another"])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{content[error.start]:02x}"
        raise ConfigError([f"{file}:{line}: {byte} is not UTF-8; save the file as UTF-8"]) from None


def _compose(text: str, file: str) -> _Node:
    events: Iterator[yaml.Event] = yaml.parse(text, Loader=yaml.SafeLoader)
    composer = _Composer(file, events)
    return composer.only_document()


class _Composer:
    """Builds nodes from events; bounds depth and size while it goes, before memory is spent."""

    def __init__(self, file: str, events: Iterator[yaml.Event]) -> None:
        self._file = file
        self._events = events
        self._anchors: dict[str, _Node] = {}

    def only_document(self) -> _Node:
        next(self._events)
        if not isinstance(next(self._events), yaml.DocumentStartEvent):
            raise ConfigError([f"{self._file}: is empty; write the stack's settings below config:"])
        root = self._node(next(self._events), 1)
        next(self._events)
        after = next(self._events)
        if isinstance(after, yaml.DocumentStartEvent):
            raise self._refused(after, "a second document starts here; keep one per file")
        return root

    def _node(self, event: yaml.Event, depth: int) -> _Node:
        line = _place(event)[0]
        if depth > DEEPEST_NESTING:
            problem = too_deep(())
            raise self._refused(event, f"{problem.what}; {problem.fix}")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        self._check_tag(event)
        if isinstance(event, yaml.ScalarEvent):
            quoted = event.style is not None or event.tag in ("!", "tag:yaml.org,2002:str")
            node = _Node(line, "scalar", event.value, quoted)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = _Node(line, "sequence")
            while not isinstance(inner := next(self._events), yaml.SequenceEndEvent):
                self._grow(event, node, item := self._node(inner, depth + 1))
                node.items.append(item)
        else:
            node = _Node(line, "mapping")
            while not isinstance(inner := next(self._events), yaml.MappingEndEvent):
                self._grow(event, node, key := self._node(inner, depth + 1))
                self._grow(event, node, item := self._node(next(self._events), depth + 1))
                node.entries.append((key, item))
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _alias(self, event: yaml.AliasEvent, depth: int) -> _Node:
        node = self._anchors.get(event.anchor or "")
        if node is None:
            raise self._refused(event, "an alias without its anchor before it; write the value out")
        if depth + node.levels > DEEPEST_NESTING:
            problem = too_deep(())
            raise self._refused(event, f"{problem.what}; {problem.fix}")
        return node

    def _grow(self, event: yaml.Event, node: _Node, part: _Node) -> None:
        node.values += part.values
        node.levels = max(node.levels, part.levels + 1)
        if node.values > MOST_VALUES:
            what = f"more than {MOST_VALUES} values, aliases written out"
            raise self._refused(event, f"{what}; a stack has a few hundred; write fewer")

    def _check_tag(self, event: yaml.Event) -> None:
        tag = getattr(event, "tag", None)
        known = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq")}
        if tag not in (None, "!") and tag not in known:
            raise self._refused(event, "a tag (`!...`) is not read here; remove it")

    def _refused(self, event: yaml.Event, text: str) -> ConfigError:
        line, column = _place(event)
        return ConfigError([f"{self._file}:{line}:{column}: {text}"])


def _place(event: yaml.Event) -> tuple[int, int]:
    """Line and column, counted from 1."""
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _values(node: _Node, path: Path, document: Document) -> object:
    document.lines.setdefault(path, node.line)
    if node.kind == "scalar":
        return _scalar(node, path, document)
    if node.kind == "sequence":
        items = enumerate(node.items)
        return [_values(item, (*path, index), document) for index, item in items]
    entries = _entries(node, path, document)
    if "secure" in entries:
        document.secrets.append(path)
        return SECRET
    values: dict[str, object] = {}
    for key, (line, item) in entries.items():
        document.lines[(*path, key)] = line
        values[key] = _values(item, (*path, key), document)
    return values


def _scalar(node: _Node, path: Path, document: Document) -> object:
    check_characters(node.text, path, document)
    if node.quoted:
        return node.text
    document.written[path] = node.text
    try:
        return meaning(node.text)
    except UnusualNumberError:
        what = f"{plain(node.text)} is an unusual spelling of a number"
        fix = "write plain digits, or put it in quotes if it is text"
        document.problems.append(Problem(path, what, fix))
        return node.text


def _entries(node: _Node, path: Path, document: Document) -> dict[str, tuple[int, _Node]]:
    """Keys with their line and value; what `<<` merges comes last and never overrides."""
    own: dict[str, tuple[int, _Node]] = {}
    merged: dict[str, tuple[int, _Node]] = {}
    for key, item in node.entries:
        if key.kind != "scalar":
            what = "a list or mapping stands where a key should be"
            document.problems.append(Problem(path, what, "write a plain word before the colon"))
        elif key.text == "<<" and not key.quoted:
            for source in item.items or [item]:
                merged = _entries(source, path, document) | merged
        elif key.text in own:
            what = f"given twice, in lines {own[key.text][0]} and {key.line}"
            document.problems.append(Problem((*path, key.text), what, "keep one"))
        else:
            check_characters(key.text, path, document)
            own[key.text] = (key.line, item)
    return own | {key: entry for key, entry in merged.items() if key not in own}
