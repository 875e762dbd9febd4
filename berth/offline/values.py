"""Property values as the engine sends them, with `UNKNOWN` and `Secret` for its signatures."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from google.protobuf import struct_pb2

SIGNATURE_KEY: Final = "4dabf18193072939515e22adb298388d"
SECRET_SIGNATURE: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105  # a marker, no password
OUTPUT_SIGNATURE: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
UNKNOWN_SENTINELS: Final = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",  # string
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # boolean
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # list
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)
"""Source: https://github.com/pulumi/pulumi, sdk/go/common/resource/sig and plugin/rpc.go."""

_UNKNOWN_ON_THE_WIRE: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


class Unknown:
    """A value that exists only after the cloud has made the resource."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self


UNKNOWN: Final = Unknown()


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that the engine must encrypt in its state and hide in its output."""

    value: Any

    def __repr__(self) -> str:
        return "Secret(...)"


Properties = dict[str, Any]


def from_struct(struct: struct_pb2.Struct) -> Properties:
    """The properties of one resource, decoded."""
    return {key: _from_value(value) for key, value in struct.fields.items()}


def _from_value(value: struct_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value in UNKNOWN_SENTINELS else value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [_from_value(item) for item in value.list_value.values]
    if kind == "struct_value":
        return _from_object(from_struct(value.struct_value))
    return None


def _from_object(decoded: Properties) -> Any:
    signature = decoded.get(SIGNATURE_KEY)
    if signature == SECRET_SIGNATURE:
        return Secret(decoded.get("value"))
    if signature == OUTPUT_SIGNATURE:
        value = decoded.get("value", UNKNOWN)
        return Secret(value) if decoded.get("secret") else value
    return decoded


def to_struct(properties: Mapping[str, Any]) -> struct_pb2.Struct:
    """Encode the properties of one resource for the engine."""
    struct = struct_pb2.Struct()
    for key, value in properties.items():
        struct.fields[key].CopyFrom(_to_value(value))
    return struct


def _to_value(value: Any) -> struct_pb2.Value:
    if value is None:
        return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
    if value is UNKNOWN:
        return struct_pb2.Value(string_value=_UNKNOWN_ON_THE_WIRE)
    if isinstance(value, Secret):
        marked = {SIGNATURE_KEY: SECRET_SIGNATURE, "value": value.value}
        return struct_pb2.Value(struct_value=to_struct(marked))
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, int | float):
        return struct_pb2.Value(number_value=value)
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, Mapping):
        return struct_pb2.Value(struct_value=to_struct(value))
    items = [_to_value(item) for item in value]
    return struct_pb2.Value(list_value=struct_pb2.ListValue(values=items))


def plain(value: Any) -> Any:
    """The value without its `Secret` marks, at every depth."""
    if isinstance(value, Secret):
        return plain(value.value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def contains(value: Any, test: Callable[[Any], bool]) -> bool:
    """True if `test` holds for the value or for anything inside it."""
    if test(value):
        return True
    if isinstance(value, Secret):
        return contains(value.value, test)
    if isinstance(value, Mapping):
        return any(contains(item, test) for item in value.values())
    return isinstance(value, list) and any(contains(item, test) for item in value)


def is_unknown(value: Any) -> bool:
    """True for the unknown value itself, also inside a `Secret`."""
    return value is UNKNOWN or (isinstance(value, Secret) and is_unknown(value.value))


def has_unknown(value: Any) -> bool:
    """True if any part of the value is unknown."""
    return contains(value, lambda item: item is UNKNOWN)


def has_secret(value: Any) -> bool:
    """True if any part of the value is secret."""
    return contains(value, lambda item: isinstance(item, Secret))


def redacted(text: str, value: Any) -> str:
    """The text with every secret that is in `value` taken out of it."""
    for secret in secret_texts(value):
        text = text.replace(secret, "[secret]")
    return text


def secret_texts(value: Any, inside: bool = False) -> list[str]:
    """Every text and number inside a `Secret`, longest first."""
    if isinstance(value, Secret):
        found = secret_texts(value.value, True)
    elif isinstance(value, Mapping):
        found = [text for item in value.values() for text in secret_texts(item, inside)]
    elif isinstance(value, list):
        found = [text for item in value for text in secret_texts(item, inside)]
    else:
        found = [str(value)] if inside and isinstance(value, str | int | float) else []
    return sorted((text for text in found if text), key=len, reverse=True)


def conceal(value: Any) -> Any:
    """The value as a secret; one that is secret already stays as it is."""
    return value if isinstance(value, Secret) else Secret(value)


def at_pattern(value: Any, pattern: str) -> list[Any]:
    """Every value that a path such as `taints[].effect` speaks of; missing ones are left out."""
    found: list[Any] = [plain(value)]
    for step in steps(pattern):
        found = list(_descend(found, step))
    return found


def _descend(values: Iterable[Any], step: str) -> Iterable[Any]:
    for value in values:
        if step == "[]" and isinstance(value, list):
            yield from value
        elif isinstance(value, Mapping) and value.get(step) is not None:
            yield value[step]


def steps(pattern: str) -> list[str]:
    """`a.b[].c` as `["a", "b", "[]", "c"]`."""
    return [step for step in pattern.replace("[]", ".[]").split(".") if step]
