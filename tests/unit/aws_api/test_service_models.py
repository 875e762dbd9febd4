"""The check of our resources against AWS's service models finds what AWS would refuse."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.aws_api.service_models import refusals

ROLE_ARN = "arn:aws:iam::123456789012:role/node"


def node_group(**changed: Any) -> list[str]:
    inputs = {
        "amiType": "AL2023_x86_64_NVIDIA",
        "capacityType": "SPOT",
        "clusterName": "berth-1",
        "instanceTypes": ["g6.xlarge"],
        "nodeGroupName": "berth-l4-1",
        "nodeRoleArn": ROLE_ARN,
        "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 2},
        "subnetIds": ["subnet-1"],
        "tags": {"berth:tier": "l4"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    }
    return refusals("aws:eks/nodeGroup:NodeGroup", inputs | changed)


def template(**changed: Any) -> list[str]:
    inputs = {
        "name": "berth-l4-1",
        "instanceMarketOptions": {"marketType": "capacity-block"},
        "networkInterfaces": [{"interfaceType": "efa-only", "deleteOnTermination": "true"}],
        "updateDefaultVersion": True,
        "tags": {"Name": "l4"},
    }
    return refusals("aws:ec2/launchTemplate:LaunchTemplate", inputs | changed)


@pytest.mark.parametrize("check", [node_group, template])
def test_what_aws_takes_passes(check: Callable[..., list[str]]) -> None:
    assert check() == []


@pytest.mark.parametrize(
    ("found", "words"),
    [
        pytest.param(node_group(amiType="AL2023_NVIDIA"), "AL2023_NVIDIA is none of", id="enum"),
        pytest.param(node_group(nodeRoleArn=None), "nodeRole: required", id="required"),
        pytest.param(node_group(nodeRole2="x"), "no such parameter", id="unknown"),
        pytest.param(
            node_group(taints=[{"key": "gpu", "effect": "NoSchedule"}]), "NoSchedule", id="nested"
        ),
        pytest.param(node_group(taints=[{"key": ""}]), "0 characters, at least 1", id="short"),
        pytest.param(
            node_group(labels={"tier": "x" * 64}), "64 characters, at most 63", id="label value"
        ),
        pytest.param(
            node_group(scalingConfig={"maxSize": 0}), "maxSize: 0, at least 1", id="number"
        ),
        pytest.param(node_group(tags={"k" * 129: ""}), "129 characters, at most 128", id="tag"),
        pytest.param(
            template(instanceMarketOptions={"marketType": "block"}), "block is none of", id="ec2"
        ),
        pytest.param(template(userDatum=""), "no such parameter", id="inside the template"),
        pytest.param(
            refusals("aws:iam/role:Role", {"name": "a b", "assumeRolePolicy": "{}"}),
            "a b does not match",
            id="pattern",
        ),
        pytest.param(refusals("aws:s3/bucket:Bucket", {}), "no request of AWS", id="new type"),
    ],
)
def test_what_aws_refuses_is_named(found: list[str], words: str) -> None:
    assert len(found) == 1
    assert words in found[0]


def test_one_block_of_a_list_and_tags_of_a_map_are_read() -> None:
    key = {"description": "secrets", "tags": {"Name": "x" * 257}}
    cluster = {
        "name": "berth",
        "roleArn": ROLE_ARN,
        "vpcConfig": {"subnetIds": ["subnet-1"]},
        "encryptionConfig": {"provider": {"keyArn": "arn"}, "resource": ["secrets"]},
        "enabledClusterLogTypes": ["apis"],
    }

    (tag,) = refusals("aws:kms/key:Key", key)
    encryption, logging = refusals("aws:eks/cluster:Cluster", cluster)

    assert "TagValue: 257 characters, at most 256" in tag
    assert "encryptionConfig[0].resource: no such parameter" in encryption
    assert "apis is none of api, audit" in logging
