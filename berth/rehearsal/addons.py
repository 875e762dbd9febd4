"""Stand-ins of the EKS add-ons: the same kinds, tolerations and requests, and no programs."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml

from berth.offline.cloud import Cloud
from berth.offline.values import plain

ADDON: Final = "aws:eks/addon:Addon"
NAMESPACE: Final = "kube-system"
STAND_IN_LABEL: Final = "berth.dev/stand-in"
"""On every pod that only stands for one of somebody else's."""

COMPUTE_TYPE: Final = "eks.amazonaws.com/compute-type"
"""Label of a node that EKS does not make as it makes others."""
ALL: Final = [{"operator": "Exists"}]
CRITICAL: Final = [
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
]


def addon_objects(cloud: Cloud) -> dict[str, Mapping[str, Any]]:
    """The objects of all add-ons that exist now, by the path of each."""
    found: dict[str, Mapping[str, Any]] = {}
    for record in cloud.records():
        if record.type == ADDON:
            properties = plain(record.properties)
            values = json.loads(properties.get("configurationValues") or "{}")
            found |= dict(_objects(str(properties["addonName"]), values))
    return found


def _objects(addon: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for entry in _entries().get(addon, ()):
        plural = f"{entry['kind'].lower()}s"
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/{plural}/{entry['name']}"
        yield path, _workload(addon, entry, values)


def _workload(addon: str, entry: Mapping[str, Any], values: Mapping[str, Any]) -> Mapping[str, Any]:
    selector = {"app.kubernetes.io/name": entry["name"]}
    labels = {**selector, STAND_IN_LABEL: addon}
    requests = {"cpu": entry["cpu"], "memory": entry["memory"]}
    pod: dict[str, Any] = {
        "priorityClassName": "system-node-critical",
        "tolerations": _tolerations(entry, values),
        "containers": [
            {"name": "stand-in", "image": addon, "resources": {"requests": requests}},
        ],
    }
    expressions: list[Mapping[str, Any]] = []
    if "node_label" in entry:
        expressions.append({"key": entry["node_label"], "operator": "Exists"})
    if entry.get("hybrid") is False:
        expressions.append({"key": COMPUTE_TYPE, "operator": "NotIn", "values": ["hybrid"]})
    if expressions:
        terms = [{"matchExpressions": expressions}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        pod["affinity"] = {"nodeAffinity": required}
    spec: dict[str, Any] = {
        "selector": {"matchLabels": selector},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    if "replicas" in entry:
        spec["replicas"] = entry["replicas"]
    return {
        "apiVersion": "apps/v1",
        "kind": entry["kind"],
        "metadata": {"name": entry["name"], "namespace": NAMESPACE, "labels": labels},
        "spec": spec,
    }


def _tolerations(entry: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    if entry["tolerates"] == "values":
        found: Any = values
        for key in entry["path"]:
            found = found.get(key, {}) if isinstance(found, Mapping) else {}
        return found or []
    return ALL if entry["tolerates"] == "all" else CRITICAL


@cache
def _entries() -> Mapping[str, Any]:
    text = files("berth.rehearsal").joinpath("addons.yaml").read_text("utf-8")
    entries: Mapping[str, Any] = yaml.safe_load(text)
    return entries
