"""The pretended cloud: what exists, kept as JSON in a folder, so that all runs see one world."""

import fcntl
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from berth.offline.sealing import Sealer
from berth.offline.values import Properties, Secret

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Record:
    """One resource that exists.

    `scope` is what an id is unique within besides its type: a region, a cluster, or empty.
    """

    type: str
    scope: str
    id: str
    urn: str
    properties: Properties
    inputs: Properties = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Where the record is kept."""
        return "|".join((self.type, self.scope, self.id))


class Cloud:
    """Everything that exists in one state folder; safe against several processes at once."""

    def __init__(self, state_dir: Path) -> None:
        self._dir = state_dir
        self._dir.mkdir(parents=True, exist_ok=True)
        self._file = state_dir / "cloud.json"
        self._sealer = Sealer(state_dir / "cloud.key")
        self._mutex = threading.RLock()
        self._depth = 0

    def records(self) -> list[Record]:
        """All that exists, in the order of its making."""
        return list(self._load().values())

    def find(self, resource_type: str, scope: str, resource_id: str) -> Record | None:
        """One resource, or None."""
        return self._load().get("|".join((resource_type, scope, resource_id)))

    def of_type(self, resource_type: str, scope: str) -> list[Record]:
        """All resources of a type in one region or cluster."""
        return [r for r in self.records() if (r.type, r.scope) == (resource_type, scope)]

    def put(self, record: Record) -> None:
        """Add a resource, or write its new properties."""
        with self._changing() as records:
            records[record.key] = record

    def discard(self, resource_type: str, scope: str, resource_id: str) -> None:
        """Take a resource out; nothing happens if it is gone already."""
        with self._changing() as records:
            records.pop("|".join((resource_type, scope, resource_id)), None)

    def change(self, urn_or_id: str, path: str, value: Any) -> None:
        """Change a resource behind the program's back; a `value` of None takes the property away.

        Args:
            urn_or_id: a URN, a cloud id, or for Kubernetes `namespace/name`.
            path: such as `scalingConfig.desiredSize`, `taints[0].effect`, `tags["a.b/c"]`.
            value: what it becomes.

        Raises:
            LookupError: if no resource, or more than one, is meant, or the path leads nowhere.
        """
        record = self.get(urn_or_id)
        properties = _with_value(record.properties, _path_steps(path), value)
        self.put(replace(record, properties=properties))

    def remove(self, urn_or_id: str) -> None:
        """Delete a resource behind the program's back."""
        record = self.get(urn_or_id)
        self.discard(record.type, record.scope, record.id)

    def get(self, urn_or_id: str) -> Record:
        """The one resource that is meant.

        Raises:
            LookupError: if there is none, or more than one.
        """
        found = [r for r in self.records() if urn_or_id in (r.urn, r.id)]
        if len(found) == 1:
            return found[0]
        known = ", ".join(r.id for r in found or self.records()) or "nothing"
        problem = "is ambiguous" if found else "does not exist"
        raise LookupError(f"{urn_or_id}: {problem} in the pretended cloud; it has {known}")

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Nobody else changes anything inside the block: look first, then write."""
        with self._mutex:
            if self._depth:
                yield
                return
            with (self._dir / "cloud.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Record]]:
        with self.exclusive():
            records = self._load()
            yield records
            self._save(records)

    def _load(self) -> dict[str, Record]:
        try:
            document = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        rows = [Record(**self._sealer.unseal(row)) for row in document["resources"]]
        return {record.key: record for record in rows}

    def _save(self, records: Mapping[str, Record]) -> None:
        rows = [
            self._sealer.seal(
                {
                    "type": r.type,
                    "scope": r.scope,
                    "id": r.id,
                    "urn": r.urn,
                    "properties": r.properties,
                    "inputs": r.inputs,
                }
            )
            for r in records.values()
        ]
        text = json.dumps({"format": _FORMAT, "resources": rows}, indent=1)
        unfinished = self._file.with_suffix(".new")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(self._file)


def _path_steps(path: str) -> list[str | int]:
    found = re.findall(r'\["([^"]+)"\]|\[(\d+)\]|([^.\[\]]+)', path)
    return [int(index) if index else quoted or name for quoted, index, name in found]


def _with_value(current: Any, path: list[str | int], value: Any) -> Any:
    if not path:
        return value
    if isinstance(current, Secret):
        return Secret(_with_value(current.value, path, value))
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        if not isinstance(current, list) or step >= len(current):
            raise LookupError(f"[{step}]: no such element in {current!r}")
        return [_with_value(v, rest, value) if i == step else v for i, v in enumerate(current)]
    changed = dict(current or {})
    if not rest and value is None:
        changed.pop(step, None)
    else:
        changed[step] = _with_value(changed.get(step), rest, value)
    return changed
