"""What an AWS resource shows: its inputs, and what the cloud adds, unknown before."""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from berth.offline.aws.assigned import Assigner
from berth.offline.aws.facts import TypeFacts
from berth.offline.changes import Change
from berth.offline.shapes import Kind, ListOf, ObjectOf, ResourceShape, Scalar
from berth.offline.values import UNKNOWN, Properties, Secret, conceal, is_unknown, plain, steps


@dataclass(frozen=True)
class Outputs:
    """The outputs of one type under one provider configuration."""

    shape: ResourceShape
    facts: TypeFacts
    region: str
    default_tags: Mapping[str, str]

    def planned(self, inputs: Properties) -> Properties:
        """The outputs before the cloud has spoken: what it will assign is unknown."""
        outputs: Properties = {
            key: copy.deepcopy(value)
            for key, value in inputs.items()
            if key in self.shape.outputs and value is not None
        }
        for name in (*self._cloud_assigned(), *self.facts.computed_optional):
            if name in self.shape.outputs:
                outputs.setdefault(name, UNKNOWN)
        for pattern in self.facts.computed_nested:
            put_at_pattern(outputs, pattern, lambda _path: UNKNOWN)
        if self.shape.outputs.get("region") == Scalar("string"):
            outputs["region"] = inputs.get("region") or self.region
        if "tagsAll" in self.shape.outputs:
            outputs["tagsAll"] = self.all_tags(inputs.get("tags"))
        return self.concealed(outputs)

    def all_tags(self, tags: Any) -> Any:
        """The provider's default tags merged with the resource's own."""
        if is_unknown(tags):
            return UNKNOWN
        if isinstance(tags, Secret):
            return Secret({**self.default_tags, **tags.value})
        return {**self.default_tags, **(tags or {})}

    def tag_changes(self, old: Properties, new: Properties, known: list[Change]) -> list[Change]:
        """That the provider's default tags are others now, unless the own tags change as well."""
        if "tagsAll" not in self.shape.outputs or "tagsAll" not in old:
            return []
        before, after = plain(old["tagsAll"]), plain(self.all_tags(new.get("tags")))
        if before == after or any(change.path[0] == "tags" for change in known):
            return []
        return [Change(("tagsAll",), "update", before, after, in_inputs=False)]

    def given(self, planned: Properties, assigner: Assigner) -> Properties:
        """The outputs with a value for everything that was unknown."""
        outputs = dict(planned)
        assigner.properties = outputs
        for name, value in planned.items():
            if is_unknown(value):
                outputs.pop(name)
        missing = [name for name in planned if name not in outputs]
        for name in missing:
            outputs[name] = assigner.value(name, self.shape.outputs[name])
        for pattern in self.facts.computed_nested:
            kind = self.kind_at(pattern)
            replace_unknown(
                outputs,
                pattern,
                lambda p=pattern, k=kind: assigner.value(p, k),  # type: ignore[misc]  # bound at once
            )
        return self.concealed(outputs)

    def kept(self, planned: Properties, old: Properties, renewed: Iterable[str]) -> Properties:
        """The outputs of an update: what the cloud assigned before stays, but for `renewed`."""
        outputs = dict(planned)
        for name, value in planned.items():
            if is_unknown(value) and name in old and name not in renewed:
                outputs[name] = old[name]
        for pattern in self.facts.computed_nested:
            before = plain(old)
            put_old_at_pattern(outputs, before, steps(pattern))
        for name in renewed:
            if name in outputs and name not in self.shape.inputs:
                outputs[name] = UNKNOWN
        return self.concealed(outputs)

    def concealed(self, outputs: Properties) -> Properties:
        """The outputs with those secret that the SDK marks so."""
        for name in self.facts.secret_outputs:
            if name in outputs:
                outputs[name] = conceal(outputs[name])
        return outputs

    def kind_at(self, pattern: str) -> Kind:
        """The kind of the value that a pattern speaks of, as far as the SDK tells."""
        kind: Kind = ObjectOf(object)
        fields: Mapping[str, Kind] = self.shape.outputs
        for step in steps(pattern):
            if step == "[]":
                kind = kind.item if isinstance(kind, ListOf) else kind
            else:
                kind = fields.get(step, Scalar("string"))
            fields = kind.fields if isinstance(kind, ObjectOf) else {}
        return kind

    def _cloud_assigned(self) -> list[str]:
        names = list(self.facts.computed) or self.shape.cloud_outputs
        return [name for name in names if name != "tagsAll"]


def put_at_pattern(target: Any, pattern: str, make: Callable[[str], Any]) -> None:
    """Put a made value at every place of a pattern that has a parent block but no value."""
    *parents, last = steps(pattern)
    for block in _blocks(target, parents):
        if block.get(last) is None:
            block[last] = make(pattern)


def replace_unknown(target: Any, pattern: str, make: Callable[[], Any]) -> None:
    """Put a made value in place of every unknown one that a pattern speaks of."""
    *parents, last = steps(pattern)
    for block in _blocks(target, parents):
        if is_unknown(block.get(last)):
            block[last] = make()


def put_old_at_pattern(target: Any, old: Any, path: list[str]) -> None:
    """Take the old value where the new one is unknown, element by element in lists."""
    if isinstance(target, Secret):
        target = target.value
    if not path or old is None:
        return
    step, rest = path[0], path[1:]
    if step == "[]":
        if isinstance(target, list) and isinstance(old, list):
            for item, before in zip(target, old, strict=False):
                put_old_at_pattern(item, before, rest)
    elif isinstance(target, dict) and isinstance(old, Mapping):
        if not rest and is_unknown(target.get(step)) and step in old:
            target[step] = old[step]
        elif rest:
            put_old_at_pattern(target.get(step), old.get(step), rest)


def _blocks(target: Any, parents: list[str]) -> list[dict[str, Any]]:
    found: list[Any] = [target]
    for step in parents:
        following: list[Any] = []
        for value in found:
            inner = value.value if isinstance(value, Secret) else value
            if step == "[]" and isinstance(inner, list):
                following += inner
            elif isinstance(inner, dict) and step in inner:
                following.append(inner[step])
        found = following
    bare = [value.value if isinstance(value, Secret) else value for value in found]
    return [value for value in bare if isinstance(value, dict)]
