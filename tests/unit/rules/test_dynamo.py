"""Resources of Dynamo that make pods."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view import view_stack
from berth.rules.stack_view.workload import Workload
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError
from tests.unit.rules.stacks import gpus


def workload(token: str, spec: Any, **more: Any) -> Workload:
    resource = Resource(f"kubernetes:{token}", "w", "urn:w", {"spec": spec, **more})
    (found,) = view_stack([resource]).workloads
    return found


def roles(found: Workload) -> list[tuple[str, int]]:
    """Role and number of the pods of each template."""
    return [(pod.role, pod.count) for pod in found.pods]


def dynamo(**service: Any) -> Workload:
    return workload("nvidia.com/v1alpha1:DynamoGraphDeployment", {"services": {"Worker": service}})


MAIN = {"image": "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.4", "args": ["-m", "x"]}


@pytest.mark.parametrize(
    ("service", "expected", "is_group"),
    [
        ({"extraPodSpec": {"mainContainer": MAIN}, "replicas": 2}, [("", 2)], False),
        ({"extraPodSpec": {}, "multinode": {"nodeCount": 2}}, [("leader", 2)], True),
        ({"extraPodSpec": {}, "multinode": {"nodeCount": 1}}, [("", 1)], False),
        ({"extraPodSpec": UNKNOWN}, [], False),
        ({"replicas": 1}, [], False),
    ],
)
def test_services_of_dynamo(
    service: dict[str, Any], expected: list[tuple[str, int]], is_group: bool
) -> None:
    found = dynamo(**service)

    assert roles(found) == expected
    assert found.is_group is is_group


def test_the_main_container_of_dynamo_stands_before_the_others() -> None:
    found = dynamo(
        extraPodSpec={"mainContainer": MAIN, "containers": [{"name": "sidecar"}]},
        extraPodMetadata={"labels": {"app": "chat"}},
    )

    (pod,) = found.pods
    assert [c.name for c in pod.containers] == ["container main", "container sidecar"]
    assert pod.containers[0].image is not None
    assert pod.label("app") == "chat"


def test_a_component_of_dynamo_alone() -> None:
    spec = {"extraPodSpec": {"mainContainer": {**MAIN, "name": "own"}}}
    found = workload("nvidia.com/v1alpha1:DynamoComponentDeployment", spec)

    assert found.pods[0].containers[0].name == "container own"


@pytest.mark.parametrize(
    ("resources", "limits"),
    [
        ({"limits": {"gpu": "2"}}, {"nvidia.com/gpu": "2"}),
        ({"limits": {"gpu": "2", "gpuType": "amd.com/gpu"}}, {"amd.com/gpu": "2"}),
        (
            {"limits": {"cpu": "4", "custom": {"vpc.amazonaws.com/efa": "1"}}},
            {"cpu": "4", "vpc.amazonaws.com/efa": "1"},
        ),
        ({"limits": {"cpu": "4", "custom": "text"}}, {"cpu": "4"}),
        ({"limits": UNKNOWN}, UNKNOWN),
        ({"requests": {"gpu": "1"}}, None),
    ],
)
def test_quantities_of_dynamo(resources: Any, limits: Any) -> None:
    (pod,) = dynamo(extraPodSpec={"mainContainer": MAIN}, resources=resources).pods

    assert pod.containers[0].body.at("resources", "limits").value == limits


def test_resources_of_dynamo_that_are_known_after_apply() -> None:
    (pod,) = dynamo(extraPodSpec={"mainContainer": MAIN}, resources=UNKNOWN).pods

    with pytest.raises(KnownAfterApplyError):
        _ = pod.containers[0].gpus


def test_resources_of_the_main_container_stand_where_the_service_has_none() -> None:
    (pod,) = dynamo(extraPodSpec={"mainContainer": {**MAIN, "resources": gpus(4)}}).pods

    assert pod.containers[0].gpus == 4


def volumes(**service: Any) -> tuple[Any, Any]:
    """Volumes of the pod, and mounts of the main container."""
    (pod,) = dynamo(**service).pods
    return (
        pod.spec.at("volumes").value,
        pod.containers[0].body.at("volumeMounts").value,
    )


def test_the_operator_of_dynamo_mounts_shared_memory() -> None:
    pod, main = volumes(extraPodSpec={})

    assert pod == [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]
    assert main == [{"name": "shared-memory", "mountPath": "/dev/shm"}]


@pytest.mark.parametrize(
    ("shared", "size"),
    [({"size": "16Gi"}, "16Gi"), ({"size": UNKNOWN}, UNKNOWN), ({"disabled": False}, "8Gi")],
)
def test_the_size_of_shared_memory(shared: Any, size: Any) -> None:
    (volume,), _ = volumes(extraPodSpec={}, sharedMemory=shared)

    assert volume["emptyDir"]["sizeLimit"] == size


def test_shared_memory_that_is_off() -> None:
    assert volumes(extraPodSpec={}, sharedMemory={"disabled": True}) == ([], [])


def test_shared_memory_that_is_known_after_apply_may_be_there() -> None:
    (volume,), (mount,) = volumes(extraPodSpec={}, sharedMemory=UNKNOWN)

    assert volume["emptyDir"] is UNKNOWN
    assert mount["mountPath"] == "/dev/shm"


OFF = {"disabled": True}


def test_claims_that_a_service_of_dynamo_mounts() -> None:
    named = [{"name": "weights", "mountPoint": "/models"}, {"name": "x"}, {"mountPoint": "/y"}]
    pod, main = volumes(extraPodSpec={}, sharedMemory=OFF, volumeMounts=named)

    assert pod == [{"name": "weights", "persistentVolumeClaim": {"claimName": "weights"}}]
    assert main == [{"name": "weights", "mountPath": "/models"}]


def test_volumes_of_the_author_come_first() -> None:
    own = {"name": "own", "emptyDir": {}}
    pod, main = volumes(extraPodSpec={"volumes": [own], "mainContainer": {"volumeMounts": UNKNOWN}})

    assert [volume["name"] for volume in pod] == ["own", "shared-memory"]
    assert main is UNKNOWN
