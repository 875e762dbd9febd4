"""Who pays for a resource, by its tags: of any program, whatever spelling its tags have."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from berth.costs.resources.around import AROUND_TYPES, ByType
from berth.costs.resources.documents import Side
from berth.costs.resources.resource import Declared
from berth.costs.resources.settings import AWS_PROVIDER
from berth.costs.resources.values import SECRET, UNKNOWN_VALUES
from berth.planner.plan import Ownership

_OWNER_KEYS: Final = ("berth:owner", "owner")
_COST_CENTER_KEYS: Final = ("berth:cost-center", "costcenter", "costcentre")
"""Without hyphens, underscores, blanks and case, but for Berth's own; the first that is there."""
_UNREADABLE: Final = UNKNOWN_VALUES | {SECRET}


class Owners:
    """Owners of the resources of one side of a document."""

    def __init__(self, side: Side) -> None:
        providers = [each for each in side.resources.values() if each.type == AWS_PROVIDER]
        found = [_default_tags(each) for each in providers]
        self._default = found[0] if found and all(each == found[0] for each in found) else {}
        """Of the AWS provider; none where several disagree."""

    def of(self, resource: Declared) -> Ownership:
        """By the tags of the resource itself, then by those of its provider."""
        tags = {
            **self._default,
            **_tags(resource.inputs.get("tags")),
            **_tags(resource.outputs.get("tagsAll")),
        }
        return Ownership(
            owner=_first(tags, _OWNER_KEYS), cost_center=_first(tags, _COST_CENTER_KEYS)
        )

    def apart(self, by_type: ByType) -> Iterator[tuple[Ownership, ByType]]:
        """What stands around the nodes, by owner, so that no line has two."""
        owned: dict[Ownership, dict[str, list[Declared]]] = defaultdict(lambda: defaultdict(list))
        for kind in sorted(AROUND_TYPES):
            for resource in by_type.get(kind, ()):
                owned[self.of(resource)][kind].append(resource)
        yield from owned.items()


def _first(tags: Mapping[str, str], keys: tuple[str, ...]) -> str | None:
    plain = {_plain(key): value for key, value in tags.items() if value not in ("", *_UNREADABLE)}
    return next((plain[key] for key in keys if key in plain), None)


def _plain(key: str) -> str:
    if key.startswith("berth:"):
        return key
    return "".join(character for character in key.casefold() if character not in "-_ ")


def _tags(value: Any) -> dict[str, str]:
    """A mapping, or the list that an Auto Scaling group has."""
    if isinstance(value, list):
        value = {
            each["key"]: each.get("value")
            for each in value
            if isinstance(each, Mapping) and isinstance(each.get("key"), str)
        }
    if not isinstance(value, Mapping):
        return {}
    return {key: text for key, text in value.items() if isinstance(text, str)}


def _default_tags(provider: Declared) -> dict[str, str]:
    """A provider's inputs are JSON in a text."""
    value = provider.inputs.get("defaultTags")
    if isinstance(value, str) and value not in _UNREADABLE:
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return _tags(value.get("tags")) if isinstance(value, Mapping) else {}
