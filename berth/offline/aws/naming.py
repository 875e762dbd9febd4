"""Names and defaults that the AWS provider puts in before the cloud is asked."""

import copy
import hashlib
from collections.abc import Callable

from berth.offline.aws.facts import AutoName, TypeFacts
from berth.offline.aws.outputs import put_at_pattern
from berth.offline.provider import Naming, Resource
from berth.offline.shapes import ResourceShape, Scalar
from berth.offline.values import Properties, at_pattern, plain

DEFAULTS_KEY = "__defaults"
"""The input in which the real provider notes which inputs it filled in itself."""


def auto_name_of(facts: TypeFacts, shape: ResourceShape) -> AutoName | None:
    """How resources of the type are named; an optional `name` is, if nothing else is known."""
    if facts.auto_name is not None:
        return facts.auto_name
    is_name = shape.inputs.get("name") == Scalar("string") and "name" not in shape.required
    return AutoName("name") if is_name and not facts.id else None


def with_name(
    auto_name: AutoName,
    resource: Resource,
    naming: Naming,
    is_taken: Callable[[str], bool],
) -> str:
    """A name made from the logical one: the same in every preview, another if it is taken."""
    if naming.proposed:
        return naming.proposed
    attempt = 0
    while True:
        seed = f"{resource.urn}#{attempt}".encode()
        suffix = auto_name.separator + hashlib.sha256(seed).hexdigest()[: auto_name.random_hex]
        room = auto_name.max_length - len(suffix) - len(auto_name.prefix)
        name = auto_name.prefix + resource.name[:room] + suffix
        name = name.lower() if auto_name.transform == "lower case" else name
        if not is_taken(name):
            return name
        attempt += 1


def fill_name(
    auto_name: AutoName | None,
    facts: TypeFacts,
    inputs: Properties,
    old: Properties | None,
    make: Callable[[AutoName], str],
) -> list[str]:
    """Put a name in where the program gives none; the one it got before stays.

    Returns:
        The names of the inputs filled in.
    """
    if auto_name is None or inputs.get(auto_name.property) is not None:
        return []
    rivals = {other for pair in facts.conflicts if auto_name.property in pair for other in pair}
    rivals.add(f"{auto_name.property}Prefix")
    if any(inputs.get(rival) is not None for rival in rivals):
        return []
    before = old or {}
    if auto_name.property in before.get(DEFAULTS_KEY, []):
        inputs[auto_name.property] = before[auto_name.property]
    else:
        inputs[auto_name.property] = make(auto_name)
    return [auto_name.property]


def fill_defaults(facts: TypeFacts, inputs: Properties) -> list[str]:
    """Put in the static defaults of the type; nested ones only where their block is given.

    Returns:
        The names of the top-level inputs filled in.
    """
    filled = []
    for pattern, value in facts.defaults.items():
        if "." not in pattern and "[]" not in pattern:
            if not at_pattern(inputs, pattern) and not _rival_is_set(facts, pattern, inputs):
                inputs[pattern] = copy.deepcopy(value)
                filled.append(pattern)
        else:
            put_at_pattern(inputs, pattern, lambda _path, v=value: copy.deepcopy(v))  # type: ignore[misc]  # bound at once
    return filled


def _rival_is_set(facts: TypeFacts, name: str, inputs: Properties) -> bool:
    bare = plain(inputs)
    return any(
        bare.get(other) is not None
        for pair in facts.conflicts
        if name in pair
        for other in pair
        if other != name
    )
