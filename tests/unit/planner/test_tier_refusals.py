"""Ways of obtaining nodes that cannot be: the key, the numbers, what to change."""

from typing import Any

import pytest

from berth.config.stack import CapacityBlock
from berth.planner.account import Account
from berth.planner.network import plan_network
from tests.unit.planner.stacks import (
    BLOCK,
    LLAMA_8B,
    a_70b,
    a_stack,
    an_8b,
    an_h100_tier,
    an_l4_tier,
    planned,
    refusal,
)

SPOT = {"type": "SPOT", "instance_types": ["g6.2xlarge"]}


def test_an_x86_image_does_not_run_on_arm() -> None:
    tier = an_h100_tier(
        instance_type="p6e-gb200.36xlarge",
        capacity={"type": "ON_DEMAND"},
        ami_type="AL2023_x86_64_NVIDIA",
    )

    assert refusal(tiers={"h100": tier}, models={"chat": a_70b()}) == (
        "berth:tiers.h100.ami_type: AL2023_x86_64_NVIDIA does not run on p6e-gb200.36xlarge, whose "
        "CPU is arm64; use one of AL2023_ARM_64_NVIDIA",
    )


def test_an_image_that_reads_no_node_config_is_refused() -> None:
    """It would start without its labels, its kubelet settings and its local disks."""
    (line,) = refusal(tiers={"l4": an_l4_tier(ami_type="BOTTLEROCKET_x86_64_NVIDIA")})

    assert line == (
        "berth:tiers.l4.ami_type: BOTTLEROCKET_x86_64_NVIDIA is not configured by NodeConfig, with "
        "which this program sets up kubelet, local disks and labels, and has a device plugin of "
        "its own; use AL2023_x86_64_NVIDIA"
    )


@pytest.mark.parametrize(
    ("other", "words"),
    [
        pytest.param(
            "g6.12xlarge", "g6.12xlarge has 4 x L4 and x86_64, not 1 x L4", id="more GPUs"
        ),
        pytest.param("g5.xlarge", "g5.xlarge has 1 x A10G and x86_64, not 1 x L4", id="other GPU"),
        pytest.param("g6.1xlarge", "no instance type g6.1xlarge in the catalog", id="unknown"),
        pytest.param("m7i.large", "m7i.large has no GPU", id="no GPU"),
    ],
)
def test_spot_types_have_one_pod_shape(other: str, words: str) -> None:
    capacity = {"type": "SPOT", "instance_types": [other]}
    (line,) = refusal(tiers={"l4": an_l4_tier(capacity=capacity)})

    assert line.startswith(f"berth:tiers.l4.capacity.instance_types[0]: {words}")


def test_a_smaller_spot_type_comes_first() -> None:
    capacity = {"type": "SPOT", "instance_types": ["g6.xlarge"]}
    tier = an_l4_tier(instance_type="g6.2xlarge", capacity=capacity)
    (line,) = refusal(tiers={"l4": tier})

    assert line.endswith("make g6.xlarge the instance_type")


def test_a_type_that_the_region_does_not_sell() -> None:
    """G6 is not sold in Ireland."""
    (line,) = refusal(region="eu-west-1")

    assert line.startswith("berth:tiers.l4.instance_type: g6.xlarge is not sold in eu-west-1; use")


def test_when_no_zone_has_every_type_the_missing_ones_are_named() -> None:
    tiers = {"l4": an_l4_tier(), "a": an_l4_tier(instance_type="g5.xlarge")}
    offered = {"g6.xlarge": frozenset({"us-east-1a"}), "g5.xlarge": frozenset({"us-east-1b"})}
    account = Account(availability_zones=("us-east-1a", "us-east-1b"), offered=offered)
    problems: list[str] = []

    plan_network(a_stack(tiers=tiers), account, problems)

    assert sorted(problem.partition("; ")[0] for problem in problems) == [
        "berth:tiers.a.instance_type: no zone of us-east-1 offers every type of the stack: "
        "g5.xlarge is missing in us-east-1a",
        "berth:tiers.l4.instance_type: no zone of us-east-1 offers every type of the stack: "
        "g6.xlarge is missing in us-east-1b",
    ]


def test_zones_that_offer_every_type_come_first() -> None:
    offered = {"g6.xlarge": frozenset({"us-east-1b", "us-east-1c"})}
    zones = ("us-east-1a", "us-east-1b", "us-east-1c")
    network = plan_network(a_stack(), Account(availability_zones=zones, offered=offered), [])

    assert network is not None
    assert network.zones == ("us-east-1b", "us-east-1c")


TWO = {"l4": an_l4_tier(max_nodes=1), "spare": an_l4_tier(capacity=SPOT, max_nodes=3)}


def test_replicas_fill_the_preferred_tier_first() -> None:
    plan = planned(tiers=TWO, models={"chat": an_8b(tier=["l4", "spare"], replicas=3)})

    assert [plan.pools[each].planned_nodes for each in ("l4", "spare")] == [1, 2]
    assert [plan.pools[each].autoscaler_priority for each in ("l4", "spare")] == [20, 10]
    assert plan.servers["chat"].tiers == ("l4", "spare")


def test_listed_tiers_have_one_pod_shape() -> None:
    tiers = TWO | {"big": an_l4_tier(instance_type="g6.12xlarge")}
    (line,) = refusal(tiers=tiers, models={"chat": an_8b(tier=["l4", "big"])})

    assert line == (
        "berth:models.chat.tier[1]: big is g6.12xlarge (4 x L4), and l4 is g6.xlarge (1 x L4); "
        "list tiers with the same GPUs and CPU, on which one pod fits"
    )


def test_lists_that_contradict_each_other() -> None:
    models = {"a": an_8b(tier=["l4", "spare"]), "b": an_8b(tier=["spare", "l4"])}
    (line,) = refusal(tiers=TWO, models=models)

    assert line.startswith("berth:models: the lists of the servers contradict each other")


@pytest.mark.parametrize(
    ("replica_gpus", "policy"),
    [
        pytest.param(2, "single-numa-node", id="two of the four GPUs of a side"),
        pytest.param(8, "best-effort", id="both sides"),
    ],
)
def test_numa_is_kept_where_every_server_fits_one_side(replica_gpus: int, policy: str) -> None:
    """A p5.48xlarge has two NUMA nodes of four GPUs."""
    models = {"chat": a_70b(tensor_parallel_size=replica_gpus)}
    plan = planned(tiers={"h100": an_h100_tier()}, models=models)

    assert plan.pools["h100"].topology_policy == policy


def test_servers_of_two_sizes_leave_numa_alone() -> None:
    models = {"a": a_70b(tensor_parallel_size=2), "b": a_70b(tensor_parallel_size=4)}
    plan = planned(tiers={"h100": an_h100_tier()}, models=models)

    assert plan.pools["h100"].topology_policy == "best-effort"


def test_images_come_from_the_mirror() -> None:
    images = {"registry": "mirror.example.com/hub", "pull_secret": "pull"}
    server = planned(images=images).servers["chat"]

    assert server.image == "mirror.example.com/hub/vllm/vllm-openai:v0.32.0"
    assert server.pull_secret == "pull"


HYBRID = {
    "source": "hybrid",
    "hosts": "own",
    "gpu": "MI300X",
    "gpus_per_node": 8,
    "vcpus_per_node": 384,
    "nodes": 2,
}


def test_hybrid_hosts_bring_amds_operator() -> None:
    cluster: dict[str, Any] = {
        "kubernetes_version": "1.35",
        "endpoint": "private",
        "hybrid": {"node_cidrs": ["10.80.0.0/16"], "pod_cidrs": ["10.81.0.0/16"]},
    }
    models = {"chat": {"model": LLAMA_8B, "tier": "mi300x"}}
    plan = planned(cluster=cluster, tiers={"mi300x": HYBRID}, models=models)

    assert plan.amd_gpu_software is not None
    assert plan.gpu_software is None
    assert plan.autoscaler is None
    assert plan.pools["mi300x"].vcpus_per_node == 384


def test_a_block_serves_until_its_end() -> None:
    block = CapacityBlock.model_validate(BLOCK)

    assert block.following() is None
    assert block.serving(block.ends_at) is block
