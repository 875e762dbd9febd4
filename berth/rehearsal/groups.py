"""What LeaderWorkerSet's controller does, for rehearsals: the pods of each group, and their state.

As the real one it makes a StatefulSet of leaders and, for each leader, one of its workers; the
pods are then the real controller manager's. A group is not begun anew when a pod of it restarts,
and nothing is rolled out group by group.
"""

import http
from collections.abc import Iterator, Mapping
from typing import Any, Final

from berth.rehearsal.api import Api, ApiError, Object

API: Final = "/apis/leaderworkerset.x-k8s.io/v1"
NAME_LABEL: Final = "leaderworkerset.sigs.k8s.io/name"
GROUP_LABEL: Final = "leaderworkerset.sigs.k8s.io/group-index"
NOT_THERE_YET: Final = (
    http.HTTPStatus.NOT_FOUND,
    http.HTTPStatus.TOO_MANY_REQUESTS,
    http.HTTPStatus.SERVICE_UNAVAILABLE,
)
"""What an API server answers until a new resource type has its storage."""
WORKER_LABEL: Final = "leaderworkerset.sigs.k8s.io/worker-index"


class Groups:
    """Keeps the pods of all LeaderWorkerSets of one control plane."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._made: dict[str, Mapping[str, Any]] = {}
        self._said: dict[str, Mapping[str, Any]] = {}

    def step(self) -> None:
        """Bring pods and states to what is wanted now; without the resource type, nothing."""
        try:
            found = self._api.items(f"{API}/leaderworkersets")
        except ApiError as error:
            if error.status in NOT_THERE_YET:
                return
            raise
        wanted = {path: body for each in found for path, body in stateful_sets(each)}
        for path in [path for path in self._made if path not in wanted]:
            self._api.delete(path)
            del self._made[path]
        for path, body in wanted.items():
            if self._made.get(path) != body:
                self._api.apply(path, body)
                self._made[path] = body
        for each in found:
            self._say(each)

    def _say(self, found: Object) -> None:
        """Whether all its groups answer, as its status."""
        namespace, name = found["metadata"]["namespace"], found["metadata"]["name"]
        pods = self._api.items(
            f"/api/v1/namespaces/{namespace}/pods?labelSelector={NAME_LABEL}%3D{name}"
        )
        status = group_status(found, pods)
        path = f"{API}/namespaces/{namespace}/leaderworkersets/{name}"
        if self._said.get(path) != status:
            self._api.patch(f"{path}/status", {"status": status})
            self._said[path] = status


def stateful_sets(found: Object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The StatefulSets of one LeaderWorkerSet, by the path of each."""
    name, spec = found["metadata"]["name"], found["spec"]
    template = spec["leaderWorkerTemplate"]
    leader = template.get("leaderTemplate") or template["workerTemplate"]
    replicas, workers = int(spec.get("replicas", 1)), int(template.get("size", 1)) - 1
    yield _stateful_set(found, name, leader, replicas, {WORKER_LABEL: "0"})
    for group in range(replicas if workers else 0):
        labels = {GROUP_LABEL: str(group)}
        yield _stateful_set(found, f"{name}-{group}", template["workerTemplate"], workers, labels)


def _stateful_set(
    found: Object, name: str, template: Object, replicas: int, labels: Mapping[str, str]
) -> tuple[str, Mapping[str, Any]]:
    metadata = found["metadata"]
    selector = {NAME_LABEL: metadata["name"], **labels}
    own = template.get("metadata") or {}
    body = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "ownerReferences": [
                {
                    "apiVersion": found["apiVersion"],
                    "kind": found["kind"],
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                }
            ],
        },
        "spec": {
            "replicas": replicas,
            "serviceName": metadata["name"],
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": selector},
            "template": {
                "metadata": {**own, "labels": {**(own.get("labels") or {}), **selector}},
                "spec": template["spec"],
            },
        },
    }
    return f"/apis/apps/v1/namespaces/{metadata['namespace']}/statefulsets/{name}", body


def group_status(found: Object, pods: list[Object]) -> Mapping[str, Any]:
    """The status of one LeaderWorkerSet with these pods."""
    replicas = int(found["spec"].get("replicas", 1))
    expected = replicas * int(found["spec"]["leaderWorkerTemplate"].get("size", 1))
    ready = sum(_is_ready(pod) for pod in pods)
    available = ready >= expected
    return {
        "replicas": replicas,
        "readyReplicas": replicas if available else 0,
        "conditions": [
            {
                "type": "Available",
                "status": "True" if available else "False",
                "reason": "AllGroupsReady" if available else "GroupsAreProgressing",
                "message": f"{ready} of {expected} pods are ready",
                "lastTransitionTime": found["metadata"]["creationTimestamp"],
            }
        ],
    }


def _is_ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
