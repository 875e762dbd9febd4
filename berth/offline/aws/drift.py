"""What a program's inputs look like now: as they are in the cloud, whoever changed them."""

from collections.abc import Mapping
from typing import Any

from berth.offline.aws.facts import TypeFacts
from berth.offline.shapes import Kind, ListOf, MapOf, ObjectOf, ResourceShape
from berth.offline.values import Properties, Secret


def inputs_now(
    shape: ResourceShape, facts: TypeFacts, asked: Properties, now: Properties
) -> Properties:
    """The live value of every input that was asked for, without what the cloud added itself.

    Of a resource that no program has asked for yet, every input that the cloud would not fill.
    """
    if not asked:
        filled = {*facts.computed_optional, "tagsAll"}
        return {k: v for k, v in now.items() if k in shape.inputs and k not in filled}
    found = dict(asked)
    for name, value in asked.items():
        if name.startswith("__") or name == "tagsAll" or name not in shape.inputs:
            continue
        if name not in shape.outputs:
            continue
        if name not in now:
            found.pop(name)
        else:
            found[name] = _narrowed(shape.inputs[name], value, now[name])
    return found


def tags_now(inputs: Properties, now: Properties) -> Any:
    """All tags of a resource: those it got by default when it was made, and its own of now."""
    made_with = _bare(inputs.get("tags")) or {}
    by_default = {k: v for k, v in _bare(now["tagsAll"]).items() if k not in made_with}
    found = {**by_default, **(_bare(now.get("tags")) or {})}
    for key, value in made_with.items():
        if isinstance(value, Secret) and key in found:
            found[key] = Secret(_bare(found[key]))
    return Secret(found) if isinstance(now["tagsAll"], Secret) else found


def _narrowed(kind: Kind, asked: Any, live: Any) -> Any:
    """The live value, with blocks cut down to the fields that were asked for."""
    if isinstance(asked, Secret) or isinstance(live, Secret):
        return Secret(_narrowed(kind, _bare(asked), _bare(live)))
    if isinstance(kind, MapOf):
        return live
    if isinstance(kind, ObjectOf) and isinstance(asked, Mapping) and isinstance(live, Mapping):
        return {
            key: _narrowed(kind.fields.get(key, kind), asked[key], item)
            for key, item in live.items()
            if key in asked
        }
    if isinstance(kind, ListOf) and isinstance(asked, list) and isinstance(live, list):
        if len(asked) == len(live):
            return [_narrowed(kind.item, a, b) for a, b in zip(asked, live, strict=True)]
        known = set(asked[0]) if asked and isinstance(asked[0], Mapping) else None
        return [_cut(item, known) for item in live]
    return live


def _cut(item: Any, known: set[str] | None) -> Any:
    """An element that nobody asked for, with the fields that its neighbours have."""
    if known is None or not isinstance(item, Mapping):
        return item
    return {key: value for key, value in item.items() if key in known}


def _bare(value: Any) -> Any:
    return value.value if isinstance(value, Secret) else value
