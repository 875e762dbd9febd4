"""A model server asks for the GPUs that it uses."""

from typing import Any

import pytest

from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import (
    ABSENT,
    container,
    deployment,
    found,
    gpus,
    not_checked,
    pod_spec,
    server,
)

KIND = "gpu-request-missing"
NO_REQUEST = {"limits": {"memory": "48Gi"}}


def test_the_message_names_the_container_and_the_fix_the_key() -> None:
    (finding,) = found(KIND, server(resources=NO_REQUEST))

    assert finding.message == (
        "chat: container server runs vllm/vllm-openai:v0.18.0 and asks for 0 GPUs: it gets none, "
        "or all of the node's; ask for GPUs under resources.limits"
    )
    assert finding.fix == (
        "set spec.template.spec.containers[0].resources.limits[nvidia.com/gpu] to 1"
    )
    assert (finding.severity, finding.enforcement_level) == ("high", "mandatory")
    assert (finding.resource, finding.urn) == ("chat", "urn:chat")


@pytest.mark.parametrize(
    "image",
    [
        "vllm/vllm-openai:v0.18.0",
        "registry.example.com:5000/team/vllm-server:7",
        "registry.example.com/team/chat:vllm-0.9",
        "lmsysorg/sglang:v0.5.2",
        "ghcr.io/huggingface/text-generation-inference:3.3",
        "ghcr.io/huggingface/text-embeddings-inference:89-1.5",
        "nvcr.io/nvidia/tritonserver:25.06-py3",
        "nvcr.io/nvidia/tensorrt-llm/release:1.0",
        "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8",
        "openmmlab/lmdeploy:v0.9",
        "ollama/ollama:0.9.0",
        "ghcr.io/llm-d/llm-d-cuda:v0.5.0",
        "nvidia/cuda:12.9.1-runtime-ubuntu24.04",
        "pytorch/pytorch:2.8.0-cuda12.9-cudnn9-runtime",
    ],
)
def test_engines_and_gpu_base_images_are_model_servers(image: str) -> None:
    assert len(found(KIND, server(image=image, args=ABSENT, resources=NO_REQUEST))) == 1


@pytest.mark.parametrize(
    "image",
    [
        "lmcache/lmstack-router:v0.1.8",
        "ghcr.io/llm-d/llm-d-routing-sidecar:v0.5.0",
        "ghcr.io/llm-d/llm-d-inference-scheduler:v0.5.0",
        "ghcr.io/llm-d/llm-d-inference-sim:v0.5.0",
        "example.com/vllm-exporter:1",
        "example.com/vllm-gateway:1",
        "example.com/vllm-proxy:1",
        "example.com/vllm-simulator:1",
        "public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.18.0",
        "vllm/vllm-openai:v0.18.0-cpu",
        "ghcr.io/huggingface/text-embeddings-inference:cpu-1.5",
        "nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0-4.8.3-distroless",
        "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
        "busybox:1.37",
    ],
)
def test_what_stands_around_an_engine_or_runs_on_cpus_is_not(image: str) -> None:
    assert found(KIND, server(image=image, args=ABSENT, resources=NO_REQUEST)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"command": ["vllm", "serve", "m"]},
        {"command": ["python3", "-m", "vllm.entrypoints.openai.api_server"]},
        {"command": ["sh", "-c", "set -e\nexec vllm serve $MODEL"]},
        {"command": ["/usr/bin/python", "-m", "sglang.launch_server", "--model", "m"]},
        {"args": ["text-generation-launcher", "--model-id", "m"]},
    ],
    ids=["vllm", "module", "shell", "sglang", "tgi"],
)
def test_a_command_gives_an_engine_away(changes: dict[str, Any]) -> None:
    nameless = {"image": "example.com/chat:1", "args": ABSENT, "resources": NO_REQUEST}

    assert len(found(KIND, server(**{**nameless, **changes}))) == 1


@pytest.mark.parametrize(
    "resources",
    [
        gpus(1),
        gpus(ABSENT, 1),
        gpus("2"),
        gpus(1, key="nvidia.com/mig-1g.10gb"),
        gpus(1, key="nvidia.com/gpu.shared"),
        gpus(1, key="amd.com/gpu"),
        gpus(1, key="aws.amazon.com/neuron"),
        gpus("0.5"),
        {"limits": {"nvidia.com/gpu": 0, "nvidia.com/mig-1g.10gb": 1}},
    ],
)
def test_any_accelerator_is_a_request(resources: dict[str, Any]) -> None:
    assert found(KIND, server(resources=resources)) == []


@pytest.mark.parametrize("zero", [0, "0", "0.0"])
def test_a_quantity_of_zero_is_none(zero: Any) -> None:
    assert len(found(KIND, server(resources=gpus(zero)))) == 1


def test_a_claim_stands_for_a_request() -> None:
    claimed = container(resources={"claims": [{"name": "gpu"}]})

    assert found(KIND, deployment(pod_spec(claimed, resourceClaims=[{"name": "gpu"}]))) == []
    assert len(found(KIND, deployment(pod_spec(claimed)))) == 1


@pytest.mark.parametrize("args", [["--device", "cpu"], ["--device=cpu"]])
def test_a_server_told_to_use_the_cpu_needs_none(args: list[str]) -> None:
    assert found(KIND, server(args=["--model", "m", *args], resources=NO_REQUEST)) == []


def test_a_container_that_hides_gpus_from_a_cpu_command_needs_none() -> None:
    hidden = {
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}],
        "resources": NO_REQUEST,
    }

    assert found(KIND, server(command=["python", "convert.py"], args=ABSENT, **hidden)) == []
    assert len(found(KIND, server(**hidden))) == 1


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        ({"nodeSelector": {"node.kubernetes.io/instance-type": "m7i.4xlarge"}}, 0),
        ({"nodeSelector": {"karpenter.k8s.aws/instance-family": "c7a"}}, 0),
        ({"nodeSelector": {"node.kubernetes.io/instance-type": "g6.xlarge"}}, 1),
        ({"nodeSelector": {"pool": "m7i.4xlarge"}}, 1),
    ],
    ids=["type", "family", "gpu-type", "other-label"],
)
def test_a_server_on_cpu_nodes_needs_none(placement: dict[str, Any], expected: int) -> None:
    bare = container(resources=NO_REQUEST)

    assert len(found(KIND, deployment(pod_spec(bare, **placement)))) == expected


def test_affinity_to_cpu_nodes_counts_when_every_term_has_it() -> None:
    def spec(*types: str) -> dict[str, Any]:
        key = "node.kubernetes.io/instance-type"
        terms = [
            {"matchExpressions": [{"key": key, "operator": "In", "values": [name]}]}
            for name in types
        ]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        return pod_spec(container(resources=NO_REQUEST), affinity={"nodeAffinity": required})

    assert found(KIND, deployment(spec("m7i.large", "c7i.large"))) == []
    assert len(found(KIND, deployment(spec("m7i.large", "g6.xlarge")))) == 1


def test_init_containers_need_none() -> None:
    download = container(name="download", resources=NO_REQUEST)

    assert found(KIND, deployment(pod_spec(initContainers=[download]))) == []


def test_the_fix_counts_the_ranks_and_names_the_vendor() -> None:
    (split,) = found(KIND, server(args=["-tp", "4", "-pp=2"], resources=NO_REQUEST))
    (rocm,) = found(KIND, server(image="vllm/vllm-openai-rocm:v0.31.0", resources=NO_REQUEST))

    assert split.fix.endswith("[nvidia.com/gpu] to 8")
    assert rocm.fix.endswith("[amd.com/gpu] to 1")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"image": UNKNOWN, "resources": NO_REQUEST}, "containers[0].image"),
        ({"resources": UNKNOWN}, "containers[0].resources"),
        ({"resources": {"limits": UNKNOWN}}, "containers[0].resources.limits"),
    ],
)
def test_what_is_known_after_apply_is_not_judged(changes: dict[str, Any], field: str) -> None:
    assert not_checked(KIND, server(**changes)) == [
        f"chat: not checked: spec.template.spec.{field} is known after apply"
    ]


def test_an_unknown_image_with_a_request_needs_no_judgement() -> None:
    assert not_checked(KIND, server(image=UNKNOWN)) == []
