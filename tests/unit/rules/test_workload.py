"""Pods of every kind of workload."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view import view_stack
from tests.unit.rules.stacks import found

CONTAINER = {"name": "server", "image": "vllm/vllm-openai:latest"}
POD = {"containers": [CONTAINER]}
TEMPLATE = {"template": {"spec": POD}}


@pytest.mark.parametrize(
    ("token", "spec"),
    [
        ("core/v1:Pod", POD),
        ("apps/v1:Deployment", TEMPLATE),
        ("apps/v1:StatefulSet", TEMPLATE),
        ("apps/v1:DaemonSet", TEMPLATE),
        ("apps/v1:ReplicaSet", TEMPLATE),
        ("batch/v1:Job", TEMPLATE),
        ("batch/v1:CronJob", {"jobTemplate": {"spec": TEMPLATE}}),
        (
            "leaderworkerset.x-k8s.io/v1:LeaderWorkerSet",
            {"leaderWorkerTemplate": {"workerTemplate": {"spec": POD}}},
        ),
        ("ray.io/v1:RayCluster", {"workerGroupSpecs": [TEMPLATE]}),
        ("ray.io/v1:RayService", {"rayClusterConfig": {"workerGroupSpecs": [TEMPLATE]}}),
        ("ray.io/v1:RayJob", {"rayClusterSpec": {"workerGroupSpecs": [TEMPLATE]}}),
    ],
)
def test_the_pod_is_found(token: str, spec: dict[str, Any]) -> None:
    resource = Resource(f"kubernetes:{token}", "w", "", {"spec": spec})

    (finding,) = found("image-unpinned", resource)

    assert finding.resource == "w"


@pytest.mark.parametrize(
    "token",
    [
        "kubernetes:apps/v1:DeploymentPatch",
        "kubernetes:example.com/v1:Deployment",
        "kubernetes:core/v1:Service",
        "kubernetes:yaml:ConfigGroup",
        "aws:ecs/service:Service",
        "",
    ],
)
def test_other_resources_make_no_pods(token: str) -> None:
    assert view_stack([Resource(token, "w", "", {"spec": TEMPLATE})]).workloads == ()
