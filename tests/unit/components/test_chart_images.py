"""With a registry of the stack, nothing that it declares comes from a public one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.planner.images import ChartImages, chart_images
from berth.planner.plan import AmdGpuSoftware, AutoscalerPlan, Plan
from components.chart_images import with_images
from components.platform import Platform, PlatformArgs
from tests.unit.components.engine import RecordingEngine, declare
from tests.unit.components.plans import a_plan, a_server
from tests.unit.planner.stacks import a_stack

RELEASE = "kubernetes:helm.sh/v3:Release"
MIRROR = "mirror.example.com/hub"
IMAGES = {"registry": MIRROR, "pull_secret": "mirror-login"}


def everything(images: dict[str, str]) -> Plan:
    """A plan that installs every chart there is."""
    return replace(
        a_plan(servers={"chat": a_server(image=f"{MIRROR}/vllm/vllm-openai:v0.32.0")}),
        amd_gpu_software=AmdGpuSoftware(
            gpu_operator_version="v1.5.1",
            cert_manager_version="v1.15.1",
            device_plugin_tag="1.31.0.9",
            node_labeller_tag="labeller-1.31.0.9",
            metrics_exporter_tag="v1.5.1",
        ),
        autoscaler=AutoscalerPlan(chart_version="9.56.0", image_tag="v1.35.0"),
        efa_plugin_version="v0.5.19",
        group_controller_version="0.10.0",
        chart_images=chart_images(a_stack(images=images), load_catalog()),
    )


@pytest.fixture(scope="module")
def mirrored_stack() -> RecordingEngine:
    plan = everything(IMAGES)
    return declare(lambda: Platform("berth", PlatformArgs(plan=plan, stack="h100-prod")))


def named_images(value: Any, key: str = "") -> Iterator[str]:
    """Every text below a key that names an image or a repository, wherever it stands."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from named_images(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from named_images(each)
    elif isinstance(value, str) and key.lower().endswith(("image", "repository")):
        yield value


def test_every_image_of_the_stack_comes_from_its_registry(mirrored_stack: RecordingEngine) -> None:
    found = [image for each in mirrored_stack.declared for image in named_images(each.inputs)]

    # 7 of NVIDIA's operator, 8 of AMD's, 5 of cert-manager, autoscaler, EFA plugin, LWS, vLLM
    assert len(found) == 24
    assert [image for image in found if not image.startswith(f"{MIRROR}/")] == []


@pytest.mark.parametrize(
    ("release", "path", "image"),
    [
        ("berth-gpu-operator", "validator.repository", "nvidia"),
        ("berth-gpu-operator", "dcgmExporter.repository", "nvidia/k8s"),
        ("berth-autoscaler", "image.repository", "autoscaling/cluster-autoscaler"),
        ("berth-efa", "image.repository", "eks/aws-efa-k8s-device-plugin"),
        ("berth-lws", "image.manager.repository", "lws/lws"),
        (
            "berth-amd-gpu-operator",
            "deviceConfig.spec.devicePlugin.nodeLabellerImage",
            "rocm/k8s-device-plugin:labeller-1.31.0.9",
        ),
        (
            "berth-amd-gpu-operator-cert-manager",
            "acmesolver.image.repository",
            "jetstack/cert-manager-acmesolver",
        ),
    ],
)
def test_an_image_keeps_its_name_and_tag(
    mirrored_stack: RecordingEngine, release: str, path: str, image: str
) -> None:
    value = mirrored_stack.one(RELEASE, release)["values"]
    for key in path.split("."):
        value = value[key]

    assert value == f"{MIRROR}/{image}"


def test_every_chart_gets_the_pull_secret(mirrored_stack: RecordingEngine) -> None:
    releases = mirrored_stack.all(RELEASE)

    charts = {each["chart"].rpartition("/")[2] for each in releases.values()}
    assert charts == set(load_catalog().software.charts)
    assert [name for name, each in releases.items() if "mirror-login" not in str(each)] == []


@pytest.mark.parametrize(
    ("form", "value"),
    [("name", "s"), ("names", ["s"]), ("object", {"name": "s"}), ("objects", [{"name": "s"}])],
)
def test_a_pull_secret_has_the_form_of_its_chart(form: Any, value: Any) -> None:
    images = ChartImages(repositories={}, pull_secret="s", pull_secret_forms={"a.secret": form})
    given = {"a": {"b": 1}}

    assert with_images(given, images) == {"a": {"b": 1, "secret": value}}
    assert given == {"a": {"b": 1}}


def test_without_a_registry_values_stay_those_of_the_chart() -> None:
    assert chart_images(a_stack(), load_catalog()) == {}
    only_secret = chart_images(a_stack(images={"pull_secret": "s"}), load_catalog())
    assert with_images({}, only_secret["cluster-autoscaler"]) == {"image": {"pullSecrets": ["s"]}}
