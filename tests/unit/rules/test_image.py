"""Image references, taken apart."""

import pytest

from berth.rules.stack_view.image import parse_image

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("reference", "path", "tag", "digest", "repository"),
    [
        ("nginx", "nginx", None, None, "nginx"),
        ("nginx:1", "nginx", "1", None, "nginx"),
        ("vllm/vllm-openai:v1", "vllm/vllm-openai", "v1", None, "vllm/vllm-openai"),
        ("localhost/a/b:1", "a/b", "1", None, "localhost/a/b"),
        ("host:5000/a/b", "a/b", None, None, "host:5000/a/b"),
        ("host.example.com/a:1", "a", "1", None, "host.example.com/a"),
        (f"a/b:1@{DIGEST}", "a/b", "1", DIGEST, "a/b"),
        (f"a/b@{DIGEST}", "a/b", None, DIGEST, "a/b"),
    ],
)
def test_parts(
    reference: str, path: str, tag: str | None, digest: str | None, repository: str
) -> None:
    image = parse_image(reference)

    assert (image.path, image.tag, image.digest, image.repository) == (
        path,
        tag,
        digest,
        repository,
    )


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("nvcr.io/nvidia/k8s-device-plugin:v0.20.0", True),
        ("nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0", True),
        ("nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.15.0", True),
        ("nvcr.io/nvidia/driver:580", True),
        ("nvcr.io/nvidia/k8s/container-toolkit:v1.20.0", True),
        ("registry.k8s.io/nfd/node-feature-discovery:v0.18", True),
        ("rocm/k8s-device-plugin:1.31", True),
        ("public.ecr.aws/neuron/neuron-device-plugin:2.26", True),
        ("public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.50", False),
        ("example.com/eks/aws-efa-k8s-device-plugin:v0.5.6", False),
        ("example.com/kvm-device-plugin:1", False),
        ("vllm/vllm-openai:v0.18.0", False),
    ],
)
def test_gpu_agents(reference: str, expected: bool) -> None:
    assert parse_image(reference).is_gpu_agent is expected
