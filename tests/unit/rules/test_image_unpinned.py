"""Images of GPU software and Helm charts are pinned to a version."""

from typing import Any

import pytest

from berth.rules.environment import Environment
from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import (
    ABSENT,
    container,
    deployment,
    found,
    not_checked,
    pod_spec,
    release,
    server,
)

KIND = "image-unpinned"


def test_the_fix_names_the_version_that_berth_installs_itself() -> None:
    (finding,) = found(KIND, server(image="vllm/vllm-openai:latest"))

    assert finding.message == (
        "chat: container server runs vllm/vllm-openai:latest, a tag that moves; pin a version or a "
        "digest"
    )
    assert finding.fix == ("set spec.template.spec.containers[0].image to vllm/vllm-openai:v0.32.0")
    assert finding.severity == "medium"


def test_the_fix_of_another_image_asks_for_its_digest() -> None:
    (finding,) = found(KIND, server(image="registry.example.com:5000/team/sglang"))

    assert finding.message.startswith(
        "chat: container server runs registry.example.com:5000/team/sglang, no tag, which means "
        "latest;"
    )
    assert finding.fix == (
        "set spec.template.spec.containers[0].image to "
        "registry.example.com:5000/team/sglang@sha256:DIGEST, the digest that runs today"
    )


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("", 1),
        (":latest", 1),
        (":nightly", 1),
        (":main", 1),
        (":stable", 1),
        (":edge", 1),
        (":latest-cu129", 1),
        (":v0.18.0", 0),
        (":nightly-0123456789abcdef0123456789abcdef01234567", 0),
        (":latest@sha256:" + "0" * 64, 0),
        ("@sha256:" + "0" * 64, 0),
    ],
)
def test_a_version_or_a_digest_pins(tag: str, expected: int) -> None:
    assert len(found(KIND, server(image=f"vllm/vllm-openai{tag}"))) == expected


def test_images_that_use_no_gpu_are_left_to_other_rules() -> None:
    sidecar = container(name="log", image="busybox:latest", args=ABSENT, resources=ABSENT)
    agent = container(name="agent", image="nvcr.io/nvidia/k8s-device-plugin:latest", args=ABSENT)
    asking = container(name="job", image="example.com/train:latest", args=ABSENT)

    assert found(KIND, deployment(pod_spec(sidecar))) == []
    assert len(found(KIND, deployment(pod_spec(agent)))) == 1
    assert len(found(KIND, deployment(pod_spec(asking)))) == 1


def test_init_containers_count() -> None:
    load = container(name="load", image="vllm/vllm-openai:latest", resources=ABSENT)

    (finding,) = found(KIND, deployment(pod_spec(initContainers=[load])))

    assert "spec.template.spec.initContainers[0].image" in finding.fix


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 0),
        ({"version": ABSENT}, 1),
        ({"version": ""}, 1),
        ({"version": UNKNOWN}, 0),
        ({"version": ABSENT, "chart": "./charts/app", "repositoryOpts": ABSENT}, 0),
        ({"version": ABSENT, "chart": "charts/app", "repositoryOpts": ABSENT}, 0),
        ({"version": ABSENT, "chart": "https://example.com/app-1.0.0.tgz"}, 0),
        ({"version": ABSENT, "chart": "oci://example.com/app", "repositoryOpts": ABSENT}, 1),
    ],
)
def test_a_chart_needs_a_version_unless_it_is_a_file(
    changes: dict[str, Any], expected: int
) -> None:
    assert len(found(KIND, release("app", **changes))) == expected


def test_the_fix_of_a_chart_names_the_version_that_berth_installs_itself() -> None:
    (finding,) = found(KIND, release("gpu-operator", version=ABSENT))

    assert finding.message == (
        "gpu-operator: chart gpu-operator has no version, which means the newest at each install; "
        "pin the version"
    )
    assert finding.fix == "set version to v26.3.3"


@pytest.mark.parametrize(
    ("environment", "labels", "expected"),
    [
        ("dev", {}, "advisory"),
        ("prod", {}, "mandatory"),
        (None, {}, "advisory"),
        (None, {"env": "production"}, "mandatory"),
        ("dev", {"env": "production"}, "advisory"),
    ],
)
def test_it_is_mandatory_in_production(
    environment: Environment | None, labels: dict[str, str], expected: str
) -> None:
    unpinned = pod_spec(container(image="vllm/vllm-openai:latest"))
    resource = deployment(unpinned, metadata={"labels": labels})

    (finding,) = found(KIND, resource, environment=environment)

    assert finding.enforcement_level == expected


def test_what_is_known_after_apply_is_not_judged() -> None:
    assert not_checked(KIND, server(image=UNKNOWN)) == [
        "chat: not checked: spec.template.spec.containers[0].image is known after apply"
    ]
    assert not_checked(KIND, server(image=UNKNOWN, resources=ABSENT)) == []
