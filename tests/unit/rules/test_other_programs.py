"""Containers beside model servers, or on other accelerators, that rightly ask for no GPU.

Shapes after public manifests: the TPU example of LeaderWorkerSet, the ServingRuntime of KServe's
kernel cache, the RayService on Inferentia of Data on EKS, SGLang's router.
"""

from typing import Any

import pytest

from berth.rules.check import check
from berth.rules.resource import Resource

KIND = "gpu-request-missing"
MODEL = "meta-llama/Llama-3.1-8B-Instruct"
VLLM = "vllm/vllm-openai:v0.10.0"


def deployed(**changes: Any) -> Resource:
    spec = {"containers": [{"name": "main", "image": VLLM, **changes}]}
    props = {"metadata": {"name": "chat"}, "spec": {"template": {"spec": spec}}}
    return Resource("kubernetes:apps/v1:Deployment", "chat", "", props)


def limited(**limits: Any) -> dict[str, Any]:
    return {"args": ["--model", MODEL], "resources": {"limits": limits}}


def ray_head(**changes: Any) -> Resource:
    spec = {"containers": [{"name": "head", **changes}]}
    cluster = {"headGroupSpec": {"rayStartParams": {"num-cpus": "0"}, "template": {"spec": spec}}}
    props = {"metadata": {"name": "serve"}, "spec": {"rayClusterConfig": cluster}}
    return Resource("kubernetes:ray.io/v1:RayService", "serve", "", props)


def dynamo(component: str) -> Resource:
    image = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.7.0"
    service = {"componentType": component, "extraPodSpec": {"mainContainer": {"image": image}}}
    props = {"metadata": {"name": "graph"}, "spec": {"services": {"Part": service}}}
    return Resource("kubernetes:nvidia.com/v1alpha1:DynamoGraphDeployment", "graph", "", props)


RUNTIME = Resource(
    "kubernetes:serving.kserve.io/v1alpha1:ServingRuntime",
    "runtime",
    "",
    {
        "metadata": {"name": "runtime"},
        "spec": {"containers": [{"name": "main", "image": VLLM, "args": ["--model=/mnt/models"]}]},
    },
)

CASES: dict[str, tuple[Resource, bool]] = {
    "nothing asked for": (deployed(**limited(memory="24Gi")), True),
    "TPU": (deployed(**limited(**{"google.com/tpu": "4"})), False),
    "none of the TPUs": (deployed(**limited(**{"google.com/tpu": 0})), True),
    "Gaudi": (deployed(**limited(**{"habana.ai/gaudi": 1})), False),
    "Intel": (deployed(**limited(**{"gpu.intel.com/i915": "1"})), False),
    "cores of Neuron": (deployed(**limited(**{"aws.amazon.com/neuroncore": 2})), False),
    "share of HAMi": (deployed(**limited(**{"nvidia.com/gpumem": 8000})), False),
    "network interface": (deployed(**limited(**{"vpc.amazonaws.com/efa": 4})), True),
    "router": (
        deployed(image="lmsysorg/sglang:v0.5.9", command=["python", "-m", "sglang_router.launch"]),
        False,
    ),
    "benchmark": (deployed(command=["vllm", "bench", "serve", "--model", "chat"]), False),
    "front of Dynamo": (
        deployed(
            image="nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.7.0",
            command=["python3", "-m", "dynamo.frontend"],
        ),
        False,
    ),
    "frontend of a Dynamo graph": (dynamo("frontend"), False),
    "worker of a Dynamo graph": (dynamo("worker"), True),
    "controller of LMCache": (
        deployed(image="lmcache/vllm-openai:v0.3.6", command=["lmcache_controller", "--port=9"]),
        False,
    ),
    "download": (
        deployed(command=["sh", "-c", "pip install -U hf_transfer && hf download $MODEL"]),
        False,
    ),
    "download with the older command": (
        deployed(command=["huggingface-cli", "download", MODEL]),
        False,
    ),
    "client that asks a server": (
        deployed(image="ollama/ollama:0.9.3", command=["ollama", "pull", "llama3.1"]),
        False,
    ),
    "server after a download": (
        deployed(command=["sh", "-c", f"hf download {MODEL} && vllm serve {MODEL}"]),
        True,
    ),
    "part of a router": (
        deployed(image="ghcr.io/vllm-project/semantic-router/extproc:v0.1.0"),
        False,
    ),
    "engine of a team called gateway": (
        deployed(image="registry.example.com/gateway/vllm-openai:v1"),
        True,
    ),
    "engine named in the tag alone": (
        deployed(image="registry.example.com/gateway/serve:vllm-3"),
        True,
    ),
    "benchmark beside a server": (
        deployed(command=["sh", "-c", f"vllm serve {MODEL} & vllm bench serve --model chat"]),
        True,
    ),
    "Ray head": (ray_head(image="registry.example/vllm-ray-neuron:v2"), False),
    "Ray head that serves": (ray_head(image=VLLM, command=["vllm", "serve", MODEL]), True),
    "template of KServe": (RUNTIME, False),
}


@pytest.mark.parametrize(("resource", "fires"), CASES.values(), ids=CASES)
def test_only_a_model_server_on_gpus_must_ask_for_them(resource: Resource, *, fires: bool) -> None:
    found = {finding.kind for finding in check([resource]).findings}
    assert (KIND in found) is fires


@pytest.mark.parametrize(
    ("image", "quantization", "fires"),
    [
        # vLLM's config.py: v0.6.0 lists awq and gptq for ROCm; the list before has gptq alone.
        ("rocm/vllm:rocm6.2_mi300_ubuntu20.04_py3.9_vllm_0.6.0", "awq", False),
        ("rocm/vllm:rocm6.2_mi300_ubuntu20.04_py3.9_vllm_0.5.5", "awq", True),
        ("rocm/vllm:rocm6.2_mi300_ubuntu20.04_py3.9_vllm_0.5.5", "gptq", False),
        # SGLang's list is that of vLLM v0.6.4.post1, which has both.
        ("lmsysorg/sglang:v0.5.9-rocm700-mi30x", "awq", False),
    ],
)
def test_formats_that_the_engine_lists_for_amd(
    image: str, quantization: str, *, fires: bool
) -> None:
    is_vllm = "sglang" not in image
    served = ["vllm", "serve", "/m"] if is_vllm else ["python3", "-m", "sglang.launch_server"]
    resource = deployed(
        image=image,
        command=[*served, "--quantization", quantization],
        resources={"limits": {"amd.com/gpu": 1}},
    )
    assert any(f.kind == "dtype-unsupported" for f in check([resource]).findings) is fires
