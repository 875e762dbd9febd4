"""Changes to the properties of one resource, which leave alone what is secret or not known yet."""

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

Path = tuple[str | int, ...]
IsSealed = Callable[[Any], bool]
"""Whether a value is secret or known after apply: it is neither read nor reached into."""

_STEP: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


@dataclass(frozen=True, slots=True)
class Edit:
    """One value to set. What is missing on the way to it is made."""

    path: Path
    value: Any = None
    copied_from: Path | None = None
    """Take the value that stands there instead."""
    append: bool = False
    """Add the value to the list at the path."""


class SealedError(Exception):
    """An edit would have to read or change what is secret or known after apply."""


def path_of(text: str) -> Path:
    """The steps of a path as `berth.rules.stack_view.field` writes it."""
    return tuple(
        int(bracketed) if bracketed.isdigit() else bracketed or plain
        for bracketed, plain in _STEP.findall(text)
    )


def apply_edits(
    props: Mapping[str, Any], edits: Iterable[Edit], is_sealed: IsSealed
) -> dict[str, Any]:
    """The properties with all edits made, in order; the ones given stay as they are.

    Raises:
        SealedError: if one edit cannot be made, and then none is.
    """
    changed = copy.deepcopy(dict(props))
    for edit in edits:
        value = edit.value
        if edit.copied_from is not None:
            value = copy.deepcopy(_read(changed, edit.copied_from, is_sealed))
        _write(changed, edit, value, is_sealed)
    return changed


def _read(node: Any, path: Path, is_sealed: IsSealed) -> Any:
    for step in path:
        node = _child(node, step, is_sealed)
    if _holds_sealed(node, is_sealed):
        raise SealedError
    return node


def _write(node: Any, edit: Edit, value: Any, is_sealed: IsSealed) -> None:
    *way, last = edit.path
    for place, step in enumerate(way):
        following = edit.path[place + 1]
        if isinstance(node, dict) and node.get(str(step)) is None:
            node[str(step)] = [] if isinstance(following, int) else {}
        node = _child(node, step, is_sealed)
    if is_sealed(node) or not isinstance(node, dict):
        raise SealedError
    standing = node.get(str(last))
    if is_sealed(standing):
        raise SealedError
    if not edit.append:
        node[str(last)] = value
    elif isinstance(standing, list):
        standing.append(value)
    elif standing is None:
        node[str(last)] = [value]
    else:
        raise SealedError


def _child(node: Any, step: str | int, is_sealed: IsSealed) -> Any:
    if is_sealed(node):
        raise SealedError
    if isinstance(step, int) and isinstance(node, list) and step < len(node):
        return node[step]
    if isinstance(node, dict) and str(step) in node:
        return node[str(step)]
    raise SealedError


def _holds_sealed(node: Any, is_sealed: IsSealed) -> bool:
    if is_sealed(node):
        return True
    if isinstance(node, dict):
        return any(_holds_sealed(value, is_sealed) for value in node.values())
    return isinstance(node, list) and any(_holds_sealed(item, is_sealed) for item in node)
