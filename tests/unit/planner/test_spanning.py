"""Servers whose replicas take several nodes: when, how they are divided, what is refused."""

from typing import Any

import pytest

from berth.planner.plan import Plan
from berth.planner.pools import Demand, node_count, pack, rollout
from tests.unit.planner.stacks import (
    EXISTING_CLUSTER,
    LLAMA_70B,
    a_70b,
    an_8b,
    an_existing_tier,
    an_h100_tier,
    an_l4_tier,
    planned,
    refusal,
)

DEEPSEEK = "deepseek-ai/DeepSeek-V3"
"""671 GB in FP8: eight H100 hold 640 GB, sixteen 1,280, eight H200 1,128."""
ON_DEMAND = {"type": "ON_DEMAND"}
LOAD = {"requests_per_s": 0.5, "input_tokens": 1000, "output_tokens": 200}


def a_large_server(**changes: Any) -> dict[str, Any]:
    """DeepSeek V3 on the H100 tier."""
    return {"model": DEEPSEEK, "tier": "h100", "max_model_len": 16384} | changes


def h100(max_nodes: int = 4, **changes: Any) -> dict[str, Any]:
    return an_h100_tier(capacity=ON_DEMAND, min_nodes=0, max_nodes=max_nodes) | changes


def large(max_nodes: int = 4, **changes: Any) -> Plan:
    return planned(tiers={"h100": h100(max_nodes)}, models={"chat": a_large_server(**changes)})


@pytest.mark.parametrize("load", [None, LOAD])
def test_what_no_node_holds_is_divided_into_a_stage_for_each(load: Any) -> None:
    server = large(load=load).servers["chat"]

    assert (server.tensor_parallel_size, server.pipeline_parallel_size) == (8, 2)
    assert (server.gpus_per_replica, server.nodes_per_replica, server.gpus_per_pod) == (16, 2, 8)
    assert server.nodes == 2 * server.replicas
    assert " ".join(server.vllm_args).endswith(
        "--pipeline-parallel-size 2 --distributed-executor-backend mp --nnodes 2"
    )


def test_what_one_node_holds_stays_there() -> None:
    tier = h100(instance_type="p5en.48xlarge")
    plan = planned(tiers={"h100": tier}, models={"chat": a_large_server()})

    assert plan.servers["chat"].nodes_per_replica == 1
    assert "--nnodes" not in plan.servers["chat"].vllm_args
    assert plan.pools["h100"].efa_interfaces == 0
    assert (plan.efa_plugin_version, plan.group_controller_version) == (None, None)


def test_fewer_bits_on_one_node_come_before_more_nodes() -> None:
    """Llama 405B takes 812 GB in 16 bits and half of that in FP8."""
    server = large(model="meta-llama/Meta-Llama-3.1-405B").servers["chat"]

    assert (server.quantization, server.nodes_per_replica) == ("fp8", 1)


def test_its_nodes_get_the_fabric_and_the_cluster_what_hands_it_out() -> None:
    """A p5.48xlarge has 32 EFA interfaces."""
    plan = large()
    pool = plan.pools["h100"]

    assert (pool.nodes_per_replica, pool.efa_interfaces) == (2, 32)
    assert plan.efa_plugin_version is not None
    assert plan.group_controller_version == "0.10.0"


def test_each_pod_is_sized_for_its_node() -> None:
    """Eight ranks with 2 GiB of shared memory each, and two revisions of 688 GB in the cache."""
    server = large().servers["chat"]

    assert server.shm_gib == 16
    assert server.cpu_request_cores == 20
    assert 1280 < server.model_cache_gib < 1400


def test_one_node_is_not_enough() -> None:
    lines = refusal(tiers={"h100": h100(max_nodes=1)}, models={"chat": a_large_server()})

    assert any("in fp8 on 8 x H100-SXM-80GB" in line for line in lines)


def test_replicas_need_all_their_nodes() -> None:
    (line,) = refusal(
        tiers={"h100": h100(max_nodes=3)}, models={"chat": a_large_server(replicas=2)}
    )

    assert line == (
        "berth:tiers.h100.max_nodes: chat 2 x 16 GPUs need 4 nodes of 8 GPUs, but max_nodes is 3; "
        "raise max_nodes to 4 or lower the replicas"
    )


def test_stages_that_are_asked_for_may_take_nodes_of_one_gpu() -> None:
    server = planned(models={"chat": an_8b(pipeline_parallel_size=2, tensor_parallel_size=1)})

    assert server.servers["chat"].nodes_per_replica == 2
    assert server.pools["l4"].efa_interfaces == 0


def test_nodes_of_ones_own_have_their_own_fabric() -> None:
    """Two MI300X nodes; the cluster is told to get the controller, or has it."""
    cluster = EXISTING_CLUSTER | {"install": ["leader-worker-set"]}
    models = {"chat": a_70b(tier="lab", tensor_parallel_size=8, pipeline_parallel_size=2)}
    tiers = {"lab": an_existing_tier()}
    told = planned(cluster=cluster, tiers=tiers, models=models)
    has = planned(cluster=EXISTING_CLUSTER, tiers=tiers, models=models)

    assert told.servers["chat"].nodes_per_replica == 2
    assert told.pools["lab"].efa_interfaces == 0
    assert (told.group_controller_version, has.group_controller_version) == ("0.10.0", None)


@pytest.mark.parametrize("load", [None, LOAD])
@pytest.mark.parametrize(
    ("sizes", "line"),
    [
        pytest.param(
            {"tensor_parallel_size": 16},
            "berth:models.chat.tensor_parallel_size: 16 is more than one p5.48xlarge (8 x "
            "H100-SXM-80GB) has; lower it to 8 or less, and divide the model over nodes by "
            "pipeline_parallel_size",
            id="ranks of one layer over nodes",
        ),
        pytest.param(
            {"tensor_parallel_size": 8, "data_parallel_size": 2},
            "berth:models.chat.data_parallel_size: one replica takes 16 GPUs, more than one "
            "p5.48xlarge (8 x H100-SXM-80GB) has, and copies are not spread over nodes; keep "
            "tensor, pipeline and data parallel sizes together at 8 or less",
            id="copies over nodes",
        ),
        pytest.param(
            {"tensor_parallel_size": 4, "pipeline_parallel_size": 3},
            "berth:models.chat.pipeline_parallel_size: one replica takes 12 GPUs in stages of 4, "
            "which are not all GPUs of some p5.48xlarge (8 x H100-SXM-80GB); let tensor times "
            "pipeline parallel size be a multiple of 8",
            id="half a node",
        ),
    ],
)
def test_what_cannot_be_laid_out_on_nodes(sizes: Any, line: str, load: Any) -> None:
    server = a_70b(**sizes, load=load)

    assert refusal(tiers={"h100": h100()}, models={"chat": server}) == (line,)


def test_half_a_replica_does_not_stay_up() -> None:
    (line,) = refusal(tiers={"h100": h100(min_nodes=1)}, models={"chat": a_large_server()})

    assert line == (
        "berth:tiers.h100.min_nodes: 1 keeps a part of a replica running, which takes 2 nodes; set "
        "it to 0, or to 2 or more"
    )


@pytest.mark.parametrize("least", [0, 2])
def test_no_node_or_all_of_a_replica_may_stay_up(least: int) -> None:
    tiers = {"h100": h100(min_nodes=least)}

    assert refusal(tiers=tiers, models={"chat": a_large_server()}) == ()


def test_a_node_that_serves_a_smaller_server_may_stay_up() -> None:
    small = {"model": LLAMA_70B, "tier": "h100", "quantization": "fp8", "max_model_len": 16384}
    tiers = {"h100": h100(min_nodes=1)}

    assert refusal(tiers=tiers, models={"chat": a_large_server(), "small": small}) == ()


def test_spot_types_have_the_same_interfaces() -> None:
    """Both have eight H200; a p5e.48xlarge has 32 EFA interfaces and a p5en.48xlarge 16."""
    capacity = {"type": "SPOT", "instance_types": ["p5en.48xlarge"]}
    tier = h100(instance_type="p5e.48xlarge") | {"capacity": capacity}
    server = a_70b(tensor_parallel_size=8, pipeline_parallel_size=2)
    stack = {"region": "us-east-2", "tiers": {"h100": tier}}
    (line,) = refusal(**stack, models={"chat": server})
    in_one_node = refusal(**stack, models={"chat": a_70b()})

    assert line == (
        "berth:tiers.h100.capacity.instance_types[0]: p5en.48xlarge has 16 EFA interfaces and "
        "p5e.48xlarge has 32, and a replica takes 2 nodes; remove it, because all nodes have one "
        "launch template"
    )
    assert in_one_node == ()


def test_a_replica_is_not_divided_between_tiers() -> None:
    tiers = {"h100": h100(), "spare": h100()}
    (line,) = refusal(tiers=tiers, models={"chat": a_large_server(tier=["h100", "spare"])})

    assert line.startswith("berth:models.chat.tier: a replica takes 2 nodes, and pods of one could")


def test_the_name_of_its_group_is_not_a_servers() -> None:
    small = an_8b(tier="l4")
    tiers = {"h100": h100(), "l4": an_l4_tier()}
    (line,) = refusal(tiers=tiers, models={"chat": a_large_server(), "chat-group": small})

    assert line.startswith("berth:models.chat-group: the pods of chat over 2 nodes are kept")


def a_demand(replicas: int, nodes: int = 2) -> Demand:
    return Demand(
        server="chat",
        gpus_per_replica=8 * nodes,
        replicas=replicas,
        model_cache_gib=10,
        nodes_per_replica=nodes,
    )


@pytest.mark.parametrize(
    ("replicas", "nodes", "expected"), [(1, 2, 2), (3, 2, 6), (2, 3, 6), (0, 2, 0)]
)
def test_each_replica_takes_whole_nodes(replicas: int, nodes: int, expected: int) -> None:
    assert node_count(pack([a_demand(replicas, nodes)], 8, 0)) == expected


@pytest.mark.parametrize(
    ("replicas", "at_least", "way"),
    [
        pytest.param(1, 4, "surge", id="two spare nodes hold a new replica"),
        pytest.param(1, 3, "recreate", id="one spare node does not"),
        pytest.param(2, 5, "one_by_one", id="nor with another replica that serves"),
    ],
)
def test_a_new_replica_needs_all_its_nodes(replicas: int, at_least: int, way: str) -> None:
    demand = a_demand(replicas)

    assert rollout(demand, pack([demand], 8, at_least)) == way


def test_an_image_of_ones_own_takes_the_place_of_vllms() -> None:
    image = "registry.example.com/vllm-efa:v0.32.0"
    plan = planned(models={"chat": an_8b(image=image)}, images={"registry": "mirror.example.com"})

    assert plan.servers["chat"].image == image
