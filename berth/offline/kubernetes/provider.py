"""The Kubernetes provider's part: what is checked, what replaces, what the cluster answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from berth.offline.changes import Change, Comparison, Path
from berth.offline.checks import Problem, ShapeCheck, nearest
from berth.offline.cloud import Cloud, Record
from berth.offline.kubernetes import naming, objects
from berth.offline.kubernetes import release as helm
from berth.offline.kubernetes.kinds import KindOf, is_list, kind_of_type
from berth.offline.provider import (
    CloudError,
    Difference,
    Found,
    Naming,
    Resource,
    UnsupportedError,
)
from berth.offline.shapes import Sdk
from berth.offline.values import Properties, conceal, plain

SDK = Sdk("kubernetes")


_QUANTITIES = frozenset({"capacity", "hard", "limits", "podFixed", "requests"})
"""Blocks whose values are quantities, which an API server also reads from plain numbers.

`Quantity.UnmarshalJSON` of k8s.io/apimachinery; `nvidia.com/gpu: 1` is how most manifests say it.
"""


def _is_quantity(path: Path) -> bool:
    return path[-1] == "sizeLimit" or (len(path) > 1 and path[-2] in _QUANTITIES)


@dataclass(frozen=True)
class KubernetesProvider:
    """One Kubernetes provider: a cluster of the pretended cloud."""

    cloud: Cloud
    cluster: str
    """What tells this cluster from others."""
    namespace: str = "default"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def check(
        self, resource: Resource, old: Properties | None, new: Properties, naming_wish: Naming
    ) -> tuple[Properties, list[Problem]]:
        """See `Provider.check`."""
        shape = SDK.shape(resource.type)
        problems: list[Problem] = []
        if shape is not None:
            found = ShapeCheck(strict=True, takes_number=_is_quantity).problems(
                shape.inputs, sorted(shape.required), _without_const(plain(new))
            )
            problems = list(found)
        elif not {"apiVersion", "kind"} <= set(new):
            hint = nearest(resource.type, SDK.tokens())
            text = f"no such type in pulumi-kubernetes {SDK.version}{hint}"
            return new, [Problem((), text)]
        if resource.type == helm.RELEASE:
            inputs = helm.filled_release(
                new, old, self.namespace, lambda: self._name(resource, naming_wish, True)
            )
            return inputs, problems
        unnamed = is_list(resource.type) or resource.type.endswith("Patch") or naming_wish.disabled
        make_name = None if unnamed else lambda: self._name(resource, naming_wish, False)
        kind = _kind(resource, new)
        inputs = naming.filled_object(kind, new, old, self.namespace, make_name)
        if kind.key == "v1/Secret":
            for name in objects.SECRET_PROPERTIES:
                if name in inputs:
                    inputs[name] = conceal(inputs[name])
        return inputs, problems

    def diff(
        self, resource: Resource, old_inputs: Properties, old_outputs: Properties, new: Properties
    ) -> Difference:
        """See `Provider.diff`."""
        before, after = plain(old_inputs), plain(new)
        changes = Comparison(lenient=False).changes(before, after)
        if resource.type == helm.RELEASE:
            patterns: tuple[str, ...] = helm.REPLACE_ON
            auto_named = helm.is_auto_named(new)
        else:
            kind = _kind(resource, new)
            patterns = kind.replace_on(self.settings, before.get("immutable") is True)
            auto_named = naming.is_auto_named(new)
        replacing = [change for change in changes if _meets(change, patterns)]
        same_place = _place(before) == _place(after)
        return Difference(
            changes=tuple(changes),
            replacing=tuple(replacing),
            deletes_first=bool(replacing) and not auto_named and same_place,
        )

    def create(
        self, resource: Resource, inputs: Properties, preview: bool
    ) -> tuple[str, Properties]:
        """See `Provider.create`."""
        planned = self._planned(resource, inputs)
        if preview:
            return "", planned
        if resource.type == helm.RELEASE:
            live = helm.live_release(planned)
        else:
            live = objects.live_object(_kind(resource, inputs), planned, resource.urn)
        resource_id = _id(live)
        with self.cloud.exclusive():
            if self.cloud.find(resource.type, self.cluster, resource_id) is not None:
                raise CloudError(_exists_already(resource, live))
            record = Record(resource.type, self.cluster, resource_id, resource.urn, live, inputs)
            self.cloud.put(record)
        return resource_id, live

    def update(
        self,
        resource: Resource,
        resource_id: str,
        old_inputs: Properties,
        old_outputs: Properties,
        new: Properties,
        preview: bool,
    ) -> Properties:
        """See `Provider.update`."""
        planned = self._planned(resource, new)
        if resource.type == helm.RELEASE:
            live = planned if preview else helm.live_release(planned, old_outputs)
        else:
            live = objects.updated_object(planned, old_outputs, preview=preview)
        if preview:
            return live
        record = self.cloud.find(resource.type, self.cluster, resource_id)
        if record is None:
            raise CloudError(_not_found(resource, new))
        if resource.type != helm.RELEASE:
            live = objects.live_object(_kind(resource, new), live, resource.urn)
        self.cloud.put(replace(record, properties=live, inputs=new))
        return live

    def read(
        self, resource: Resource, resource_id: str, inputs: Properties, outputs: Properties
    ) -> Found | None:
        """See `Provider.read`."""
        kind = _kind(resource, outputs or inputs)
        in_namespace = resource.type == helm.RELEASE or kind.in_namespace
        if in_namespace and "/" not in resource_id:
            resource_id = f"{self.namespace}/{resource_id}"
        record = self.cloud.find(resource.type, self.cluster, resource_id)
        if record is None:
            return None
        asked = inputs or record.inputs
        return Found(resource_id, _inputs_now(asked, record.properties), record.properties)

    def delete(self, resource: Resource, resource_id: str, outputs: Properties) -> None:
        """See `Provider.delete`."""
        self.cloud.discard(resource.type, self.cluster, resource_id)

    def invoke(self, token: str, arguments: Properties) -> Properties:
        """See `Provider.invoke`."""
        if token == "kubernetes:yaml:decode":  # noqa: S105  # a function's token
            documents = yaml.safe_load_all(plain(arguments)["text"])
            return {"result": [document for document in documents if document]}
        raise UnsupportedError(
            f"{token}: no answer offline; write it in berth/offline/kubernetes/provider.py, "
            "or use the real kubernetes provider"
        )

    def _planned(self, resource: Resource, inputs: Properties) -> Properties:
        if resource.type == helm.RELEASE:
            return helm.planned_release(inputs)
        return objects.planned_object(_kind(resource, inputs), SDK.shape(resource.type), inputs)

    def _name(self, resource: Resource, wish: Naming, is_release: bool) -> str:
        def is_taken(name: str) -> bool:
            ids = [r.id for r in self.cloud.of_type(resource.type, self.cluster)]
            return any(resource_id.rpartition("/")[2] == name for resource_id in ids)

        if is_release:
            return naming.made_name(resource, wish, is_taken, helm.MAX_NAME_LENGTH)
        return naming.made_name(resource, wish, is_taken)


def _kind(resource: Resource, properties: Properties) -> KindOf:
    if SDK.shape(resource.type) is None and "kind" in properties:
        return KindOf(str(plain(properties["apiVersion"])), str(plain(properties["kind"])))
    return kind_of_type(resource.type)


def _id(inputs: Properties) -> str:
    name, namespace = _place(plain(inputs))
    return f"{namespace}/{name}" if namespace else str(name)


def _place(inputs: Properties) -> tuple[Any, Any]:
    holder = inputs.get("metadata") or inputs
    return holder.get("name"), holder.get("namespace")


def _without_const(inputs: Properties) -> Properties:
    return {
        key: value for key, value in inputs.items() if key not in ("__inputs", "__fieldManager")
    }


def _meets(change: Change, patterns: tuple[str, ...]) -> bool:
    """True if the change is at, inside or around a property that replaces."""
    at = change.pattern
    return any(
        at == p or at.startswith((f"{p}.", f"{p}[")) or p.startswith(f"{at}.") for p in patterns
    )


def _exists_already(resource: Resource, inputs: Properties) -> str:
    name, _ = _place(plain(inputs))
    if resource.type == helm.RELEASE:
        return f"cannot re-use a name that is still in use: {name}"
    return f'AlreadyExists: {_kind(resource, inputs).plural} "{name}" already exists'


def _not_found(resource: Resource, inputs: Properties) -> str:
    name, _ = _place(plain(inputs))
    plural = "releases" if resource.type == helm.RELEASE else _kind(resource, inputs).plural
    return f'NotFound: {plural} "{name}" not found; run `pulumi refresh` to see what was removed'


def _inputs_now(asked: Any, live: Any) -> Any:
    """The program's inputs as they are in the cluster, without what the server added itself."""
    if isinstance(asked, dict) and isinstance(live, dict):
        return {
            key: _inputs_now(value, live[key]) if key in live else value
            for key, value in asked.items()
            if key in live or key.startswith("__")
        }
    if isinstance(asked, list) and isinstance(live, list) and len(asked) == len(live):
        return [_inputs_now(a, b) for a, b in zip(asked, live, strict=True)]
    return live
