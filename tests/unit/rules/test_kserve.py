"""Resources of KServe that make pods."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view import view_stack
from berth.rules.stack_view.workload import Workload
from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import container, gpus, pod_spec

POD = pod_spec()


def workload(token: str, spec: Any, **more: Any) -> Workload:
    resource = Resource(f"kubernetes:{token}", "w", "urn:w", {"spec": spec, **more})
    (found,) = view_stack([resource]).workloads
    return found


def roles(found: Workload) -> list[tuple[str, int]]:
    """Role and number of the pods of each template."""
    return [(pod.role, pod.count) for pod in found.pods]


def predictor(**spec: Any) -> Workload:
    return workload(
        "serving.kserve.io/v1beta1:InferenceService",
        {"predictor": spec},
        metadata={"labels": {"app": "chat"}},
    )


def model(name: str, **more: Any) -> dict[str, Any]:
    return {"model": {"modelFormat": {"name": name}, "resources": gpus(1), **more}}


@pytest.mark.parametrize(
    ("spec", "engine"),
    [
        (model("huggingface"), "vllm"),
        (model("vLLM"), "vllm"),
        (model("sklearn"), None),
        (model("huggingface", image="lmsysorg/sglang:v0.5"), "sglang"),
        (model("huggingface", image="example.com/own:1"), None),
        ({"huggingface": {"resources": gpus(1)}}, "vllm"),
        ({"triton": {"resources": gpus(1)}}, "triton"),
        (model("huggingface", resources=gpus(0)), None),
    ],
)
def test_the_engine_that_kserve_runs_for_a_model(spec: dict[str, Any], engine: str | None) -> None:
    (pod,) = predictor(**spec).pods

    assert pod.containers[0].engine == engine
    assert pod.containers[0].name == "container kserve-container"
    assert pod.label("app") == "chat"


def test_arguments_of_a_model_of_kserve() -> None:
    (pod,) = predictor(**model("huggingface", args=["--tensor-parallel-size=2"])).pods

    arguments = pod.containers[0].engine_arguments
    assert arguments is not None
    assert arguments.ranks().tensor == 2
    assert arguments.model({}) is None


def test_a_model_runs_beside_the_containers_of_a_predictor() -> None:
    (pod,) = predictor(**model("huggingface"), containers=[{"name": "sidecar"}], minReplicas=3).pods

    assert [c.name for c in pod.containers] == ["container kserve-container", "container sidecar"]
    assert pod.count == 3


def test_containers_of_a_predictor_are_its_own() -> None:
    (pod,) = predictor(containers=[container()]).pods

    assert pod.containers[0].name == "container server"
    assert pod.containers[0].body.path == "spec.predictor.containers[0]"


@pytest.mark.parametrize("spec", [None, UNKNOWN, "text"])
def test_a_predictor_that_is_not_there_makes_no_pod(spec: Any) -> None:
    assert workload("serving.kserve.io/v1beta1:InferenceService", {"predictor": spec}).pods == ()


def test_unknown_containers_of_a_predictor_stay_unknown() -> None:
    (pod,) = predictor(containers=UNKNOWN).pods

    assert pod.spec.at("containers").is_unknown


def test_every_part_of_an_inference_service_makes_pods() -> None:
    spec = {part: {"containers": [container()]} for part in ("predictor", "transformer")}

    assert len(workload("serving.kserve.io/v1beta1:InferenceService", spec).pods) == 2


@pytest.mark.parametrize(
    ("spec", "expected", "is_group"),
    [
        ({"template": POD, "replicas": 2}, [("", 2)], False),
        ({"template": POD, "worker": POD}, [("leader", 1), ("worker", 1)], True),
        ({"worker": POD}, [("worker", 1)], True),
        ({"template": POD, "prefill": {"template": POD, "replicas": 3}}, [("", 1), ("", 3)], False),
        ({}, [], False),
    ],
)
def test_pods_of_an_llm_inference_service(
    spec: dict[str, Any], expected: list[tuple[str, int]], is_group: bool
) -> None:
    found = workload("serving.kserve.io/v1alpha1:LLMInferenceService", spec)

    assert roles(found) == expected
    assert found.is_group is is_group


@pytest.mark.parametrize("kind", ["ServingRuntime", "ClusterServingRuntime"])
def test_a_runtime_makes_no_pods_before_a_service_names_it(kind: str) -> None:
    found = workload(f"serving.kserve.io/v1alpha1:{kind}", {"containers": [container()]})

    assert roles(found) == [("", 0)]
