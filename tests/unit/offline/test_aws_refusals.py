"""What EC2 and EKS refuse for the fields of a request together."""

from pathlib import Path
from typing import Any

import pytest

from berth.offline.aws.refusals import refusals
from berth.offline.cloud import Cloud, Record

GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
REGION = "us-east-1"
TAINT = {"key": "a", "value": "b", "effect": "NO_SCHEDULE"}


def a_cloud(folder: Path, **template: Any) -> Cloud:
    """One with a launch template, if any is described."""
    cloud = Cloud(folder)
    if template:
        cloud.put(Record(TEMPLATE, REGION, "lt-1", "urn", template))
    return cloud


def group(**changes: Any) -> dict[str, Any]:
    scaling = {"minSize": 0, "desiredSize": 1, "maxSize": 2}
    return {
        "scalingConfig": scaling,
        "launchTemplate": {"id": "lt-1"},
        "subnetIds": ["a"],
    } | changes


BLOCK = {"instanceType": "p5.48xlarge", "instanceMarketOptions": {"marketType": "capacity-block"}}


@pytest.mark.parametrize(
    ("template", "inputs", "expected"),
    [
        pytest.param(
            {"instanceType": "g6.xlarge"},
            group(instanceTypes=["g6.xlarge"]),
            "InvalidRequestException: instanceTypes: the launch template names the instance type "
            "g6.xlarge too; set it in one of them only",
            id="type in both places",
        ),
        pytest.param(
            BLOCK,
            group(capacityType="CAPACITY_BLOCK", subnetIds=["a", "b"]),
            "InvalidParameterException: subnetIds: 2 are given, and a capacity block is in one "
            "zone",
            id="block in several subnets",
        ),
        pytest.param(
            {"instanceType": "p5.48xlarge"},
            group(capacityType="CAPACITY_BLOCK"),
            "InvalidParameterException: launchTemplate: its instanceMarketOptions.marketType must "
            "be capacity-block",
            id="block without its market type",
        ),
        pytest.param(
            {},
            group(scalingConfig={"minSize": 2, "desiredSize": 1, "maxSize": 3}),
            "InvalidParameterException: scalingConfig.minSize: 2 is above desiredSize 1",
            id="min above desired",
        ),
        pytest.param(
            {},
            group(taints=[TAINT] * 51),
            "InvalidParameterException: taints: 51 are more than the 50 that a node group may have",
            id="51 taints",
        ),
        pytest.param(
            {},
            group(labels={"tier": "not allowed"}),
            "InvalidParameterException: labels.tier: not allowed is no label value",
            id="label value",
        ),
        pytest.param(
            {"imageId": "ami-1"},
            group(amiType="AL2023_x86_64_NVIDIA"),
            "InvalidParameterException: amiType: the launch template names an image, so the type "
            "must be left out",
            id="AMI in both places",
        ),
    ],
)
def test_a_node_group_is_refused_with_rule_and_field(
    template: dict[str, Any], inputs: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    assert refusals(GROUP, inputs, a_cloud(tmp_path, **template), REGION) == [expected]


def test_an_unknown_size_of_a_known_family(tmp_path: Path) -> None:
    (line,) = refusals(GROUP, group(instanceTypes=["p5.47xlarge"]), a_cloud(tmp_path), REGION)

    assert line.startswith("InvalidInstanceType: instanceTypes[0]: p5.47xlarge does not exist; its")


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param(group(instanceTypes=["m7i.large"]), id="no GPU"),
        pytest.param(group(instanceTypes=["x9.new"]), id="a family that is not known"),
        pytest.param(group(taints=[TAINT] * 50), id="50 taints"),
        pytest.param(group(labels={"berth-gpu/tier": "l4"}), id="a label of ours"),
    ],
)
def test_right_requests_pass(inputs: dict[str, Any], tmp_path: Path) -> None:
    assert refusals(GROUP, inputs, a_cloud(tmp_path), REGION) == []


def interface(card: int, device: int, **more: Any) -> dict[str, Any]:
    return {"networkCardIndex": card, "deviceIndex": device} | more


@pytest.mark.parametrize(
    ("interfaces", "word"),
    [
        pytest.param(
            [interface(0, 0, associatePublicIpAddress="true"), interface(1, 0)],
            "associatePublicIpAddress",
            id="public address with several",
        ),
        pytest.param([interface(0, 0), interface(0, 0)], "same card and device", id="one place"),
    ],
)
def test_network_interfaces(interfaces: list[dict[str, Any]], word: str, tmp_path: Path) -> None:
    (line,) = refusals(TEMPLATE, {"networkInterfaces": interfaces}, a_cloud(tmp_path), REGION)

    assert word in line


def test_a_target_excludes_a_preference(tmp_path: Path) -> None:
    specification = {
        "capacityReservationPreference": "open",
        "capacityReservationTarget": {"capacityReservationId": "cr-1"},
    }
    (line,) = refusals(
        TEMPLATE, {"capacityReservationSpecification": specification}, a_cloud(tmp_path), REGION
    )

    assert "a target excludes the preference open" in line
