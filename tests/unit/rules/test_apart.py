"""Workloads that may be judged alone and forgotten: the same is found, and only those are."""

from typing import Any

import pytest

from berth.rules.check import check, check_apart
from berth.rules.resource import Resource
from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import container, gpus, release
from tests.unit.rules.test_reported_cases import CASES

WEB = {"name": "web", "image": "nginx:1.29"}
LEAKY = {**WEB, "env": [{"name": "A_TOKEN", "value": "x"}]}
BESIDE = Resource(
    "kubernetes:apps/v1:Deployment",
    "web",
    "urn:web",
    {"spec": {"template": {"spec": {"containers": [LEAKY]}}}},
)


def of_pod(*, kind: str = "apps/v1:Deployment", metadata: Any = None, **spec: Any) -> Resource:
    pod = {"containers": [WEB], **spec}
    props = {"metadata": metadata or {"name": "web"}, "spec": {"template": {"spec": pod}}}
    return Resource(f"kubernetes:{kind}", "web", "urn:web", props)


def of_container(**changes: Any) -> Resource:
    return of_pod(containers=[{**WEB, **changes}])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["report"])
def test_the_same_is_found_as_beside_the_others(case: dict[str, Any]) -> None:
    stack = [Resource(e["type"], e["name"], f"urn:{e['name']}", e["props"]) for e in case["stack"]]
    stack.append(BESIDE)

    apart = [check_apart(resource) for resource in stack]

    rest = [resource for resource, report in zip(stack, apart, strict=True) if report is None]
    found = [f for report in apart if report for f in report.findings] + [*check(rest).findings]
    assert sorted(map(str, found)) == sorted(map(str, check(stack).findings))
    assert BESIDE not in rest


@pytest.mark.parametrize(
    ("resource", "is_apart"),
    [
        pytest.param(of_pod(), True, id="web"),
        pytest.param(of_container(resources={"limits": {"cpu": 1}}), True, id="of-cpus"),
        pytest.param(of_container(resources=gpus(1, 1)), False, id="of-gpus"),
        pytest.param(of_pod(containers=[container()]), False, id="server"),
        pytest.param(of_container(command=["vllm", "serve", "m"]), False, id="server-by-words"),
        pytest.param(of_container(image="vllm/vllm-openai-cpu:v1"), True, id="server-on-cpus"),
        pytest.param(
            of_container(image="nvcr.io/nvidia/k8s-device-plugin:v0.20.0"), False, id="agent"
        ),
        pytest.param(of_container(envFrom=[{"configMapRef": {"name": "c"}}]), False, id="map"),
        pytest.param(
            of_container(env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c"}}}]),
            False,
            id="key-of-a-map",
        ),
        pytest.param(
            of_container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "c"}}}]),
            True,
            id="key-of-a-secret",
        ),
        pytest.param(
            of_pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}]),
            False,
            id="claim",
        ),
        pytest.param(of_pod(volumes=[{"name": "v", "emptyDir": {}}]), True, id="scratch"),
        pytest.param(of_pod(resourceClaims=[{"name": "gpu"}]), False, id="devices"),
        pytest.param(
            of_pod(metadata={"annotations": {"berth.dev/except-image-unpinned": "x"}}),
            False,
            id="note",
        ),
        pytest.param(of_pod(containers=UNKNOWN), False, id="known-after-apply"),
        pytest.param(of_container(image=UNKNOWN), False, id="image-known-after-apply"),
        pytest.param(of_pod(initContainers=[container()]), False, id="prepared-on-gpus"),
        pytest.param(of_pod(kind="serving.kserve.io/v1beta1:InferenceService"), False, id="kserve"),
        pytest.param(release("nginx"), False, id="chart"),
        pytest.param(of_pod(kind="core/v1:Service"), False, id="no-workload"),
    ],
)
def test_only_what_no_other_resource_concerns_is_apart(
    resource: Resource, *, is_apart: bool
) -> None:
    assert (check_apart(resource) is not None) is is_apart
