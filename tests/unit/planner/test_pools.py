"""How replicas share nodes, and what a rollout finds there."""

from collections.abc import Sequence

import pytest

from berth.catalog.gpu import load_gpus
from berth.catalog.instance import load_instances
from berth.config.stack import EksTier
from berth.planner.pools import Demand, check_disk, node_count, pack, rollout
from berth.planner.tiers import Tier
from tests.unit.planner.stacks import an_l4_tier


def a_demand(
    replicas: int, gpus_per_replica: int, server: str = "chat", model_cache_gib: int = 100
) -> Demand:
    return Demand(
        server=server,
        gpus_per_replica=gpus_per_replica,
        replicas=replicas,
        model_cache_gib=model_cache_gib,
    )


def a_tier_without_local_disks() -> Tier:
    instance = load_instances()["g6.12xlarge"].model_copy(update={"local_nvme_gb": 0})
    return Tier(
        name="l4",
        gpu_key="L4",
        gpu=load_gpus()["L4"],
        gpus_per_node=4,
        instance_type="g6.12xlarge",
        instance=instance,
        min_nodes=0,
        max_nodes=2,
    )


@pytest.mark.parametrize(
    ("demands", "at_least", "nodes"),
    [
        pytest.param([(4, 2)], 0, 1, id="4 x 2 are one node"),
        pytest.param([(5, 2)], 0, 2, id="one more is a second"),
        pytest.param([(1, 8), (1, 1)], 0, 2, id="a full node takes nothing else"),
        pytest.param([(1, 4), (4, 1)], 0, 1, id="4 + 4 x 1"),
        pytest.param([(4, 1), (1, 8)], 0, 2, id="the large one first"),
        pytest.param([(3, 2), (2, 1)], 0, 1, id="3 x 2 + 2 x 1"),
        pytest.param([(2, 3)], 0, 1, id="two threes in eight"),
        pytest.param([(3, 3)], 0, 2, id="a replica never spans nodes"),
        pytest.param([(0, 2)], 0, 0, id="nothing"),
        pytest.param([(1, 2)], 3, 3, id="the fewest nodes are there anyhow"),
        pytest.param([(9, 8)], 3, 9, id="more than the fewest"),
        pytest.param([(1000, 8), (7, 1)], 0, 1001, id="many"),
    ],
)
def test_replicas_are_packed(demands: Sequence[tuple[int, int]], at_least: int, nodes: int) -> None:
    named = [a_demand(*each, server=f"s{i}") for i, each in enumerate(demands)]

    assert node_count(pack(named, 8, at_least)) == nodes


@pytest.mark.parametrize(
    ("demands", "at_least"),
    [
        pytest.param([(5, 2), (3, 1), (1, 4)], 0, id="mixed"),
        pytest.param([(7, 3), (2, 2)], 4, id="odd sizes"),
    ],
)
def test_no_gpu_is_given_out_twice_or_lost(
    demands: Sequence[tuple[int, int]], at_least: int
) -> None:
    named = [a_demand(*each, server=f"s{i}") for i, each in enumerate(demands)]

    filled = pack(named, 8, at_least)

    assert min(group.free_gpus for group in filled) >= 0
    asked = sum(replicas * gpus for replicas, gpus in demands)
    assert sum(group.nodes * (8 - group.free_gpus) for group in filled) == asked


@pytest.mark.parametrize(
    ("replicas", "gpus_per_replica", "at_least", "expected"),
    [
        pytest.param(3, 2, 0, "surge", id="two GPUs of the node are free"),
        pytest.param(4, 2, 0, "one_by_one", id="the node is full"),
        pytest.param(4, 2, 2, "surge", id="a second node is empty"),
        pytest.param(1, 8, 0, "recreate", id="one replica on a full node"),
        pytest.param(1, 8, 2, "surge", id="one replica and an empty node"),
        pytest.param(2, 8, 2, "one_by_one", id="two full nodes"),
    ],
)
def test_a_rollout_takes_what_is_free(
    replicas: int, gpus_per_replica: int, at_least: int, expected: str
) -> None:
    demand = a_demand(replicas, gpus_per_replica)

    assert rollout(demand, pack([demand], 8, at_least)) == expected


def test_free_gpus_on_two_nodes_do_not_add_up() -> None:
    """Two nodes with two free GPUs each hold no replica of four."""
    four, two = a_demand(2, 4, "four"), a_demand(2, 2, "two")
    spread = pack([a_demand(2, 6, "six")], 8, 0)

    assert [group.free_gpus for group in spread] == [2]
    assert rollout(four, spread) == "one_by_one"
    assert rollout(two, spread) == "surge"


@pytest.mark.parametrize(
    ("model_cache_gib", "lines"),
    [
        pytest.param(37, [], id="4 x 37 = 148 of 200 - 50"),
        pytest.param(
            38,
            [
                "berth:tiers.l4.instance_type: the servers of one g6.12xlarge download 152 GiB of "
                "weights, two revisions each, and its disks have 150 GiB for them; raise "
                "root_disk_gib to 202, or leave it out"
            ],
            id="4 x 38 = 152",
        ),
    ],
)
def test_the_weights_of_all_replicas_of_a_node_fit_on_its_disk(
    model_cache_gib: int, lines: list[str]
) -> None:
    tier = a_tier_without_local_disks()
    config = EksTier.model_validate(an_l4_tier(root_disk_gib=200))
    problems: list[str] = []

    check_disk(tier, config, pack([a_demand(5, 1, "chat", model_cache_gib)], 4, 0), problems)

    assert problems == lines
