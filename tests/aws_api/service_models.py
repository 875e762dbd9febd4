"""Resources held against the service models that botocore ships; it asks no server."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from botocore.loaders import Loader
from botocore.model import ServiceModel, Shape

from tests.aws_api.requests import REQUESTS

WORDS: Final = {"true": True, "false": False}
"""Launch templates have them as text."""

IN_PYTHON: Final = {
    r"\p{L}": r"\w",
    r"\p{Z}": r"\s",
    r"\p{N}": r"\d",
    "\ud800\udc00-\udbff\udfff": "\U00010000-\U0010ffff",
    r"\uD800\uDC00-\uDBFF\uDFFF": "\U00010000-\U0010ffff",
}
"""Character classes and ranges that Python writes in other ways."""


def refusals_of_state(exported: Mapping[str, Any]) -> list[str]:
    """What AWS would refuse of everything in an exported Pulumi state."""
    return [
        f"{resource['urn'].rsplit('::', 1)[-1]}: {problem}"
        for resource in exported["deployment"]["resources"]
        if resource["type"].startswith("aws:")
        for problem in refusals(resource["type"], resource["inputs"])
    ]


def refusals(token: str, inputs: Mapping[str, Any]) -> list[str]:
    """What the service model has against the inputs of one resource; empty: nothing."""
    request = REQUESTS.get(token)
    if request is None:
        return [f"{token}: no request of AWS is known for it"]
    operation = _service(request.service).operation_model(request.operation)
    kept = {key: value for key, value in inputs.items() if key not in ("__defaults", "region")}
    given = {
        key: value for key, value in request.shaped(kept).items() if key not in request.left_out
    }
    if request.operation == "CreateLaunchTemplate":
        data = given["launchTemplateData"]
        given["launchTemplateData"] = {
            key: value for key, value in data.items() if key not in request.left_out
        }
    return list(_against(operation.input_shape, given, request.operation, request.renamed))


@cache
def _service(name: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(name, "service-2"), name)


def _against(shape: Shape, value: Any, where: str, renamed: Mapping[str, str]) -> Iterator[str]:
    match shape.type_name:
        case "structure":
            yield from _structure(shape, value, where, renamed)
        case "list":
            values = _listed(shape, value)
            yield from _between(shape, len(values), where, "entries")
            for number, each in enumerate(values):
                yield from _against(shape.member, each, f"{where}[{number}]", renamed)
        case "map":
            yield from _between(shape, len(value), where, "entries")
            for key, each in value.items():
                yield from _against(shape.key, key, f"{where} key", renamed)
                yield from _against(shape.value, each, f"{where}.{key}", renamed)
        case _:
            yield from _scalar(shape, value, where)


def _structure(
    shape: Shape, value: Mapping[str, Any], where: str, renamed: Mapping[str, str]
) -> Iterator[str]:
    members = {name.lower(): name for name in shape.members}
    given: set[str] = set()
    for key, each in value.items():
        if each is None:
            continue
        name = members.get(renamed.get(key, key).lower())
        if name is None:
            yield f"{where}.{key}: no such parameter"
            continue
        given.add(name)
        yield from _against(shape.members[name], each, f"{where}.{name}", renamed)
    for name in shape.required_members:
        if name not in given:
            yield f"{where}.{name}: required"


def _listed(shape: Shape, value: Any) -> list[Any]:
    """Tags are a map for Pulumi, and a block of which there is one stands alone."""
    if not isinstance(value, Mapping):
        return list(value)
    names = {name.lower(): name for name in getattr(shape.member, "members", {})}
    for key, text in (("key", "value"), ("tagkey", "tagvalue")):
        if key in names and "key" not in value:
            return [{names[key]: each, names[text]: value[each]} for each in value]
    return [value]


def _scalar(shape: Shape, value: Any, where: str) -> Iterator[str]:
    kind, metadata = shape.type_name, shape.metadata
    if kind == "boolean":
        if not isinstance(WORDS.get(value, value), bool):
            yield f"{where}: {value!r} is neither true nor false"
    elif kind in ("integer", "long"):
        if not isinstance(value, int | float) or value != int(value):
            yield f"{where}: {value!r} is not a whole number"
        else:
            yield from _between(shape, int(value), where)
    elif kind == "string":
        if not isinstance(value, str):
            yield f"{where}: {value!r} is not text"
            return
        if "enum" in metadata and value not in metadata["enum"]:
            yield f"{where}: {value} is none of {', '.join(metadata['enum'])}"
        yield from _between(shape, len(value), where, "characters")
        pattern = metadata.get("pattern")
        if pattern and not re.fullmatch(_in_python(pattern), value):
            yield f"{where}: {value} does not match {pattern}"


def _between(shape: Shape, number: int, where: str, unit: str = "") -> Iterator[str]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    counted = f"{number} {unit}".rstrip()
    if least is not None and number < least:
        yield f"{where}: {counted}, at least {least}"
    if most is not None and number > most:
        yield f"{where}: {counted}, at most {most}"


def _in_python(pattern: str) -> str:
    for theirs, ours in IN_PYTHON.items():
        pattern = pattern.replace(theirs, ours)
    return pattern
