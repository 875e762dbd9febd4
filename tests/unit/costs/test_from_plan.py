"""Estimates against sums done by hand; the arithmetic stands beside each."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.costs.estimate import CostLine, Estimate
from berth.costs.from_plan import estimate
from tests.unit.planner.stacks import (
    BLOCK,
    EXISTING_CLUSTER,
    a_70b,
    an_8b,
    an_existing_tier,
    an_h100_tier,
    an_l4_tier,
    planned,
)


def estimated(**changes: Any) -> Estimate:
    return estimate(planned(**changes), load_catalog())


def the_line(found: Estimate, name: str, resource: str) -> CostLine:
    (line,) = (each for each in found.lines if (each.name, each.resource) == (name, resource))
    return line


def per_month(usd_per_hour: Decimal) -> Decimal:
    return (usd_per_hour * 730).quantize(Decimal("0.01"))


def with_a_block(**changes: Any) -> dict[str, Any]:
    return {
        "tiers": {"h100": an_h100_tier(capacity=BLOCK | changes)},
        "models": {"chat": a_70b(replicas=4)},
    }


def test_an_on_demand_p5_costs_40179_a_month() -> None:
    """55.04 x 730 = 40,179.20."""
    tier = an_h100_tier(capacity={"type": "ON_DEMAND"}, min_nodes=0)

    line = the_line(
        estimated(tiers={"h100": tier}, models={"chat": a_70b(replicas=4)}), "GPU nodes", "h100"
    )

    assert line.usd_per_unit == Decimal("55.04")
    assert line.floor_usd_per_hour == 0
    assert line.plan_usd_per_hour == Decimal("55.04")
    assert line.ceiling_usd_per_hour == Decimal("110.08")
    assert per_month(line.plan_usd_per_hour) == Decimal("40179.20")
    assert line.price.date == date(2026, 7, 20)


def test_a_block_is_paid_once_and_adds_nothing_to_any_hour() -> None:
    """70 days x 24 h = 1680 h; 39.33 x 1680 x 2 = 132,148.80."""
    found = estimated(**with_a_block())

    (fee,) = found.one_off
    assert fee.usd == Decimal("132148.80")
    assert not fee.refundable
    assert fee.price is not None
    assert fee.price.date == date(2024, 12, 1)
    assert (fee.starts_at, fee.ends_at) == (
        datetime(2026, 11, 20, 11, 30, tzinfo=UTC),
        datetime(2027, 1, 29, 11, 30, tzinfo=UTC),
    )
    line = the_line(found, "GPU nodes", "h100")
    assert {line.floor_usd_per_hour, line.plan_usd_per_hour, line.ceiling_usd_per_hour} == {
        Decimal(0)
    }


def test_the_owners_fee_wins() -> None:
    (fee,) = estimated(**with_a_block(fee_usd=140_000)).one_off

    assert fee.usd == Decimal("140000.00")
    assert fee.price is None


def test_a_block_without_a_reading_has_no_price() -> None:
    tier = an_h100_tier(instance_type="p5en.48xlarge")

    found = estimated(tiers={"h100": tier}, models={"chat": a_70b()})

    assert found.one_off == []
    assert found.at_least
    assert [(each.resource, each.reason) for each in found.unpriced] == [
        (
            "h100",
            "no Capacity Block price of p5en.48xlarge in us-east-1; known in no region; "
            "berth:tiers.h100.capacity.fee_usd is not given",
        )
    ]


def test_the_nodes_of_a_block_still_pay_for_their_disks() -> None:
    """0.08 x 200 GB = 16.00 a month and node."""
    line = the_line(estimated(**with_a_block()), "Root disks", "h100")

    assert per_month(line.floor_usd_per_hour) == Decimal("16.00")
    assert per_month(line.ceiling_usd_per_hour) == Decimal("32.00")


def test_what_stands_around_a_small_cluster() -> None:
    """Dev, two zones: one NAT gateway, four endpoints in each zone, one system node of 20 GB."""
    found = estimated()

    assert {
        (line.name, line.resource): per_month(line.plan_usd_per_hour) for line in found.lines
    } == {
        ("GPU nodes", "l4"): Decimal("587.50"),  # 0.8048 x 730 = 587.504
        ("Root disks", "l4"): Decimal("16.00"),  # 0.08 x 200
        ("Control plane", "cluster"): Decimal("73.00"),  # 0.10 x 730
        ("KMS key", "cluster"): Decimal("1.00"),
        ("System nodes", "system"): Decimal("73.58"),  # 0.1008 x 730 = 73.584
        ("Root disks", "system"): Decimal("1.60"),  # 0.08 x 20
        ("NAT gateways", "network"): Decimal("32.85"),  # 0.045 x 730
        ("Public IPv4 addresses", "network"): Decimal("3.65"),  # 0.005 x 730
        ("Interface endpoints", "network"): Decimal("58.40"),  # 0.01 x 8 x 730
    }


def test_totals_are_the_sum_of_the_lines() -> None:
    """587.504 + 16 + 73 + 1 + 73.584 + 1.6 + 32.85 + 3.65 + 58.4 = 847.588."""
    found = estimated(tiers={"l4": an_l4_tier(min_nodes=0, max_nodes=3)})

    assert found.plan.usd_per_month == Decimal("847.59")
    # without the node: 847.588 - 587.504 - 16
    assert found.floor.usd_per_month == Decimal("244.08")
    # two nodes more: 847.588 + 2 x 603.504
    assert found.ceiling.usd_per_month == Decimal("2054.60")
    assert not found.at_least


def test_prod_pays_for_a_gateway_in_each_zone() -> None:
    """3 x 32.85 and 3 addresses of 3.65; 4 endpoints x 3 zones x 7.30 = 87.60; 2 x 73.584."""
    found = estimated(environment="prod")

    month = {line.name: per_month(line.plan_usd_per_hour) for line in found.lines}
    assert month["NAT gateways"] == Decimal("98.55")
    assert month["Public IPv4 addresses"] == Decimal("10.95")
    assert month["Interface endpoints"] == Decimal("87.60")
    assert month["System nodes"] == Decimal("147.17")


def test_existing_nodes_cost_what_their_owner_says() -> None:
    """1.85 x 8 GPUs x 2 nodes = 29.60 an hour, whatever runs there."""
    found = estimated(
        region=None,
        cluster=EXISTING_CLUSTER,
        tiers={"lab": an_existing_tier(usd_per_gpu_hour="1.85")},
        models={"chat": an_8b(tier="lab")},
    )

    (line,) = found.lines
    assert (line.unit, line.plan_quantity) == ("GPU-hour", Decimal(16))
    assert {found.floor.usd_per_hour, found.plan.usd_per_hour, found.ceiling.usd_per_hour} == {
        Decimal("29.60")
    }
    assert found.plan.usd_per_month == Decimal("21608.00")


def test_existing_nodes_without_a_price_are_not_free() -> None:
    found = estimated(
        region=None,
        cluster=EXISTING_CLUSTER,
        tiers={"lab": an_existing_tier()},
        models={"chat": an_8b(tier="lab")},
    )

    assert found.lines == []
    assert found.at_least
    assert [each.reason for each in found.unpriced] == [
        "berth:tiers.lab.usd_per_gpu_hour is not given; clouds ask 1.50 (TensorWave, 2026-05-18) "
        "to 6.00 (OCI, 2026-05-18)"
    ]


def test_the_lines_of_a_tier_stand_together_in_the_order_of_the_stack() -> None:
    found = estimated(
        tiers={"l4": an_l4_tier(), "h100": an_h100_tier()},
        models={"chat": an_8b(), "big": a_70b()},
    )

    assert [(line.resource, line.name) for line in found.lines[:4]] == [
        ("l4", "GPU nodes"),
        ("l4", "Root disks"),
        ("h100", "GPU nodes"),
        ("h100", "Root disks"),
    ]


def test_another_region_is_priced_only_where_its_prices_are_known() -> None:
    """us-west-2: the prices of node, NAT gateway and addresses are known, the rest is not."""
    found = estimated(region="us-west-2")

    assert {line.name for line in found.lines} == {
        "GPU nodes",
        "NAT gateways",
        "Public IPv4 addresses",
    }
    assert found.at_least
    assert [each.reason for each in found.unpriced] == [
        "Root disks: no on-demand price of gp3 in us-west-2; known in us-east-1",
        "Control plane: no on-demand price of eks-control-plane in us-west-2; known in us-east-1",
        "KMS key: no on-demand price of kms-key in us-west-2; known in us-east-1",
        "System nodes: no on-demand price of m7i.large in us-west-2; known in us-east-1",
        "Root disks: no on-demand price of gp3 in us-west-2; known in us-east-1",
        "Interface endpoints: no on-demand price of interface-endpoint in us-west-2; "
        "known in us-east-1",
    ]


@pytest.mark.parametrize(
    ("as_of", "usd"),
    [
        pytest.param(date(2026, 7, 19), "98.32", id="day before the reading of the lower price"),
        pytest.param(date(2026, 7, 20), "55.04", id="day of it"),
    ],
)
def test_a_stack_is_priced_as_of_its_day(as_of: date, usd: str) -> None:
    tier = an_h100_tier(capacity={"type": "ON_DEMAND"})

    found = estimated(as_of=as_of, tiers={"h100": tier}, models={"chat": a_70b()})

    assert the_line(found, "GPU nodes", "h100").usd_per_unit == Decimal(usd)


def test_a_day_before_every_price_prices_nothing() -> None:
    found = estimated(as_of=date(2020, 1, 1))

    assert found.lines == []
    assert len(found.unpriced) == 9


def test_a_reservation_is_paid_whether_it_is_used_or_not() -> None:
    """Four p5.48xlarge of 55.04 an hour, of which one runs."""
    capacity = {
        "type": "ODCR",
        "availability_zone": "us-east-1b",
        "reservation_id": "cr-0123456789abcdef0",
        "instance_count": 4,
    }
    tiers = {"h100": an_h100_tier(capacity=capacity, min_nodes=0)}
    found = estimated(tiers=tiers, models={"chat": a_70b()})
    (nodes,) = [line for line in found.lines if line.name == "GPU nodes"]

    hourly = (nodes.floor_usd_per_hour, nodes.plan_usd_per_hour, nodes.ceiling_usd_per_hour)
    assert hourly == (Decimal("220.16"),) * 3


def test_eks_bills_each_vcpu_of_a_hybrid_host() -> None:
    """384 vCPUs of 0.02 are 7.68 an hour for each host; eight GPUs of 1.85 are 14.80."""
    tiers = {
        "mi300x": {
            "source": "hybrid",
            "hosts": "own",
            "gpu": "MI300X",
            "gpus_per_node": 8,
            "vcpus_per_node": 384,
            "nodes": 1,
            "usd_per_gpu_hour": "1.85",
        }
    }
    cluster = {
        "kubernetes_version": "1.35",
        "endpoint": "private",
        "hybrid": {"node_cidrs": ["10.80.0.0/16"], "pod_cidrs": ["10.81.0.0/16"]},
    }
    found = estimated(cluster=cluster, tiers=tiers, models={"chat": an_8b(tier="mi300x")})
    hourly = {line.name: line.plan_usd_per_hour for line in found.lines if line.tier == "mi300x"}

    assert hourly == {"GPU nodes": Decimal("14.80"), "Hybrid node fee": Decimal("7.68")}


def test_spot_is_a_range_of_readings() -> None:
    """g6.xlarge was read between 0.4007 and 0.4386: the floor at one, the ceiling at the other."""
    tier = an_l4_tier(capacity={"type": "SPOT"}, min_nodes=1, max_nodes=3)

    line = the_line(estimated(tiers={"l4": tier}), "GPU nodes", "l4")

    assert line.floor_usd_per_hour == Decimal("0.4007")
    assert line.plan_usd_per_hour == Decimal("0.4386")
    assert line.ceiling_usd_per_hour == Decimal("1.3158")


def test_spot_without_a_reading_is_named() -> None:
    capacity = {"type": "SPOT", "instance_types": ["g6.2xlarge"]}
    found = estimated(tiers={"l4": an_l4_tier(capacity=capacity)})

    assert found.at_least
    assert [each.resource for each in found.unpriced] == ["l4"]
    assert "no spot price of g6.2xlarge in us-east-1" in found.unpriced[0].reason
