"""Seconds and USD of bringing up replicas, worked by hand beside each."""

from decimal import Decimal
from typing import Any

from berth.catalog.load import load_catalog
from berth.catalog.weight_path import load_weight_paths
from berth.costs.document import estimate_document
from berth.costs.estimate import ColdStart
from berth.costs.from_plan import estimate
from tests.unit.planner.stacks import (
    EXISTING_CLUSTER,
    a_70b,
    an_8b,
    an_existing_tier,
    an_h100_tier,
    an_l4_tier,
    planned,
)

GB_OF_8B = Decimal("16.060522496")
"""8,030,261,248 parameters of two bytes: the repository's model card."""


def starts(**changes: Any) -> dict[str, ColdStart]:
    found = estimate(planned(**changes), load_catalog())
    return {each.path: each for each in found.cold_starts}


def cents(usd: Decimal | None) -> str:
    assert usd is not None
    return str(usd.quantize(Decimal("0.0001")))


def test_the_hub_through_a_nat_gateway_costs_time_and_traffic() -> None:
    """16.0605 GB at 0.235 GB/s 69 s, at 0.059 273 s; 60 s of image, 120 s of compiling besides.

    GPU 0.8048 x 453 / 3600 = 0.1013; one gateway for two zones: 16.0605 x (0.045 + 2 x 0.01).
    """
    hub = starts()["hub-nat"]

    assert (hub.seconds, hub.seconds_at_most) == (249, 453)
    assert cents(hub.gpu_usd) == "0.1013"
    assert cents(hub.traffic_usd) == cents(GB_OF_8B * Decimal("0.065"))


def test_the_endpoint_saves_the_traffic_and_nothing_else() -> None:
    """16.0605 / 1.5 = 10.7, so 11 s of weights: 191 s."""
    found = starts()

    assert found["s3-endpoint"].seconds == found["s3-nat"].seconds == 191
    assert found["s3-endpoint"].traffic_usd == 0
    assert cents(found["s3-nat"].traffic_usd) == "1.0439"


def test_a_gateway_in_each_zone_saves_the_way_between_zones() -> None:
    """16.0605 x 0.045 = 0.7227."""
    cluster = {
        "kubernetes_version": "1.35",
        "endpoint": "private",
        "network": {"nat_gateways": "per_zone"},
    }

    assert cents(starts(cluster=cluster)["s3-nat"].traffic_usd) == "0.7227"


def test_replicas_share_what_the_way_can_carry() -> None:
    """Two nodes: each its own streamer, 191 s; one file system of 0.15 GB/s for both,

    2 x 16.0605 / 0.15 = 214.1, so 215 s of weights: 395 s.
    """
    two = starts(models={"chat": an_8b(replicas=2)}, tiers={"l4": an_l4_tier(max_nodes=2)})

    assert two["s3-endpoint"].seconds == 191
    assert two["fsx"].seconds == 395


def test_replicas_of_one_node_share_what_the_node_can_take() -> None:
    """Four replicas of two GPUs on one p5.48xlarge: a quarter of 1.5 GB/s for each.

    141.107 GB / 0.375 = 376.3, so 377 s of weights and 180 s besides: 557 s.
    """
    found = starts(
        tiers={"h100": an_h100_tier(capacity={"type": "ON_DEMAND"})},
        models={"chat": a_70b(replicas=4)},
    )

    assert found["s3-endpoint"].seconds == 557


def test_only_nodes_with_disks_of_their_own_have_that_way() -> None:
    """g6.xlarge has 250 GB of NVMe; 16.0605 / 0.78 = 20.6, so 21 s: 201 s."""
    assert starts()["nvme"].seconds == 201
    p6 = an_h100_tier(instance_type="p5.4xlarge", capacity={"type": "ON_DEMAND"})
    assert "nvme" in starts(tiers={"l4": p6}, models={"chat": an_8b()})


def test_nodes_of_others_have_no_gateway_of_the_stack() -> None:
    found = starts(
        region=None,
        cluster=EXISTING_CLUSTER,
        tiers={"mi300x": an_existing_tier()},
        models={"chat": an_8b(tier="mi300x")},
    )

    assert set(found) == {"s3-endpoint", "fsx"}
    assert found["fsx"].gpu_usd is None


def test_the_document_has_them_with_each_server() -> None:
    document = estimate_document(estimate(planned(), load_catalog()))

    (server,) = document["servers"]
    assert [each["path"] for each in server["cold_start"]] == list(load_weight_paths())
    assert server["cold_start"][0]["traffic_usd"] == "1.0439"


def test_without_a_speed_the_break_even_is_said() -> None:
    """0.8048 USD an hour / 3600 s x 1,000,000 / 1 USD = 223.6 tokens/s."""
    document = estimate_document(estimate(planned(), load_catalog()))

    (server,) = document["servers"]
    assert server["usd_per_1m_output_tokens"] is None
    assert server["break_even"] == {
        "usd_per_1m_output_tokens": "1.00",
        "output_tokens_per_s": "223.6",
    }


def test_the_budget_says_what_is_to_be_reached() -> None:
    """0.8048 / 3600 x 1,000,000 / 4 = 55.9."""
    plan = planned(budget={"usd_per_1m_output_tokens": 4})
    document = estimate_document(estimate(plan, load_catalog()))

    assert document["servers"][0]["break_even"]["output_tokens_per_s"] == "55.9"


def test_what_is_paid_beyond_the_load_is_said() -> None:
    """At a share u of what the replicas can answer, 1 - u of 0.8048 USD an hour serves nothing."""
    load = {"requests_per_s": 0.5, "input_tokens": 500, "output_tokens": 100}
    found = estimate(planned(models={"chat": an_8b(load=load)}), load_catalog())

    (server,) = found.servers
    assert server.utilization is not None
    assert 0 < server.utilization < 1
    unused = Decimal("0.8048") * (1 - server.utilization)
    assert server.unused_usd_per_hour == unused
    idle = estimate_document(found)["idle"]
    assert idle["gpus"] == 0
    assert Decimal(idle["load_below_capacity_usd_per_hour"]) == unused.quantize(Decimal("1E-10"))
