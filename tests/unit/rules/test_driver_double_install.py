"""One party installs the GPU driver: the node image or the GPU Operator."""

import base64
from typing import Any

import pytest

from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import found, launch_template, node_group, not_checked, release

KIND = "driver-double-install"


def operator(driver: Any = None, toolkit: Any = None, **changes: Any) -> Any:
    switches = {"driver": driver, "toolkit": toolkit}
    values = {name: {"enabled": value} for name, value in switches.items() if value is not None}
    return release("gpu-operator", values=values, **changes)


@pytest.mark.parametrize(
    ("chart", "level", "message", "fix"),
    [
        pytest.param(
            operator(),
            "mandatory",
            "gpu-operator: values.driver.enabled is true by default and the image "
            "AL2023_x86_64_NVIDIA of pool pool has a driver already; leave the driver to the image",
            "set values.driver.enabled to false and values.toolkit.enabled to false",
            id="defaults",
        ),
        pytest.param(
            operator(driver=True, toolkit=False),
            "mandatory",
            "gpu-operator: values.driver.enabled is true and the image AL2023_x86_64_NVIDIA of "
            "pool pool has a driver already; leave the driver to the image",
            "set values.driver.enabled to false",
            id="on",
        ),
        pytest.param(
            operator(driver=False),
            "advisory",
            "gpu-operator: values.toolkit.enabled is true by default and the image "
            "AL2023_x86_64_NVIDIA of pool pool has it already; leave the toolkit to the image",
            "set values.toolkit.enabled to false",
            id="toolkit",
        ),
    ],
)
def test_the_fix_is_the_switch(chart: Any, level: str, message: str, fix: str) -> None:
    (finding,) = found(KIND, chart, node_group())

    assert (finding.message, finding.fix) == (message, fix)
    assert (finding.severity, finding.enforcement_level) == ("high", level)


@pytest.mark.parametrize(
    ("chart", "pool", "expected"),
    [
        (operator(False, False), node_group(), 0),
        (operator("false", "false"), node_group(), 0),
        (operator(), node_group(amiType="BOTTLEROCKET_x86_64_NVIDIA"), 1),
        (operator(), node_group(amiType="AL2023_x86_64_STANDARD"), 0),
        (operator(), node_group(amiType="CUSTOM"), 0),
        (operator(), node_group(amiType=None), 0),
        (operator(), node_group(labels={"nvidia.com/gpu.deploy.driver": "false"}), 0),
        (operator(valueYamlFiles=[None]), node_group(), 0),
        (release("nvidia-device-plugin"), node_group(), 0),
        (release("nvidia/gpu-operator"), node_group(), 1),
    ],
    ids=[
        "off",
        "off-as-text",
        "bottlerocket",
        "standard",
        "custom",
        "unstated",
        "kept-off-by-label",
        "values-from-a-file",
        "another-chart",
        "with-repository",
    ],
)
def test_it_takes_an_image_with_a_driver_and_an_operator_that_installs_one(
    chart: Any, pool: Any, expected: int
) -> None:
    assert len(found(KIND, chart, pool)) == expected


def user_data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("#!/bin/bash\ndnf install -y nvidia-driver-latest", "nvidia-driver-latest"),
        ("apt-get install -y \\\n  cuda-drivers-580", "cuda-drivers-580"),
        ("sh NVIDIA-Linux-x86_64-580.159.03.run --silent", "NVIDIA-Linux-x86_64-580.159.03.run"),
    ],
)
def test_user_data_that_installs_a_driver_is_found(script: str, what: str) -> None:
    template = launch_template("lt", name="lt", userData=user_data(script))

    (finding,) = found(KIND, template, node_group(launchTemplate={"name": "lt"}))

    assert finding.message == (
        f"lt: userData installs a driver ({what}) and the image AL2023_x86_64_NVIDIA of pool pool "
        "has one already; leave the driver to the image"
    )
    assert finding.fix == f"remove {what} from userData"


@pytest.mark.parametrize(
    ("script", "ami_type"),
    [
        ("dnf install -y nvidia-driver-latest", "CUSTOM"),
        ("# dnf install -y nvidia-driver-latest", "AL2023_x86_64_NVIDIA"),
        ("systemctl restart nvidia-driver-watch", "AL2023_x86_64_NVIDIA"),
        ("dnf install -y htop", "AL2023_x86_64_NVIDIA"),
    ],
    ids=["custom-image", "comment", "no-install", "another-package"],
)
def test_other_user_data_is_not(script: str, ami_type: str) -> None:
    template = launch_template("lt", name="lt", userData=user_data(script))

    pool = node_group(launchTemplate={"name": "lt"}, amiType=ami_type)

    assert found(KIND, template, pool) == []


def test_the_template_of_another_pool_does_not_count() -> None:
    template = launch_template("lt", name="lt", userData=user_data("dnf install -y nvidia-driver"))
    ubuntu = node_group("ubuntu", launchTemplate={"name": "lt"}, amiType="CUSTOM")

    assert found(KIND, template, ubuntu, node_group("stock")) == []


@pytest.mark.parametrize(
    ("resource", "pool", "message"),
    [
        (
            operator(driver=UNKNOWN),
            node_group(),
            "gpu-operator: not checked: values.driver.enabled",
        ),
        (
            release("gpu-operator", values=UNKNOWN),
            node_group(),
            "gpu-operator: not checked: values",
        ),
        (
            operator(),
            node_group(amiType=UNKNOWN),
            "gpu-operator: not checked: amiType of pool pool",
        ),
        (
            launch_template("lt", name="lt", userData=UNKNOWN),
            node_group(launchTemplate={"name": "lt"}),
            "lt: not checked: userData",
        ),
    ],
)
def test_what_is_known_after_apply_is_not_judged(resource: Any, pool: Any, message: str) -> None:
    assert not_checked(KIND, resource, pool) == [f"{message} is known after apply"]
