"""A place in a resource's properties: reading it never fails but on a value known after apply."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from berth.rules.unknown import UNKNOWN, KnownAfterApplyError

_BEYOND_ANY = 10**18
"""No count of anything is so large."""
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Field:
    """A value and the path to it.

    A value of a shape that the owner of the resource would refuse reads as absent: rules judge
    what is there, and the API server says what is malformed.
    """

    value: Any
    path: str = ""

    def at(self, *steps: str | int) -> "Field":
        """The place `steps` further down; its value is None where there is none."""
        here = self
        for step in steps:
            here = here._step(step)
        return here

    def _step(self, step: str | int) -> "Field":
        if self.value is UNKNOWN:
            return self
        path = self._path_to(step)
        if isinstance(step, int):
            found = self.value[step] if _is_list(self.value) and step < len(self.value) else None
        else:
            found = self.value.get(step) if isinstance(self.value, Mapping) else None
        return Field(found, path)

    def _path_to(self, step: str | int) -> str:
        if isinstance(step, int) or not _is_plain(step):
            return f"{self.path}[{step}]"
        return f"{self.path}.{step}" if self.path else step

    @property
    def is_unknown(self) -> bool:
        """The value is known after apply."""
        return self.value is UNKNOWN

    @property
    def is_absent(self) -> bool:
        """There is no value; what is known after apply is not absent."""
        return self.value is None

    def known(self) -> Any:
        """The value.

        Raises:
            KnownAfterApplyError: if it is known after apply.
        """
        if self.value is UNKNOWN:
            raise KnownAfterApplyError(self.path)
        return self.value

    def text(self) -> str | None:
        """A string, or None where there is none."""
        value = self.known()
        return value if isinstance(value, str) else None

    def boolean(self) -> bool | None:
        """A boolean, also one spelled as text, or None."""
        value = self.known()
        if isinstance(value, str):
            return {"true": True, "false": False}.get(value.strip().lower())
        return value if isinstance(value, bool) else None

    def integer(self) -> int | None:
        """A whole number, also one spelled as text or as a float, or None."""
        value = self.known()
        if isinstance(value, bool):
            return None
        if isinstance(value, float):
            value = int(value) if value.is_integer() else None
        elif isinstance(value, str):
            value = int(value) if re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", value) else None
        return value if isinstance(value, int) and abs(value) < _BEYOND_ANY else None

    def entries(self) -> dict[str, "Field"]:
        """The entries of a mapping by key; empty where there is none."""
        value = self.known()
        if not isinstance(value, Mapping):
            return {}
        return {key: self.at(key) for key in value if isinstance(key, str)}

    def items(self) -> list["Field"]:
        """The items of a list; empty where there is none."""
        value = self.known()
        return [self.at(index) for index in range(len(value))] if _is_list(value) else []


@lru_cache(maxsize=4096)
def _is_plain(step: str) -> bool:
    return _PLAIN_KEY.fullmatch(step) is not None


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
