"""Bytes to resources: `pulumi preview --json` and `pulumi stack export`.

The file is never turned into Python objects as a whole: properties stay bytes until a kind of
resource that costs money asks for them.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from berth.costs.resources.resource import Declared

_NOTHING: Final = msgspec.Raw(b"{}")


class DocumentError(ValueError):
    """The input cannot be read; the text says what is wrong and what to give instead."""


class _State(msgspec.Struct):
    urn: str = ""
    type: str = ""
    id: str | None = None
    custom: bool = True
    external: bool = False
    delete: bool = False
    parent: str | None = None
    inputs: msgspec.Raw = _NOTHING
    outputs: msgspec.Raw = _NOTHING
    propertyDependencies: msgspec.Raw = _NOTHING  # noqa: N815  the engine's spelling


class _Step(msgspec.Struct):
    op: str = ""
    urn: str = ""
    oldState: _State | None = None  # noqa: N815  the engine's spelling
    newState: _State | None = None  # noqa: N815  the engine's spelling


class _Diagnostic(msgspec.Struct):
    severity: str = ""
    message: str = ""


class _Preview(msgspec.Struct):
    steps: list[_Step]
    config: dict[str, Any] | None = None
    diagnostics: list[_Diagnostic] | None = None
    changeSummary: dict[str, int] | None = None  # noqa: N815  the engine's spelling
    maybeCorrupt: bool = False  # noqa: N815  the engine's spelling


class _Deployment(msgspec.Struct):
    resources: list[_State] | None = None


class _Export(msgspec.Struct):
    deployment: _Deployment


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Resources that the document should have and has not."""

    resource: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The resources of a stack at one moment, by URN."""

    resources: Mapping[str, Declared]
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDocument:
    """A stack as the engine shows it: before the change and after; of an export both are equal."""

    stack: str
    before: Side
    after: Side
    config: Mapping[str, Any] = field(default_factory=dict)
    """The stack's settings as texts; an export has none."""
    errors: tuple[str, ...] = ()
    """What a preview that failed says."""


def read_engine_document(data: bytes, where: str) -> EngineDocument:
    """The resources in `data`, which is named `where` in messages.

    Raises:
        DocumentError: if it is neither a preview nor an export, or is cut off.
    """
    try:
        kind = msgspec.json.decode(data, type=_Kind)
        if bytes(kind.steps):
            return _of_preview(msgspec.json.decode(data, type=_Preview))
        if bytes(kind.deployment):
            return _of_export(msgspec.json.decode(data, type=_Export))
    except msgspec.ValidationError as error:
        raise DocumentError(
            f"{where}: not as the engine writes it ({_plain(error)}); "
            "give the output of `pulumi preview --json` as it is"
        ) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise DocumentError(_not_one_document(data, where, _plain(error))) from None
    raise DocumentError(
        f"{where}: neither a preview nor an export; give the output of "
        "`pulumi preview --json --show-sames` or `pulumi stack export`"
    )


def _not_one_document(data: bytes, where: str, error: str) -> str:
    """Why `data` is no JSON document: several one after the other, or none that is whole."""
    start = data[:_LOOKED_AT].lstrip()
    try:
        first, end = json.JSONDecoder().raw_decode(start.decode("utf-8", "ignore"))
    except (ValueError, RecursionError):
        first, end = None, 0
    if isinstance(first, dict) and "sequence" in first and "steps" not in first:
        return (
            f"{where}: a stream of the engine's events, not a preview; make it again without "
            "PULUMI_ENABLE_STREAMING_JSON_PREVIEW"
        )
    if (end and len(start) > end) or _DOCUMENTS.search(data):
        return f"{where}: several JSON documents in one file; give each of them alone"
    return f"{where}: no whole JSON ({error}); make it again"


_LOOKED_AT: Final = 100_000
"""Bytes in which the first event of a stream ends."""
_DOCUMENTS: Final = re.compile(rb"^\}\s*\{", re.MULTILINE)
"""The end of one document as the engine lays it out, and the start of the next."""


class _Kind(msgspec.Struct):
    steps: msgspec.Raw = msgspec.Raw(b"")
    deployment: msgspec.Raw = msgspec.Raw(b"")


def _plain(error: Exception) -> str:
    return str(error).removeprefix("JSON is malformed: ").replace("`", "")


GONE: Final = frozenset({"delete", "delete-replaced", "discard", "discard-replaced"})
NOT_OURS: Final = frozenset({"read", "read-replacement", "remove-pending-replace"})
NEW: Final = frozenset({"create", "import", "import-replacement", "create-replacement"})


def _of_preview(preview: _Preview) -> EngineDocument:
    before: dict[str, Declared] = {}
    after: dict[str, Declared] = {}
    lost: list[Gap] = []
    for step in preview.steps:
        if step.op in NOT_OURS:
            continue
        if step.oldState is not None and step.op not in NEW:
            _put(before, step.oldState, step)
        if step.op in GONE:
            continue
        if step.newState is not None:
            _put(after, step.newState, step)
        else:
            lost.append(Gap(resource=_name(step.urn), reason="its state is not in the preview"))
    hidden = _hidden(preview)
    urn = preview.steps[0].urn if preview.steps else ""
    return EngineDocument(
        stack=_stack(urn),
        before=Side(resources=before, gaps=hidden),
        after=Side(resources=after, gaps=(*hidden, *lost)),
        config=preview.config or {},
        errors=tuple(
            each.message.strip()
            for each in preview.diagnostics or ()
            if each.severity == "error" and each.message.strip()
        ),
    )


def _put(side: dict[str, Declared], state: _State, step: _Step) -> None:
    if state.external or not state.type:
        return
    urn = state.urn or step.urn
    side[urn] = _declared(state, urn, step.op)


def _declared(state: _State, urn: str, op: str) -> Declared:
    return Declared(
        urn=urn,
        type=state.type,
        id=state.id or "",
        raw_inputs=state.inputs,
        raw_outputs=state.outputs,
        raw_links=state.propertyDependencies,
        parent=state.parent or "",
        op=op,
    )


def _hidden(preview: _Preview) -> tuple[Gap, ...]:
    """What `pulumi preview` leaves out because it does not change."""
    same = (preview.changeSummary or {}).get("same", 0)
    shown = sum(step.op == "same" for step in preview.steps)
    if same <= shown or (shown <= 1 and same <= 1):
        return ()
    words = f"{same - shown} unchanged resources"
    return (Gap(resource=words, reason="left out of this preview; add --show-sames to it"),)


def _of_export(export: _Export) -> EngineDocument:
    states = export.deployment.resources or []
    resources = {
        state.urn: _declared(state, state.urn, "same")
        for state in states
        if not state.external and not state.delete and state.type
    }
    side = Side(resources=resources)
    return EngineDocument(stack=_stack(states[0].urn if states else ""), before=side, after=side)


def _stack(urn: str) -> str:
    parts = urn.split("::")[0].split(":")
    return parts[2] if len(parts) > 2 else ""


def _name(urn: str) -> str:
    return urn.rpartition("::")[2] or "a resource"
