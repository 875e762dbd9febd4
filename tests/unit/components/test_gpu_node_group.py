"""The launch template and node group of one tier, by kind of capacity."""

import base64
import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from berth.planner.blocks import is_open
from berth.planner.plan import PoolPlan
from components.capacity import capacity_arguments, has_nodes
from components.gpu_node_group import GpuNodeGroup, GpuNodeGroupArgs, NodeHome
from components.node_config import gpu_node_user_data
from tests.unit.components.engine import RecordingEngine, declare
from tests.unit.components.plans import (
    AS_OF,
    BLOCK,
    ON_DEMAND,
    a_pool,
    an_existing_pool,
    an_l4_pool,
)

HOME = NodeHome(
    name="berth",
    endpoint="https://berth.example.com",
    certificate_authority="Q0VSVA==",
    service_cidr="10.100.0.0/16",
    security_group_id="sg-cluster",
    vpc_id="vpc-1",
    node_role_arn="arn:aws:iam::111122223333:role/node",
)
SUBNETS = {"us-east-1a": "subnet-a", "us-east-1b": "subnet-b"}


def node_group(pool: PoolPlan, as_of: date = AS_OF) -> RecordingEngine:
    args = GpuNodeGroupArgs(
        plan=pool,
        as_of=as_of,
        stack="h100-prod",
        cluster=HOME,
        subnet_ids=SUBNETS,
        tags={"berth:stack": "h100-prod"},
    )
    return declare(lambda: GpuNodeGroup("berth-tier", args))


def group_of(pool: PoolPlan, as_of: date = AS_OF) -> dict[str, Any]:
    return node_group(pool, as_of).one("aws:eks/nodeGroup:NodeGroup")


def template_of(pool: PoolPlan) -> dict[str, Any]:
    return node_group(pool).one("aws:ec2/launchTemplate:LaunchTemplate")


def test_a_block_is_the_target_of_the_launch_template() -> None:
    template = template_of(a_pool())

    assert template["instanceType"] == "p5.48xlarge"
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert template["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}
    }


def test_the_node_group_of_a_block_names_no_instance_type() -> None:
    group = group_of(a_pool())

    assert group["capacityType"] == "CAPACITY_BLOCK"
    assert "instanceTypes" not in group


def test_a_block_has_the_one_subnet_of_its_zone() -> None:
    assert group_of(a_pool())["subnetIds"] == ["subnet-b"]


def test_an_open_block_starts_the_planned_nodes() -> None:
    assert group_of(a_pool())["scalingConfig"] == {"minSize": 0, "desiredSize": 1, "maxSize": 2}


def test_a_block_that_is_not_open_starts_none() -> None:
    group = group_of(a_pool(), as_of=date(2026, 11, 19))

    assert group["scalingConfig"] == {"minSize": 0, "desiredSize": 0, "maxSize": 2}


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        pytest.param(date(2026, 11, 19), False, id="the-day-before"),
        pytest.param(date(2026, 11, 20), True, id="the-day-it-starts"),
        pytest.param(date(2027, 1, 28), True, id="the-last-whole-day"),
        pytest.param(date(2027, 1, 29), False, id="the-day-it-ends"),
    ],
)
def test_a_block_is_open_from_its_first_to_its_last_day(day: date, expected: bool) -> None:
    assert is_open(BLOCK, day) is expected
    assert has_nodes(a_pool(), day) is expected


def test_the_day_of_a_block_is_that_of_utc() -> None:
    late = datetime.fromisoformat("2026-11-20T23:30:00-05:00")
    block = BLOCK.model_copy(update={"starts_at": late})

    assert late.astimezone(UTC).date() == date(2026, 11, 21)
    assert is_open(block, date(2026, 11, 20)) is False


def test_on_demand_nodes_are_named_by_the_node_group_in_all_zones() -> None:
    engine = node_group(an_l4_pool())

    group = engine.one("aws:eks/nodeGroup:NodeGroup")
    template = engine.one("aws:ec2/launchTemplate:LaunchTemplate")
    assert group["capacityType"] == "ON_DEMAND"
    assert group["instanceTypes"] == ["g6.xlarge"]
    assert group["subnetIds"] == ["subnet-a", "subnet-b"]
    assert group["scalingConfig"] == {"minSize": 0, "desiredSize": 1, "maxSize": 4}
    assert not {"instanceType", "instanceMarketOptions"} & template.keys()


@pytest.mark.parametrize(
    ("pool", "strategy"),
    [
        pytest.param(a_pool(), "MINIMAL", id="block"),
        pytest.param(a_pool(capacity=ON_DEMAND, scarce=True), "MINIMAL", id="scarce-on-demand"),
        pytest.param(an_l4_pool(), "DEFAULT", id="common-on-demand"),
    ],
)
def test_scarce_nodes_end_before_new_ones_start(pool: PoolPlan, strategy: str) -> None:
    assert group_of(pool)["updateConfig"] == {"maxUnavailable": 1, "updateStrategy": strategy}


def test_labels_and_taint_are_static() -> None:
    group = group_of(a_pool())

    assert group["labels"] == {
        "berth-gpu/role": "gpu",
        "berth-gpu/tier": "h100",
        "k8s.amazonaws.com/accelerator": "nvidia-h100",
    }
    assert group["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    ]


def test_the_template_is_named_by_id_and_number() -> None:
    assert group_of(a_pool())["launchTemplate"] == {"id": "berth-tier-id", "version": "3"}


@pytest.mark.parametrize(
    ("max_nodes", "expected"),
    [pytest.param(1, 1, id="one"), pytest.param(2, 1, id="two"), pytest.param(5, 3, id="five")],
)
def test_repair_goes_by_counts(max_nodes: int, expected: int) -> None:
    assert group_of(a_pool(max_nodes=max_nodes))["nodeRepairConfig"] == {
        "enabled": True,
        "maxParallelNodesRepairedCount": 1,
        "maxUnhealthyNodeThresholdCount": expected,
    }


def test_the_root_disk_is_encrypted_and_as_large_as_planned() -> None:
    (mapping,) = template_of(a_pool())["blockDeviceMappings"]

    assert mapping == {
        "deviceName": "/dev/xvda",
        "ebs": {
            "volumeType": "gp3",
            "volumeSize": 200,
            "encrypted": "true",
            "deleteOnTermination": "true",
        },
    }


def test_the_metadata_service_wants_a_session_token() -> None:
    assert template_of(a_pool())["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 2,
    }


def test_instances_and_volumes_carry_the_tags_of_stack_and_tier() -> None:
    specifications = template_of(a_pool())["tagSpecifications"]

    assert [each["resourceType"] for each in specifications] == ["instance", "volume"]
    assert specifications[0]["tags"] == {
        "berth:stack": "h100-prod",
        "berth:tier": "h100",
        "Name": "h100-prod-h100",
    }


def node_config(**changes: Any) -> dict[str, Any]:
    document = base64.b64decode(gpu_node_user_data(a_pool(**changes))).decode()
    assert "Content-Type: application/node.eks.aws" in document
    config: dict[str, Any] = json.loads(document[document.index("{") : document.rindex("}") + 1])
    return config


def test_kubelet_gives_whole_cores_and_admits_pods_over_both_numa_nodes() -> None:
    assert node_config(local_nvme=False) == {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "kubelet": {
                "config": {
                    "cpuManagerPolicy": "static",
                    "topologyManagerPolicy": "best-effort",
                    "serializeImagePulls": False,
                    "maxParallelImagePulls": 3,
                }
            }
        },
    }


def test_local_disks_become_one_volume() -> None:
    assert node_config(local_nvme=True)["spec"]["instance"] == {
        "localStorage": {"strategy": "RAID0"}
    }


@pytest.mark.parametrize(
    "pool",
    [
        pytest.param(an_existing_pool(), id="existing-nodes"),
        pytest.param(a_pool(instance_type=None), id="no-instance-type"),
    ],
)
def test_a_pool_that_is_no_node_group_is_refused(pool: PoolPlan) -> None:
    with pytest.raises(ValueError, match=f"tier {pool.tier}"):
        capacity_arguments(pool, tuple(SUBNETS), AS_OF)


@pytest.mark.parametrize("release", ["1.35.2-20261120", None])
def test_nodes_start_from_the_pinned_release_or_from_what_eks_has(release: str | None) -> None:
    group = group_of(an_l4_pool(ami_release=release))

    assert group.get("releaseVersion") == release
