"""The pods of a server over several nodes, as LeaderWorkerSet's controller makes them."""

from typing import Any

import pytest

from berth.rehearsal.groups import group_status, stateful_sets

POD = {"containers": [{"name": "vllm", "image": "vllm"}]}


def a_group(replicas: int = 2, size: int = 2) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "chat"}}, "spec": POD}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": "chat-group",
            "namespace": "inference",
            "uid": "1",
            "creationTimestamp": "2026-11-30T00:00:00Z",
        },
        "spec": {
            "replicas": replicas,
            "leaderWorkerTemplate": {
                "size": size,
                "leaderTemplate": template,
                "workerTemplate": template,
            },
        },
    }


def a_pod(ready: str = "True") -> dict[str, Any]:
    return {"status": {"conditions": [{"type": "Ready", "status": ready}]}}


@pytest.mark.parametrize(
    ("replicas", "size", "pods"),
    [
        pytest.param(2, 2, {"chat-group": 2, "chat-group-0": 1, "chat-group-1": 1}, id="two pairs"),
        pytest.param(1, 4, {"chat-group": 1, "chat-group-0": 3}, id="one of four"),
        pytest.param(2, 1, {"chat-group": 2}, id="alone"),
        pytest.param(0, 2, {"chat-group": 0}, id="none"),
    ],
)
def test_each_leader_has_its_workers(replicas: int, size: int, pods: dict[str, int]) -> None:
    found = dict(stateful_sets(a_group(replicas, size)))

    assert {
        path.rsplit("/", 1)[1]: body["spec"]["replicas"] for path, body in found.items()
    } == pods


def test_only_leaders_carry_what_a_service_selects() -> None:
    labels = {
        body["metadata"]["name"]: body["spec"]["template"]["metadata"]["labels"]
        for _, body in stateful_sets(a_group(replicas=1))
    }

    assert labels["chat-group"]["leaderworkerset.sigs.k8s.io/worker-index"] == "0"
    assert "leaderworkerset.sigs.k8s.io/worker-index" not in labels["chat-group-0"]
    assert {each["app"] for each in labels.values()} == {"chat"}


@pytest.mark.parametrize(
    ("pods", "status"),
    [
        pytest.param([a_pod()] * 4, "True", id="all"),
        pytest.param([a_pod()] * 3, "False", id="one is missing"),
        pytest.param([*[a_pod()] * 3, a_pod("False")], "False", id="one loads"),
        pytest.param([*[a_pod()] * 3, {}], "False", id="one has no state yet"),
    ],
)
def test_it_is_available_when_every_pod_is_ready(pods: list[Any], status: str) -> None:
    (condition,) = group_status(a_group(), pods)["conditions"]

    assert (condition["type"], condition["status"]) == ("Available", status)
