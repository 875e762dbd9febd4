"""What launch template and node group say for each way of buying, and for servers over nodes."""

import base64
import json
from typing import Any

import pytest

from berth.config.stack import (
    BlockPurchase,
    ReservedCapacity,
    SpotCapacity,
)
from berth.planner.plan import AmdGpuSoftware, PoolPlan
from components.amd_gpu_operator import chart_values
from components.autoscaler import priorities, role_policy
from components.efa import NetworkInterface, efa_layout
from components.hybrid_nodes import node_configs
from components.scale_from_zero import scale_from_zero_tags
from tests.unit.components.plans import BLOCK, ON_DEMAND, a_pool, an_existing_pool, an_l4_pool
from tests.unit.components.test_gpu_node_group import node_group

GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
ARN = "arn:aws:resource-groups:us-east-1:111122223333:group/h100"


def reserved(**target: Any) -> PoolPlan:
    capacity = ReservedCapacity(
        type="ODCR", availability_zone="us-east-1a", instance_count=2, **target
    )
    return a_pool(capacity=capacity)


def test_spot_lists_every_type_of_the_pods_shape() -> None:
    pool = an_l4_pool(capacity=SpotCapacity(type="SPOT"), spot_types=("g6.2xlarge",))
    group = node_group(pool).one(GROUP)

    assert group["capacityType"] == "SPOT"
    assert group["instanceTypes"] == ["g6.xlarge", "g6.2xlarge"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        pytest.param({}, {"capacityReservationPreference": "open"}, id="open"),
        pytest.param(
            {"reservation_id": "cr-0123456789abcdef0"},
            {"capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}},
            id="targeted",
        ),
        pytest.param(
            {"resource_group_arn": ARN},
            {"capacityReservationTarget": {"capacityReservationResourceGroupArn": ARN}},
            id="resource group",
        ),
    ],
)
def test_a_reservation_is_on_demand_for_eks(target: dict[str, Any], expected: Any) -> None:
    engine = node_group(reserved(**target))
    group = engine.one(GROUP)

    assert engine.one(TEMPLATE)["capacityReservationSpecification"] == expected
    assert group["capacityType"] == "ON_DEMAND"
    assert group["subnetIds"] == ["subnet-a"]


def test_a_bought_block_is_protected_and_targeted() -> None:
    purchase = BlockPurchase(
        offering_id="cb-0123456789abcdef0", pay_whole_fee_now_without_refund=True
    )
    block = BLOCK.model_copy(update={"reservation_id": None, "purchase": purchase})
    engine = node_group(a_pool(capacity=block))

    bought = engine.one("aws:ec2/capacityBlockReservation:CapacityBlockReservation")
    assert bought["capacityBlockOfferingId"] == "cb-0123456789abcdef0"
    assert engine.one(TEMPLATE)["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": "berth-tier-id"}
    }


def test_a_pool_that_may_be_empty_is_described_by_tags() -> None:
    prefix = "k8s.io/cluster-autoscaler/node-template"

    assert scale_from_zero_tags(an_l4_pool()) == {
        f"{prefix}/label/berth-gpu/role": "gpu",
        f"{prefix}/label/berth-gpu/tier": "l4",
        f"{prefix}/label/k8s.amazonaws.com/accelerator": "nvidia-l4",
        f"{prefix}/taint/nvidia.com/gpu": "present:NoSchedule",
        f"{prefix}/resources/nvidia.com/gpu": "1",
    }


def test_a_sliced_pool_says_its_profile_before_it_has_a_node() -> None:
    """16 slices of eight GPUs, each cut in two; what asks for one starts a node from none."""
    pool = an_l4_pool(gpus_per_node=16, mig_profile="3g.40gb")
    engine = node_group(pool)
    template = "k8s.io/cluster-autoscaler/node-template"
    tags = scale_from_zero_tags(pool)

    assert engine.one(GROUP)["labels"]["nvidia.com/mig.config"] == "all-3g.40gb"
    assert tags[f"{template}/label/nvidia.com/mig.config"] == "all-3g.40gb"
    assert tags[f"{template}/resources/nvidia.com/gpu"] == "16"


@pytest.mark.parametrize(("min_nodes", "tags"), [(0, 5), (1, 0)])
def test_tags_are_only_there_where_no_node_may_be(min_nodes: int, tags: int) -> None:
    engine = node_group(an_l4_pool(min_nodes=min_nodes))

    assert len(engine.all("aws:autoscaling/tag:Tag")) == tags


@pytest.mark.parametrize(
    ("interfaces", "on_first_card", "first", "last"),
    [
        pytest.param(32, True, (0, 1), (31, 0), id="p5.48xlarge"),
        pytest.param(16, False, (1, 0), (16, 0), id="p6-b300.48xlarge"),
        pytest.param(1, True, (0, 1), (0, 1), id="one"),
    ],
)
def test_the_first_interface_carries_addresses_and_the_others_efa(
    interfaces: int, on_first_card: bool, first: tuple[int, int], last: tuple[int, int]
) -> None:
    primary, *others = efa_layout(interfaces, on_first_card)

    assert primary == NetworkInterface(card=0, device=0, kind="interface")
    assert {each.kind for each in others} == {"efa-only"}
    assert len(others) == interfaces
    assert (others[0].card, others[0].device) == first
    assert (others[-1].card, others[-1].device) == last


def test_servers_over_nodes_are_in_one_zone_close_together() -> None:
    engine = node_group(a_pool(capacity=ON_DEMAND, nodes_per_replica=2, efa_interfaces=32))
    template = engine.one(TEMPLATE)

    assert engine.one(GROUP)["subnetIds"] == ["subnet-a"]
    assert len(template["networkInterfaces"]) == 33
    assert template["networkInterfaces"][0]["securityGroups"] == ["sg-cluster", "berth-tier-efa-id"]
    assert not any("subnetId" in each for each in template["networkInterfaces"])
    assert engine.one("aws:ec2/placementGroup:PlacementGroup")["strategy"] == "cluster"


def test_nodes_without_the_fabric_are_close_together_too() -> None:
    engine = node_group(an_l4_pool(nodes_per_replica=2))

    assert engine.one(GROUP)["subnetIds"] == ["subnet-a"]
    assert engine.one("aws:ec2/placementGroup:PlacementGroup")["strategy"] == "cluster"
    assert "networkInterfaces" not in engine.one(TEMPLATE)


def test_a_block_is_close_together_by_itself() -> None:
    engine = node_group(a_pool(nodes_per_replica=2, efa_interfaces=32))

    assert engine.all("aws:ec2/placementGroup:PlacementGroup") == {}
    assert "placement" not in engine.one(TEMPLATE)


def test_the_efa_group_allows_itself_both_ways() -> None:
    engine = node_group(a_pool(efa_interfaces=32))
    rules = [
        engine.one(f"aws:vpc/securityGroup{way}Rule:SecurityGroup{way}Rule")
        for way in ("Ingress", "Egress")
    ]

    assert {(r["ipProtocol"], r["referencedSecurityGroupId"]) for r in rules} == {
        ("-1", "berth-tier-efa-id")
    }


def test_an_image_of_ones_own_is_told_its_cluster() -> None:
    pool = an_l4_pool(ami_type="CUSTOM", ami_id="ami-0123456789abcdef0")
    engine = node_group(pool)
    template = engine.one(TEMPLATE)
    text = base64.b64decode(template["userData"]).decode()
    config = json.loads(text[text.index("{") : text.rindex("}") + 1])

    assert template["imageId"] == "ami-0123456789abcdef0"
    assert "amiType" not in engine.one(GROUP)
    assert config["spec"]["cluster"]["name"] == "berth"
    assert config["spec"]["cluster"]["cidr"] == "10.100.0.0/16"


def test_higher_numbers_grow_first() -> None:
    pools = {
        "block": a_pool(tier="block", autoscaler_priority=20),
        "spare": an_l4_pool(tier="spare", autoscaler_priority=10),
        "other": an_l4_pool(tier="other"),
    }

    assert priorities("berth", pools) == {
        "20": ["^eks-berth-block-[0-9a-f]{7}-[0-9a-f-]{36}$"],
        "10": ["^eks-berth-spare-[0-9a-f]{7}-[0-9a-f-]{36}$"],
    }


def test_the_autoscaler_may_change_groups_of_its_cluster_only() -> None:
    look, change = role_policy("berth-1a2b3c4")["Statement"]

    assert not any("Set" in action or "Terminate" in action for action in look["Action"])
    assert change["Condition"]["StringEquals"] == {
        "aws:ResourceTag/k8s.io/cluster-autoscaler/berth-1a2b3c4": "owned"
    }


def test_every_part_of_amds_operator_tolerates_its_taint() -> None:
    """Eight lists: feature discovery, driver, plugin, labeller, metrics, tests, config, DRA."""
    software = AmdGpuSoftware(
        gpu_operator_version="v1.5.1",
        cert_manager_version="v1.15.1",
        device_plugin_tag="1.31.0.9",
        node_labeller_tag="labeller-1.31.0.9",
        metrics_exporter_tag="v1.5.1",
    )
    text = json.dumps(chart_values(software))

    assert text.count('"key": "amd.com/gpu"') == 8
    assert "latest" not in text


def test_a_hybrid_host_has_labels_and_taint_of_its_tier() -> None:
    pool = an_existing_pool(source="hybrid")
    proof = {"mi300x": {"ssm": {"activationId": "a", "activationCode": "b"}}}
    cluster = {"name": "berth", "region": "us-east-1"}
    files = node_configs({"mi300x": pool}, cluster, proof)

    assert list(files["mi300x"]) == ["mi300x-1", "mi300x-2"]
    assert json.loads(files["mi300x"]["mi300x-2"])["spec"]["kubelet"]["flags"] == [
        "--node-labels=berth-gpu/role=gpu,berth-gpu/tier=mi300x",
        "--register-with-taints=amd.com/gpu=present:NoSchedule",
    ]


def test_certificates_name_the_host() -> None:
    pool = an_existing_pool(source="hybrid")
    anchor = {"trustAnchorArn": "t", "profileArn": "p", "roleArn": "r"}
    files = node_configs({"mi300x": pool}, {}, {"mi300x": {"iamRolesAnywhere": anchor}})
    proof = json.loads(files["mi300x"]["mi300x-1"])["spec"]["hybrid"]["iamRolesAnywhere"]

    assert proof["nodeName"] == "mi300x-1"
    assert proof["privateKeyPath"] == "/etc/iam/pki/server.key"
