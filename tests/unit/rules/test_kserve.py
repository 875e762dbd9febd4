"""Resources of KServe that make pods."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view import view_stack
from berth.rules.stack_view.workload import Workload
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError
from tests.unit.rules.stacks import container, gpus, pod_spec
from tests.unit.rules.stacks import found as findings

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


def spread(**worker: Any) -> Workload:
    """A model on several nodes."""
    return predictor(**model("huggingface", args=["--max-model-len", "8192"]), workerSpec=worker)


@pytest.mark.parametrize(
    ("worker", "sizes", "workers"),
    [
        ({"tensorParallelSize": 8, "pipelineParallelSize": 3}, (8, 3), 2),
        ({"pipelineParallelSize": 2}, (1, 2), 1),
        ({}, (1, 1), 0),
    ],
)
def test_a_predictor_on_several_nodes_has_its_sizes_in_the_worker_spec(
    worker: dict[str, Any], sizes: tuple[int, int], workers: int
) -> None:
    found = spread(**worker)

    arguments = found.pods[0].containers[0].engine_arguments
    assert arguments is not None
    assert (arguments.ranks().tensor, arguments.ranks().pipeline) == sizes
    assert arguments.number("--max-model-len") == 8192
    assert roles(found) == [("leader", 1), ("worker", workers)]
    assert found.is_group


def test_sizes_of_a_worker_spec_that_are_known_after_apply() -> None:
    head, worker = spread(pipelineParallelSize=UNKNOWN).pods

    with pytest.raises(KnownAfterApplyError):
        _ = worker.count
    assert head.containers[0].engine_arguments is not None
    with pytest.raises(KnownAfterApplyError):
        head.containers[0].engine_arguments.ranks()


def test_unknown_arguments_of_a_spread_model_stay_unknown() -> None:
    found = predictor(**model("huggingface", args=UNKNOWN), workerSpec={})

    with pytest.raises(KnownAfterApplyError):
        _ = found.pods[0].containers[0].engine_arguments


def test_containers_of_an_author_get_no_sizes() -> None:
    found = predictor(containers=[container()], workerSpec={"containers": [container(name="w")]})

    head, worker = found.pods
    assert head.containers[0].body.value == container()
    assert worker.containers[0].name == "container w"


def test_gpus_of_a_spread_model_are_not_idle() -> None:
    spec = model("huggingface", args=["--max-model-len", "8192"], resources=gpus(8))
    resource = predictor(
        **spec, workerSpec={"tensorParallelSize": 8, "pipelineParallelSize": 2}
    ).resource

    assert findings("idle-gpus", resource) == []
