"""Pod templates and containers: what each is, runs and asks for."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view import view_stack
from berth.rules.stack_view.pod import Container, Pod
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError
from tests.unit.rules.stacks import (
    ABSENT,
    container,
    deployment,
    gpus,
    pod_spec,
)

AGENT = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"
BUSYBOX = "busybox:1.37"
GPU = {"nvidia.com/gpu": 1}
CLAIMED = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}


def pod(*containers: dict[str, Any], **spec: Any) -> Pod:
    return next(view_stack([deployment(pod_spec(*containers, **spec))]).pods())


def one(**changes: Any) -> Container:
    return pod(container(**changes)).containers[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("server", "container server"), ("", "spec.template.spec.containers[0]"),
     (UNKNOWN, "spec.template.spec.containers[0]"), (ABSENT, "spec.template.spec.containers[0]")],
)  # fmt: skip
def test_a_message_calls_a_container_by_name_or_place(name: Any, expected: str) -> None:
    assert one(name=name).name == expected


def test_init_containers_stand_apart() -> None:
    both = pod(container(), initContainers=[container(name="fetch")])

    assert [c.name for c in both.containers] == ["container server"]
    assert [c.name for c in both.init_containers] == ["container fetch"]
    assert both.init_containers[0].init
    assert not both.containers[0].init
    assert both.containers[0].is_model_server
    assert not both.init_containers[0].is_model_server


def test_an_unknown_list_holds_one_unknown_container() -> None:
    unknown = pod(containers=UNKNOWN, initContainers=UNKNOWN)

    assert len(unknown.containers) == 1
    assert unknown.init_containers == ()
    with pytest.raises(KnownAfterApplyError):
        _ = unknown.containers[0].is_model_server


@pytest.mark.parametrize(
    ("replicas", "count"), [(3, 3), ("2", 2), (0, 0), (-1, 0), (None, 1), ("many", 1)]
)
def test_how_many_of_a_pod_run(replicas: Any, count: int) -> None:
    spec = {"replicas": replicas, "template": {"spec": pod_spec()}}
    workload = Resource("kubernetes:apps/v1:Deployment", "d", "", {"spec": spec})

    assert next(view_stack([workload]).pods()).count == count


@pytest.mark.parametrize(
    ("containers", "spec", "asks", "computes"),
    [
        ([container()], {}, True, True),
        ([container(resources=ABSENT)], {}, False, True),
        ([container(image=BUSYBOX, args=ABSENT)], {}, True, True),
        ([container(image=BUSYBOX, args=ABSENT, resources=ABSENT)], {}, False, False),
        ([container(image=BUSYBOX, resources={"claims": [{"name": "gpu"}]})], CLAIMED, True, True),
        ([container(image=AGENT, args=ABSENT)], {}, True, False),
        ([container(image=AGENT, args=ABSENT), container()], {}, True, False),
        ([container(image=BUSYBOX, resources=ABSENT), container()], {}, True, True),
    ],
)
def test_pods_that_compute_on_gpus(
    containers: list[Any], spec: dict[str, Any], asks: bool, computes: bool
) -> None:
    made = pod(*containers, **spec)

    assert made.asks_for_gpus is asks
    assert made.is_gpu_workload is computes


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([gpus(2)], {"nvidia.com/gpu": 2}),
        ([gpus(2, 1)], {"nvidia.com/gpu": 2}),
        ([gpus(ABSENT, 3)], {"nvidia.com/gpu": 3}),
        ([gpus(1), gpus("2")], {"nvidia.com/gpu": 3}),
        (
            [gpus(1), gpus(2, key="nvidia.com/mig-1g.10gb")],
            {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.10gb": 2},
        ),
        ([gpus(0)], {}),
        ([gpus("0.5")], None),
        ([gpus(-1)], None),
        ([gpus("many")], None),
        ([{"claims": [{"name": "gpu"}]}], None),
    ],
)
def test_accelerators_of_a_whole_pod(resources: list[Any], expected: dict[str, int] | None) -> None:
    made = pod(*(container(resources=each) for each in resources), **CLAIMED)

    assert made.gpus_by_key == expected


@pytest.mark.parametrize(
    ("resources", "count", "keys"),
    [
        (gpus(4), 4, ["nvidia.com/gpu"]),
        (gpus(4, 2), 4, ["nvidia.com/gpu"]),
        (gpus(ABSENT, 2), 2, ["nvidia.com/gpu"]),
        (gpus(0, 2), 2, []),
        (gpus(0), None, []),
        (gpus("0.5"), None, ["nvidia.com/gpu"]),
        (gpus(-2), None, ["nvidia.com/gpu"]),
        (gpus("many"), None, ["nvidia.com/gpu"]),
        (gpus(1, key="cpu"), None, []),
        (gpus([1]), None, []),
        (gpus(True), None, []),
        (
            {"limits": {"nvidia.com/gpu": 0, "nvidia.com/mig-1g.10gb": 2}},
            2,
            ["nvidia.com/mig-1g.10gb"],
        ),
        (ABSENT, None, []),
    ],
)
def test_accelerators_of_a_container(resources: Any, count: int | None, keys: list[str]) -> None:
    made = one(resources=resources)

    assert made.gpus == count
    assert made.asked_keys == keys
    assert made.has_mig_devices is (keys == ["nvidia.com/mig-1g.10gb"])


def test_an_unknown_quantity_is_not_counted() -> None:
    with pytest.raises(KnownAfterApplyError):
        _ = one(resources=gpus(UNKNOWN)).gpus


@pytest.mark.parametrize(
    ("spec", "resources", "count"),
    [
        (CLAIMED, {"claims": [{"name": "gpu"}]}, 1),
        ({}, {"claims": [{"name": "gpu"}]}, 0),
        (CLAIMED, {}, 0),
    ],
)
def test_a_claim_is_of_the_pod_and_named_by_the_container(
    spec: dict[str, Any], resources: dict[str, Any], count: int
) -> None:
    (made,) = pod(container(resources=resources), **spec).containers

    assert len(made.claims) == count
    assert made.gpus is None


CPU = ["--device", "cpu"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"args": ABSENT}, True),
        ({"image": "nvidia/cuda:12.9.1-runtime"}, True),
        ({"image": BUSYBOX, "args": ["x"]}, False),
        ({"image": BUSYBOX, "command": ["vllm", "serve", "m"], "args": ABSENT}, True),
        ({"image": ABSENT, "command": ["vllm", "serve", "m"], "args": ABSENT}, True),
        ({"image": ABSENT}, False),
        ({"image": "vllm/vllm-openai-cpu:v1"}, False),
        ({"image": AGENT, "command": ["vllm", "serve", "m"]}, False),
        ({"args": ["--model", "m", *CPU]}, False),
        ({"args": ["--model", "m", "--device=cpu"]}, False),
        ({"args": ["--model", "m", "--device", "cuda"]}, True),
        ({"args": ["--model", "m", "--device"]}, True),
        ({"args": ["--other", "cpu"]}, True),
    ],
)
def test_model_servers(changes: dict[str, Any], expected: bool) -> None:
    assert one(**changes).is_model_server is expected


@pytest.mark.parametrize(
    ("changes", "engine"),
    [
        ({}, "vllm"),
        ({"image": "lmsysorg/sglang:v0.5"}, "sglang"),
        ({"image": "lmsysorg/sglang:v0.5", "command": ["vllm", "serve", "m"]}, "vllm"),
        ({"image": "nvidia/cuda:12.9.1-runtime", "args": ABSENT}, None),
        ({"image": "ollama/ollama:1", "command": ["/start.sh"]}, "ollama"),
        ({"image": BUSYBOX}, None),
        ({"args": CPU}, None),
    ],
)
def test_the_engine_that_a_container_runs(changes: dict[str, Any], engine: str | None) -> None:
    assert one(**changes).engine == engine


@pytest.mark.parametrize(
    ("changes", "model"),
    [
        ({}, "meta-llama/Llama-3.1-8B-Instruct"),
        ({"image": BUSYBOX}, None),
        (
            {
                "image": "ghcr.io/huggingface/text-generation-inference:3",
                "args": ABSENT,
                "env": [{"name": "MODEL_ID", "value": "org/m"}],
            },
            "org/m",
        ),
    ],
)
def test_the_model_of_a_container(changes: dict[str, Any], model: str | None) -> None:
    assert one(**changes).model == model


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ([{"name": "A", "value": "1"}], True),
        ([{"name": "A", "valueFrom": {"secretKeyRef": {}}}], True),
        ([{"name": "A", "value": UNKNOWN}], True),
        ([{"name": "B", "value": "1"}], False),
        (UNKNOWN, True),
        (ABSENT, False),
    ],
)
def test_whether_a_variable_is_set(env: Any, expected: bool) -> None:
    assert one(env=env).has_variable("A") is expected


def test_labels_of_pods() -> None:
    spec = {"template": {"metadata": {"labels": {"app": "chat"}}, "spec": pod_spec()}}
    made = next(
        view_stack([Resource("kubernetes:apps/v1:Deployment", "d", "", {"spec": spec})]).pods()
    )

    assert made.label("app") == "chat"
    assert made.label("team") is None
