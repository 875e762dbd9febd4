"""What an object shows once an API server has had it: status, addresses, uid."""

import base64
import copy
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from berth.offline.kubernetes.kinds import KindOf
from berth.offline.shapes import ResourceShape
from berth.offline.values import UNKNOWN, Properties, Secret, is_unknown, plain

_MADE_AT: Final = "2026-11-30T00:00:00Z"
_SERVER_METADATA: Final = ("creationTimestamp", "generation", "resourceVersion", "uid")
SECRET_PROPERTIES: Final = ("data", "stringData")


def planned_object(kind: KindOf, shape: ResourceShape | None, inputs: Properties) -> Properties:
    """The object before the API server has seen it: what the server adds is unknown."""
    live = {key: copy.deepcopy(value) for key, value in inputs.items() if not key.startswith("__")}
    metadata = live.get("metadata")
    if isinstance(metadata, dict):
        live["metadata"] = {**dict.fromkeys(_SERVER_METADATA, UNKNOWN), **metadata}
    if shape is not None and "status" in shape.outputs:
        live.setdefault("status", UNKNOWN)
    spec = live.get("spec")
    if kind.key == "v1/Service" and isinstance(spec, dict) and spec.get("type") != "ExternalName":
        spec.setdefault("clusterIP", UNKNOWN)
        spec.setdefault("clusterIPs", UNKNOWN)
    if kind.key == "v1/Secret":
        live = _secret_object(live)
    return live


def _secret_object(live: Properties) -> Properties:
    """A Secret's own texts move into `data`, as base64."""
    texts = plain(live.get("stringData")) or {}
    data = plain(live.get("data")) or {}
    if is_unknown(texts) or is_unknown(data):
        merged: Any = UNKNOWN
    else:
        merged = {**data, **{key: _base64(text) for key, text in texts.items()}}
    live = {**live, "data": Secret(merged)}
    if "stringData" in live:
        live["stringData"] = Secret(plain(live["stringData"]))
    return live


def _base64(text: Any) -> Any:
    return text if is_unknown(text) else base64.b64encode(str(text).encode()).decode()


def live_object(kind: KindOf, planned: Properties, seed: str) -> Properties:
    """The object as the server would show it when all is well."""
    live = dict(planned)
    metadata = live.get("metadata")
    if isinstance(metadata, dict):
        made = {
            "creationTimestamp": _MADE_AT,
            "generation": 1,
            "resourceVersion": str(1000 + int(_digest(seed)[:4], 16)),
            "uid": _uid(seed),
        }
        live["metadata"] = {k: made.get(k) if is_unknown(v) else v for k, v in metadata.items()}
        if "generateName" in metadata and not metadata.get("name"):
            live["metadata"]["name"] = f"{metadata['generateName']}{_digest(seed)[:5]}"
    spec = live.get("spec")
    if isinstance(spec, dict) and any(is_unknown(v) for v in spec.values()):
        address = f"172.20.{int(_digest(seed)[:2], 16)}.{1 + int(_digest(seed)[2:4], 16) % 254}"
        made_spec = {"clusterIP": address, "clusterIPs": [address]}
        live["spec"] = {k: made_spec.get(k) if is_unknown(v) else v for k, v in spec.items()}
    if is_unknown(live.get("status")):
        live["status"] = status_of(kind, live, seed)
    return live


def status_of(kind: KindOf, live: Properties, seed: str) -> Properties:
    """The status of a healthy object."""
    make = _STATUS.get(kind.key)
    return make(plain(live), seed) if make else {}


def _replicas(live: Mapping[str, Any], _seed: str) -> Properties:
    wanted = (live.get("spec") or {}).get("replicas", 1)
    names = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")
    return {
        **dict.fromkeys(names, wanted),
        "observedGeneration": 1,
        "conditions": [
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"}
        ],
    }


def _load_balancer(live: Mapping[str, Any], seed: str) -> Properties:
    spec = live.get("spec", {})
    if "type" in spec and spec["type"] != "LoadBalancer":
        return {"loadBalancer": {}}
    if "ports" in spec and "type" not in spec:
        return {"loadBalancer": {}}
    host = f"{_digest(seed)[:32]}.elb.us-east-1.amazonaws.com"
    return {"loadBalancer": {"ingress": [{"hostname": host}]}}


def _done(_live: Mapping[str, Any], _seed: str) -> Properties:
    return {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}


def _phase(phase: str) -> Callable[[Mapping[str, Any], str], Properties]:
    return lambda _live, _seed: {"phase": phase}


_STATUS: Final[Mapping[str, Callable[[Mapping[str, Any], str], Properties]]] = {
    "apps/v1/Deployment": _replicas,
    "apps/v1/StatefulSet": _replicas,
    "apps/v1/ReplicaSet": _replicas,
    "batch/v1/Job": _done,
    "networking.k8s.io/v1/Ingress": _load_balancer,
    "v1/Namespace": _phase("Active"),
    "v1/PersistentVolume": _phase("Bound"),
    "v1/PersistentVolumeClaim": _phase("Bound"),
    "v1/Pod": _phase("Running"),
    "v1/Service": _load_balancer,
}


def updated_object(planned: Properties, old: Properties, *, preview: bool) -> Properties:
    """The object after a change in place: what the server gave before stays."""
    updated = dict(planned)
    before = plain(old)
    for block in ("metadata", "spec"):
        if isinstance(updated.get(block), dict):
            updated[block] = _kept(updated[block], before.get(block) or {})
    if is_unknown(updated.get("status")) and "status" in old:
        updated["status"] = old["status"]
    metadata = updated.get("metadata")
    if isinstance(metadata, dict):
        counters = before.get("metadata", {})
        version = str(int(counters.get("resourceVersion") or 1000) + 1)
        moved = {"resourceVersion": version, "generation": (counters.get("generation") or 1) + 1}
        metadata |= dict.fromkeys(moved, UNKNOWN) if preview else moved
    return updated


def _kept(block: Properties, before: Properties) -> Properties:
    return {k: before.get(k, v) if is_unknown(v) else v for k, v in block.items()}


def _digest(seed: str) -> str:
    return hashlib.sha256(seed.encode()).hexdigest()


def _uid(seed: str) -> str:
    text = _digest(seed)
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:32]))
