"""What the name of an image says, by names as their makers publish them."""

import pytest

from berth.rules.stack_view.image import parse_image
from berth.rules.stack_view.image_software import cuda_of, vllm_version

DIGEST = "@sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("reference", "engine"),
    [
        ("vllm/vllm-openai:v0.32.0", "vllm"),
        ("public.ecr.aws/deep-learning-containers/vllm:0.10-gpu", "vllm"),
        ("example.com/team/serving:vllm-0.9.2", "vllm"),
        ("lmsysorg/sglang:v0.5.0", "sglang"),
        ("ghcr.io/huggingface/text-generation-inference:3.3", "tgi"),
        ("ghcr.io/huggingface/text-embeddings-inference:1.8", "tei"),
        ("nvcr.io/nvidia/tritonserver:25.06-py3", "triton"),
        ("nvcr.io/nvidia/tritonserver:25.06-vllm-python-py3", "triton"),
        ("nvcr.io/nvidia/tensorrt-llm/release:1.0.0", "tensorrt-llm"),
        ("nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8", "nim"),
        ("openmmlab/lmdeploy:v0.9", "lmdeploy"),
        ("ollama/ollama:0.11.0", "ollama"),
        ("ghcr.io/llm-d/llm-d:v0.2.0", "vllm"),
        ("ghcr.io/llm-d/llm-d-cuda:v0.4.0", "vllm"),
        ("ghcr.io/llm-d/llm-d-inference-sim:v0.3", None),
        ("ghcr.io/llm-d/llm-d-routing-sidecar:v0.3", None),
        ("lmcache/lmstack-router:latest", None),
        ("example.com/vllm-router:1", None),
        ("example.com/vllm-exporter:1", None),
        ("example.com/vllm/simulator:1", None),
        ("nginx:1.29", None),
        ("example.com/minimum:1", None),
    ],
)
def test_engines_by_name(reference: str, engine: str | None) -> None:
    image = parse_image(reference)

    assert image.engine == engine
    assert image.is_engine is (engine is not None)


@pytest.mark.parametrize(
    ("reference", "is_pinned"),
    [
        ("vllm/vllm-openai:v0.32.0", True),
        ("vllm/vllm-openai", False),
        ("vllm/vllm-openai:latest", False),
        ("vllm/vllm-openai:Latest", False),
        ("vllm/vllm-openai:nightly", False),
        ("vllm/vllm-openai:latest-cu129", False),
        ("vllm/vllm-openai:cu129-latest", False),
        ("vllm/vllm-openai:nightly" + DIGEST, True),
        ("vllm/vllm-openai" + DIGEST, True),
        ("vllm/vllm-openai:mainline-1", True),
    ],
)
def test_tags_that_are_moved_by_habit_pin_nothing(reference: str, is_pinned: bool) -> None:
    assert parse_image(reference).is_pinned is is_pinned


@pytest.mark.parametrize(
    ("reference", "is_base"),
    [
        ("nvidia/cuda:12.9.1-runtime-ubuntu24.04", True),
        ("docker.io/nvidia/cuda:12.9.1", True),
        ("example.com/mirror/nvidia/cuda:12.9.1", True),
        ("nvcr.io/nvidia/pytorch:25.06-py3", True),
        ("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", True),
        ("rocm/pytorch:rocm6.4", True),
        ("example.com/mynvidia/cuda:1", False),
        ("nvidia/cudagl:11", False),
    ],
)
def test_base_images_of_cuda_and_pytorch(reference: str, is_base: bool) -> None:
    assert parse_image(reference).is_gpu_base is is_base


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("vllm/vllm-openai-cpu:v0.32.0", True),
        ("ghcr.io/huggingface/text-embeddings-inference:cpu-1.8", True),
        ("example.com/vllm-cpu-release:1", True),
        ("vllm/vllm-openai:v0.32.0", False),
        ("example.com/cpuset:1", False),
    ],
)
def test_builds_for_cpus(reference: str, expected: bool) -> None:
    assert parse_image(reference).is_for_cpu is expected


@pytest.mark.parametrize(
    ("reference", "vendor"),
    [
        ("vllm/vllm-openai:v0.32.0", "nvidia"),
        ("vllm/vllm-openai-rocm:v0.31.0", "amd"),
        ("rocm/vllm:rocm6.4_mi300", "amd"),
        ("lmsysorg/sglang:v0.5.0-rocm630-mi30x", "amd"),
        ("public.ecr.aws/neuron/pytorch-inference-vllm-neuronx:0.9", "neuron"),
    ],
)
def test_makers_by_name(reference: str, vendor: str) -> None:
    assert parse_image(reference).vendor == vendor


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("example.com/gpu/driver:1", True),
        ("example.com/team/driver:1", False),
        ("example.com/nvidia/csi-driver:1", False),
        ("k8s-device-plugin:1", True),
        ("example.com/amd/device-plugin:1", True),
    ],
)
def test_names_that_others_use_too_need_a_makers_word(reference: str, expected: bool) -> None:
    assert parse_image(reference).is_gpu_agent is expected


@pytest.mark.parametrize(
    ("reference", "version"),
    [
        ("vllm/vllm-openai:v0.32.0", "0.32.0"),
        ("vllm/vllm-openai:v0.20.1-cu129", "0.20.1"),
        ("vllm/vllm-openai:v0.6.4.post1", "0.6.4"),
        ("vllm/vllm-openai:v0.19.0rc1", "0.19.0"),
        ("vllm/vllm-openai:v0.8.5.post1-cu118", "0.8.5"),
        ("example.com/vllm:0.11.1.dev3", "0.11.1"),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai", None),
        ("example.com/team/serving:vllm-0.9.2-2", "0.9.2"),
        ("rocm/vllm:rocm6.4.1_vllm_0.10.1_20250909", "0.10.1"),
        ("rocm/vllm:rocm6.4_vllm-0.10.1", "0.10.1"),
        ("lmcache/vllm-openai:v0.3.5", None),
        ("ghcr.io/llm-d/llm-d-vllm:v0.2.0", None),
        ("nvcr.io/nvidia/tritonserver:25.06-vllm-python-py3", None),
        ("example.com/tritonserver-vllm:25.06", "25.06"),
        ("nginx:1.29", None),
        ("example.com/vllm/web:1.2.3", None),
    ],
)
def test_the_vllm_of_an_image(reference: str, version: str | None) -> None:
    assert vllm_version(parse_image(reference)) == version


def test_without_an_image_nothing_is_known_of_its_software() -> None:
    assert vllm_version(None) is None
    assert cuda_of(None) is None


@pytest.mark.parametrize(
    ("reference", "cuda", "is_exact"),
    [
        ("nvidia/cuda:12.9.1-runtime-ubuntu24.04", "12.9", True),
        ("nvidia/cuda:latest", None, None),
        ("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", "12.8", True),
        ("lmsysorg/sglang:v0.5.0-cu128", "12.8", True),
        ("example.com/serving-cu130:1", "13.0", True),
        ("vllm/vllm-openai:v0.32.0", "13.0", True),
        ("vllm/vllm-openai:v0.32.0-cu129", "12.9", True),
        ("vllm/vllm-openai:v0.9.0", "12.8", True),
        ("vllm/vllm-openai:v0.5.5", "12.1", True),
        ("vllm/vllm-openai:latest", None, None),
        ("example.com/vllm:v0.9.0", None, None),
        ("nvcr.io/nvidia/tritonserver:25.06-py3", "12.9", True),
        ("nvcr.io/nvidia/pytorch:23.05-py3", "12.1", True),
        ("nvcr.io/nvidia/tritonserver:24.09-py3", "12.6", False),
        ("nvcr.io/nvidia/tritonserver:25.07-py3", "12.9", False),
        ("example.com/tool:25.06", None, None),
        ("nvcr.io/nvidia/tritonserver:latest", None, None),
        ("vllm/vllm-openai-rocm:v0.31.0", None, None),
        ("vllm/vllm-openai-cpu:v0.32.0", None, None),
        ("nginx:1.29", None, None),
    ],
)
def test_the_cuda_of_an_image(reference: str, cuda: str | None, is_exact: bool | None) -> None:
    found = cuda_of(parse_image(reference))

    assert (found.version if found else None, found.is_exact if found else None) == (cuda, is_exact)
