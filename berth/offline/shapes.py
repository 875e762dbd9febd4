"""What the installed Pulumi SDKs say about a resource type: inputs, outputs, their kinds."""

import importlib
import inspect
import json
import threading
import warnings
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any, Literal, Union, get_args, get_origin

from pulumi import Output, _types

_READING = threading.RLock()
"""The SDKs import their modules when first used, which two threads must not do at once."""

ScalarName = Literal["string", "integer", "number", "boolean", "any"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value; `any` also stands for what the SDK does not describe."""

    name: ScalarName


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose elements share a type."""

    item: "Kind"


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map with free keys."""

    item: "Kind"


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """A block with known fields, read off an SDK class when first asked."""

    sdk_class: type

    @property
    def fields(self) -> Mapping[str, "Kind"]:
        """Field names in the provider's spelling, with their kinds."""
        return _fields(self.sdk_class)

    @property
    def required(self) -> frozenset[str]:
        """Fields without which the block is refused."""
        return _required(self.sdk_class)


Kind = Scalar | ListOf | MapOf | ObjectOf

_SCALARS: dict[Any, ScalarName] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
}


@dataclass(frozen=True, slots=True)
class ResourceShape:
    """Inputs and outputs of one resource type."""

    token: str
    inputs: Mapping[str, Kind]
    required: frozenset[str]
    outputs: Mapping[str, Kind]

    @property
    def cloud_outputs(self) -> list[str]:
        """Outputs that are no inputs: the cloud assigns them."""
        return [name for name in self.outputs if name not in self.inputs]


@dataclass(frozen=True)
class Sdk:
    """One installed provider SDK, such as `pulumi_aws`."""

    package: str

    @property
    def module_name(self) -> str:
        """The Python package."""
        return f"pulumi_{self.package}"

    @property
    def version(self) -> str:
        """The version of the provider that the SDK was generated from."""
        text = resources.files(self.module_name).joinpath("pulumi-plugin.json").read_text()
        return str(json.loads(text)["version"])

    def tokens(self) -> Mapping[str, tuple[str, str]]:
        """Every resource type of the SDK, with its Python module and class."""
        return _tokens(self.module_name)

    def config_keys(self) -> frozenset[str]:
        """What a provider of the package may be configured with."""
        module = importlib.import_module(f"{self.module_name}.provider")
        return frozenset(_fields(module.ProviderArgs))

    def shape(self, token: str) -> ResourceShape | None:
        """What the SDK says about a type; None if it has no such type."""
        return _shape(self.module_name, token)


@cache
def _tokens(module_name: str) -> Mapping[str, tuple[str, str]]:
    text = resources.files(module_name).joinpath("__init__.py").read_text(encoding="utf-8")
    listing = text.split('resource_modules="""', 1)[1].split('"""', 1)[0]
    return {
        token: (module["fqn"], class_name)
        for module in json.loads(listing)
        for token, class_name in module["classes"].items()
    }


@cache
def _shape(module_name: str, token: str) -> ResourceShape | None:
    place = _tokens(module_name).get(token)
    if place is None:
        return None
    with _READING, warnings.catch_warnings():
        # importing an SDK module says which of its other types are deprecated
        warnings.simplefilter("ignore", DeprecationWarning)
        return _read_shape(token, place)


def _read_shape(token: str, place: tuple[str, str]) -> ResourceShape:
    module = importlib.import_module(place[0])
    resource_class = getattr(module, place[1])
    args_class = getattr(module, f"{place[1]}InitArgs", None) or getattr(module, f"{place[1]}Args")
    outputs = {name: _kind(hint) for name, hint in _types.resource_types(resource_class).items()}
    return ResourceShape(token, _fields(args_class), _required(args_class), outputs)


@cache
def _fields(sdk_class: type) -> Mapping[str, Kind]:
    with _READING:
        if _types.is_input_type(sdk_class):
            hints = _types.input_type_types(sdk_class)
        else:
            hints = _types.output_type_types(sdk_class)
        return {name: _kind(hint) for name, hint in hints.items()}


@cache
def _required(sdk_class: type) -> frozenset[str]:
    if not _types.is_input_type(sdk_class):
        return frozenset()
    names = _types.input_type_py_to_pulumi_names(sdk_class)
    parameters = list(inspect.signature(sdk_class).parameters.values())
    return frozenset(
        names[p.name]
        for p in parameters
        if p.default is inspect.Parameter.empty and p.name in names
    )


def _kind(hint: Any) -> Kind:
    hint = _without_plumbing(hint)
    origin = get_origin(hint)
    if origin is not None and isinstance(origin, type):
        if issubclass(origin, Mapping):
            return MapOf(_kind(get_args(hint)[1]))
        if issubclass(origin, Sequence):
            return ListOf(_kind(get_args(hint)[0]))
    if origin is Literal:
        return Scalar("string")
    if isinstance(hint, type):
        if _types.is_input_type(hint) or _types.is_output_type(hint):
            return ObjectOf(hint)
        if issubclass(hint, Enum):
            return Scalar("string")
    return Scalar(_SCALARS.get(hint, "any"))


def _without_plumbing(hint: Any) -> Any:
    """The type inside `Optional`, `Input` and `Union[Args, ArgsDict]`."""
    if get_origin(hint) is not Union and type(hint).__name__ != "UnionType":
        return hint
    members = [member for member in get_args(hint) if not _is_plumbing(member)]
    if len({_SCALARS.get(member) for member in members}) > 1 and str in members:
        others = [member for member in members if member is not str]
        return str if all(_is_enum(member) for member in others) else Any
    return _without_plumbing(members[0]) if members else Any


def _is_plumbing(member: Any) -> bool:
    origin = get_origin(member) or member
    if origin is type(None):
        return True
    return isinstance(origin, type) and issubclass(origin, Awaitable | Output)


def _is_enum(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, Enum)
