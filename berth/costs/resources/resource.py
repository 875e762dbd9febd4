"""One resource as the engine shows it, its properties read when they are first asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec


@dataclass(eq=False)
class Declared:
    """A resource of one side of a preview, or of a state."""

    urn: str
    type: str
    id: str
    raw_inputs: msgspec.Raw
    raw_outputs: msgspec.Raw
    raw_links: msgspec.Raw
    parent: str = ""
    op: str = "same"

    @property
    def name(self) -> str:
        """The last part of its URN."""
        return self.urn.rpartition("::")[2] or self.type

    @cached_property
    def inputs(self) -> Mapping[str, Any]:
        """What its author gives; after an import or a read, what the provider knows."""
        return _mapping(self.raw_inputs)

    @cached_property
    def outputs(self) -> Mapping[str, Any]:
        """What the provider answers; in a first preview much of it is known after apply."""
        return _mapping(self.raw_outputs)

    @cached_property
    def links(self) -> Mapping[str, tuple[str, ...]]:
        """URNs of the resources that each property is made of."""
        return {
            key: tuple(str(urn) for urn in urns)
            for key, urns in _mapping(self.raw_links).items()
            if isinstance(urns, list)
        }


def _mapping(raw: msgspec.Raw) -> Mapping[str, Any]:
    value = msgspec.json.decode(raw) if len(memoryview(raw)) else None
    return value if isinstance(value, dict) else {}
