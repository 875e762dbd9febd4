"""A schema of a package, read off its SDK, for the engine's tools that ask for one."""

import json
from collections.abc import Iterable
from typing import Any

from berth.offline.shapes import Kind, ListOf, MapOf, Scalar, Sdk

_ANY: dict[str, Any] = {"$ref": "pulumi.json#/Any"}


def schema_of(sdk: Sdk, types: Iterable[str]) -> str:
    """The schema of some types of a package, as JSON; blocks are free-form in it."""
    resources = {}
    for token in types:
        shape = sdk.shape(token)
        if shape is None:
            continue
        resources[token] = {
            "inputProperties": {name: _type(kind) for name, kind in shape.inputs.items()},
            "requiredInputs": sorted(shape.required),
            "properties": {name: _type(kind) for name, kind in shape.outputs.items()},
        }
    return json.dumps({"name": sdk.package, "version": sdk.version, "resources": resources})


def _type(kind: Kind) -> dict[str, Any]:
    if isinstance(kind, Scalar):
        return _ANY if kind.name == "any" else {"type": kind.name}
    if isinstance(kind, ListOf):
        return {"type": "array", "items": _type(kind.item)}
    if isinstance(kind, MapOf):
        return {"type": "object", "additionalProperties": _type(kind.item)}
    return {"type": "object", "additionalProperties": _ANY}
