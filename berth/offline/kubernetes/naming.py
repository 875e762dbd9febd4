"""Names, namespaces and versions that the Kubernetes provider puts into an object."""

import copy
import hashlib
from collections.abc import Callable
from typing import Any, Final

from berth.offline.kubernetes.kinds import KindOf
from berth.offline.provider import Naming, Resource
from berth.offline.values import Properties, plain

AUTO_NAMED: Final = "pulumi.com/autonamed"
"""The annotation in which the real provider notes that it made the name."""

_RANDOM_HEX: Final = 8
_MAX_LENGTH: Final = 253


def made_name(
    resource: Resource,
    naming: Naming,
    is_taken: Callable[[str], bool],
    max_length: int = _MAX_LENGTH,
) -> str:
    """A name made from the logical one: the same in every preview, another if it is taken."""
    if naming.proposed:
        return naming.proposed
    attempt = 0
    while True:
        digest = hashlib.sha256(f"{resource.urn}#{attempt}".encode()).hexdigest()
        name = f"{resource.name[: max_length - _RANDOM_HEX - 1]}-{digest[:_RANDOM_HEX]}"
        if not is_taken(name):
            return name
        attempt += 1


def filled_object(
    kind: KindOf,
    new: Properties,
    old: Properties | None,
    namespace: str,
    make_name: Callable[[], str] | None,
) -> Properties:
    """The inputs with version, kind, name and namespace put in where the program has none."""
    inputs = copy.deepcopy({k: v for k, v in new.items() if not k.startswith("__")})
    inputs.setdefault("apiVersion", kind.api_version)
    inputs.setdefault("kind", kind.kind)
    metadata: Any = inputs.get("metadata")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        return inputs
    inputs["metadata"] = metadata
    if make_name is not None and not metadata.get("name") and not metadata.get("generateName"):
        metadata["name"] = _name_before(old) or make_name()
        annotations = metadata.get("annotations") or {}
        metadata["annotations"] = {**annotations, AUTO_NAMED: "true"}
    if kind.in_namespace and not metadata.get("namespace"):
        metadata["namespace"] = namespace
    return inputs


def _name_before(old: Properties | None) -> str:
    """The name that the provider made at an earlier time, or nothing."""
    return str(plain(old)["metadata"]["name"]) if is_auto_named(old) else ""


def is_auto_named(inputs: Properties | None) -> bool:
    """True if the provider made the object's name."""
    metadata = plain(inputs or {}).get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and annotations.get(AUTO_NAMED) == "true"
