"""Properties as the engine sends them, made plain data with an explicit `UNKNOWN`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf.struct_pb2 import Struct, Value
from pulumi_policy import deserialize, proxy

from berth.rules.unknown import UNKNOWN

_UNKNOWN_STRINGS: Final = frozenset(
    {
        proxy.UNKNOWN_ARCHIVE_VALUE,
        proxy.UNKNOWN_ARRAY_VALUE,
        proxy.UNKNOWN_ASSET_VALUE,
        proxy.UNKNOWN_BOOLEAN_VALUE,
        proxy.UNKNOWN_NUMBER_VALUE,
        proxy.UNKNOWN_OBJECT_VALUE,
        proxy.UNKNOWN_STRING_VALUE,
    }
)
_SHORTEST_SECRET: Final = 4
_SHORTEST_PART: Final = 6
"""A shorter one is a switch or a count, and blotting it out would spoil every text."""

_SEPARATORS: Final = re.compile(r"[\s:/@=,]+")
_PUBLIC_WORDS: Final = frozenset(
    {"Equal", "Exists", "NO_EXECUTE", "NO_SCHEDULE", "NoExecute", "NoSchedule", "false", "true"}
)
"""Words of Kubernetes that stay when somebody makes the whole of a pod secret."""


@dataclass(frozen=True, slots=True)
class Properties:
    """Plain values, and the texts among them that are secret."""

    values: Mapping[str, Any]
    secrets: set[str] = field(default_factory=set)


def plain_properties(struct: Struct) -> Properties:
    """Read the properties of one resource.

    Numbers that are whole become integers, an asset becomes its text where the engine sends it.
    """
    secrets: set[str] = set()
    values = {key: _plain(value, secrets, secret=False) for key, value in struct.fields.items()}
    return Properties(values, secrets)


def is_sealed(value: Any) -> bool:
    """Whether a value, as it travels, is secret, no plain data, or known after apply."""
    if isinstance(value, str):
        return value in _UNKNOWN_STRINGS
    return isinstance(value, Mapping) and deserialize.SPECIAL_SIG_KEY in value


def without_secrets(text: str, secrets: set[str]) -> str:
    """The text with every secret blotted out."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "[secret]")
    return text


def _tell_tale_parts(secret: str) -> set[str]:
    """The secret and its parts: a rule may show the name of an image without its tag."""
    parts = {part for part in _SEPARATORS.split(secret) if len(part) >= _SHORTEST_PART}
    whole = {secret} if len(secret) >= _SHORTEST_SECRET else set()
    return (parts | whole) - _PUBLIC_WORDS


def _plain(value: Value, secrets: set[str], *, secret: bool) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        text = value.string_value
        if text in _UNKNOWN_STRINGS:
            return UNKNOWN
        if secret:
            secrets |= _tell_tale_parts(text)
        return text
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [_plain(item, secrets, secret=secret) for item in value.list_value.values]
    if kind == "struct_value":
        return _plain_struct(value.struct_value, secrets, secret=secret)
    return None


def _plain_struct(struct: Struct, secrets: set[str], *, secret: bool) -> Any:
    fields = struct.fields
    if deserialize.SPECIAL_SIG_KEY not in fields:
        return {key: _plain(value, secrets, secret=secret) for key, value in fields.items()}
    signature = fields[deserialize.SPECIAL_SIG_KEY].string_value
    if signature == deserialize.SPECIAL_SECRET_SIG and "value" in fields:
        return _plain(fields["value"], secrets, secret=True)
    if signature == deserialize.SPECIAL_ASSET_SIG and "text" in fields:
        return _plain(fields["text"], secrets, secret=secret)
    return None
