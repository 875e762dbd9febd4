"""ConfigMaps of a stack: what containers take their variables and files from."""

from collections.abc import Mapping, Sequence
from typing import Any

from berth.rules.resource import Resource
from berth.rules.stack_view.field import Field
from berth.rules.unknown import UNKNOWN

ConfigMaps = Mapping[tuple[str, str], Mapping[str, Any]]
"""Data by namespace and name."""

DEFAULT_NAMESPACE = "default"


def namespace_of(resource: Resource) -> str:
    """The namespace that it is in; `default` where it does not say."""
    value = Field(resource.props).at("metadata", "namespace").value
    return value if isinstance(value, str) and value else DEFAULT_NAMESPACE


def name_of(resource: Resource) -> str | None:
    """Its name in the cluster; None where that is known after apply or not stated."""
    value = Field(resource.props).at("metadata", "name").value
    return value if isinstance(value, str) and value else None


def read_config_maps(resources: Sequence[Resource]) -> ConfigMaps:
    """The ConfigMaps that have a name."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for resource in resources:
        name = name_of(resource) if resource.type.endswith("/v1:ConfigMap") else None
        data = resource.props.get("data")
        if name and isinstance(data, Mapping):
            found[namespace_of(resource), name] = data
    return found


def with_config_maps(body: Field, namespace: str, config_maps: ConfigMaps) -> Field:
    """The variables of a container, those from ConfigMaps of the stack as if they were literal."""
    env = body.at("env")
    if env.is_unknown or not config_maps:
        return env
    resolved: list[Any] = []
    sources = body.at("envFrom")
    for source in [] if sources.is_unknown else sources.items():
        data = config_maps.get((namespace, str(source.at("configMapRef", "name").value)), {})
        prefix = source.at("prefix").value
        start = prefix if isinstance(prefix, str) else ""
        resolved += [{"name": f"{start}{key}", "value": value} for key, value in data.items()]
    for item in env.items():
        reference = item.at("valueFrom", "configMapKeyRef")
        data = config_maps.get((namespace, str(reference.at("name").value)), {})
        key = reference.at("key").value
        if isinstance(key, str) and key in data:
            resolved.append({"name": item.at("name").value, "value": data[key]})
        else:
            resolved.append(item.value)
    return Field(resolved, env.path)


def mounted_file(
    path: str, body: Field, pod_spec: Field, namespace: str, config_maps: ConfigMaps
) -> str | None:
    """Text of a file that a ConfigMap of the stack puts into a container; None if none does."""
    volumes = pod_spec.at("volumes")
    mounts = body.at("volumeMounts")
    if volumes.value is UNKNOWN or mounts.value is UNKNOWN:
        return None
    for mount in mounts.items():
        folder, sub_path = mount.at("mountPath").value, mount.at("subPath").value
        if not isinstance(folder, str):
            continue
        inside = folder.rstrip("/") + "/"
        if path == folder:
            key = str(sub_path)
        elif path.startswith(inside):
            key = path.removeprefix(inside)
        else:
            continue
        for volume in volumes.items():
            if volume.at("name").value != mount.at("name").value:
                continue
            name = volume.at("configMap", "name").value
            text = config_maps.get((namespace, str(name)), {}).get(key)
            if isinstance(text, str):
                return text
    return None
