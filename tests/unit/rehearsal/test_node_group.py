"""Node groups of the pretended cloud become nodes as EKS and the kubelet describe them."""

from pathlib import Path
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.offline.cloud import Cloud, Record
from berth.rehearsal.node_group import LAUNCH_TEMPLATE, NODE_GROUP, SUBNET, node_groups, resize

CATALOG = load_catalog()


def add(cloud: Cloud, kind: str, name: str, **properties: Any) -> None:
    cloud.put(Record(kind, "us-east-1", name, f"urn:{name}", properties))


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    """Two subnets, and a template of a p5 in a block with 32 EFA interfaces."""
    made = Cloud(tmp_path)
    add(made, SUBNET, "subnet-a", availabilityZone="us-east-1a")
    add(made, SUBNET, "subnet-b", availabilityZone="us-east-1b")
    interfaces = [{"interfaceType": "efa"}, *({"interfaceType": "efa-only"} for _ in range(31))]
    add(
        made,
        LAUNCH_TEMPLATE,
        "lt-1",
        instanceType="p5.48xlarge",
        networkInterfaces=interfaces,
    )
    return made


def group(cloud: Cloud, **changes: Any) -> None:
    properties: dict[str, Any] = {
        "nodeGroupName": "berth-h100-0a1b2c3",
        "capacityType": "CAPACITY_BLOCK",
        "instanceTypes": ["t3.medium"],  # what EKS shows where the template names the type
        "launchTemplate": {"id": "lt-1", "version": "1"},
        "labels": {"berth-gpu/tier": "h100"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        "scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 2},
        "subnetIds": ["subnet-b"],
    }
    add(cloud, NODE_GROUP, "c:g", **(properties | changes))


def node(cloud: Cloud, number: int = 0) -> dict[str, Any]:
    (found,) = node_groups(cloud)
    return found.node(number, CATALOG).document()


def test_a_p5_has_its_gpus_network_cards_and_what_the_kubelet_leaves(cloud: Cloud) -> None:
    """192 cores and 2,048 GiB as sold; allocatable as Karpenter lists it: 191,450m, 1,938,410 Mi
    (2,097,152 less 7.5 %, less 255 + 11 x 100 and 100), by its formula with 100 pods."""
    group(cloud)

    has = node(cloud)["status"]["allocatable"]

    assert has["nvidia.com/gpu"] == "8"
    assert has["vpc.amazonaws.com/efa"] == "32"
    assert has["pods"] == "100"
    assert has["cpu"] == "191450m"
    assert has["memory"] == f"{2_097_152 - 157_287 - (255 + 1_100) - 100}Mi"


def test_labels_taints_zone_and_provider_id_are_those_of_eks(cloud: Cloud) -> None:
    group(cloud)

    made = node(cloud)

    labels = made["metadata"]["labels"]
    assert labels["eks.amazonaws.com/nodegroup"] == "berth-h100-0a1b2c3"
    assert labels["eks.amazonaws.com/capacityType"] == "CAPACITY_BLOCK"
    assert labels["node.kubernetes.io/instance-type"] == "p5.48xlarge"
    assert labels["topology.kubernetes.io/zone"] == "us-east-1b"
    assert labels["berth-gpu/tier"] == "h100"
    assert made["spec"]["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    ]
    assert made["spec"]["providerID"].startswith("aws:///us-east-1b/i-")
    assert len(made["spec"]["providerID"].rpartition("-")[2]) == 17


@pytest.mark.parametrize(
    ("scaling", "expected"),
    [
        pytest.param({"minSize": 0, "desiredSize": 1, "maxSize": 2}, 1, id="desired"),
        pytest.param({"minSize": 2, "desiredSize": 1, "maxSize": 3}, 2, id="at-least-min"),
        pytest.param({"minSize": 0, "desiredSize": 5, "maxSize": 3}, 3, id="at-most-max"),
    ],
)
def test_the_number_of_nodes(cloud: Cloud, scaling: dict[str, int], expected: int) -> None:
    group(cloud, scalingConfig=scaling)

    assert node_groups(cloud)[0].desired == expected


def test_nodes_are_spread_over_the_zones_of_the_group(cloud: Cloud) -> None:
    group(cloud, subnetIds=["subnet-a", "subnet-b"])

    zones = [node(cloud, n)["metadata"]["labels"]["topology.kubernetes.io/zone"] for n in range(3)]

    assert zones == ["us-east-1a", "us-east-1b", "us-east-1a"]


@pytest.mark.parametrize(
    ("labels", "resource", "count"),
    [
        pytest.param({}, "nvidia.com/gpu", "8", id="whole"),
        pytest.param({"nvidia.com/mig.config": "all-3g.40gb"}, "nvidia.com/gpu", "16", id="single"),
        pytest.param(
            {"nvidia.com/mig.config": "all-1g.10gb", "nvidia.com/mig.strategy": "mixed"},
            "nvidia.com/mig-1g.10gb",
            "56",
            id="mixed",
        ),
    ],
)
def test_mig_devices_stand_for_gpus(
    cloud: Cloud, labels: dict[str, str], resource: str, count: str
) -> None:
    """An H100 is cut into two 3g.40gb or seven 1g.10gb: 8 x 2 = 16, 8 x 7 = 56."""
    group(cloud, labels=labels)

    assert node(cloud)["status"]["allocatable"][resource] == count


def test_an_autoscaler_changes_the_group_itself(cloud: Cloud) -> None:
    group(cloud)

    resize(cloud, node_groups(cloud)[0], 2)

    assert node_groups(cloud)[0].desired == 2
