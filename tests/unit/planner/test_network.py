"""Zones, gateways and system nodes of a new cluster."""

from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.planner.account import Account
from berth.planner.network import plan_network
from tests.unit.planner.stacks import BLOCK, a_stack, an_h100_tier, an_l4_tier, planned


def a_block_in(zone: str, last_digit: int) -> dict[str, Any]:
    block_id = f"cr-0123456789abcdef{last_digit}"
    return an_h100_tier(capacity=BLOCK | {"availability_zone": zone, "reservation_id": block_id})


@pytest.mark.parametrize(
    ("environment", "zones", "nat_gateways", "system_nodes"),
    [
        pytest.param("dev", ("us-east-1a", "us-east-1b"), 1, 1, id="dev saves"),
        pytest.param("prod", ("us-east-1a", "us-east-1b", "us-east-1c"), 3, 2, id="prod lasts"),
    ],
)
def test_prod_outlives_the_loss_of_a_zone(
    environment: str, zones: tuple[str, ...], nat_gateways: int, system_nodes: int
) -> None:
    plan = planned(environment=environment)

    assert plan.network is not None
    assert plan.system_pool is not None
    assert plan.network.zones == zones
    assert plan.network.nat_gateways == nat_gateways
    assert plan.system_pool.nodes == system_nodes


def test_the_zone_of_a_block_is_always_there() -> None:
    tiers = {"l4": an_l4_tier(), "h100": a_block_in("us-east-1f", 1)}

    network = planned(tiers=tiers).network

    assert network is not None
    assert network.zones == ("us-east-1a", "us-east-1f")


def test_blocks_in_more_zones_than_usual_get_them_all() -> None:
    tiers = {"l4": an_l4_tier()} | {
        f"h{digit}": a_block_in(f"us-east-1{zone}", digit) for digit, zone in enumerate("cde")
    }

    network = planned(tiers=tiers).network

    assert network is not None
    assert network.zones == ("us-east-1c", "us-east-1d", "us-east-1e")


def test_images_come_through_endpoints() -> None:
    network = planned().network

    assert network is not None
    assert network.interface_endpoints == ("ec2", "ecr.api", "ecr.dkr", "sts")
    assert network.cidr == "10.0.0.0/16"


def test_an_accounts_own_zones_win() -> None:
    problems: list[str] = []
    account = Account(availability_zones=("us-east-1c", "us-east-1f"))

    network = plan_network(a_stack(), account, problems)

    assert problems == []
    assert network is not None
    assert network.zones == ("us-east-1c", "us-east-1f")


def test_one_zone_is_too_few() -> None:
    problems: list[str] = []

    plan_network(a_stack(), Account(availability_zones=("us-east-1c",)), problems)

    assert problems == [
        "aws:region: us-east-1 has too few known zones for a cluster, which takes 2 (us-east-1c); "
        "name another region"
    ]


@pytest.mark.parametrize(
    ("region", "zones"),
    [
        pytest.param("ap-northeast-1", "acd", id="Tokyo has no b"),
        pytest.param("us-west-2", "abcd", id="Oregon has four"),
        pytest.param(None, "", id="no region"),
        pytest.param("xx-north-1", "", id="unknown region"),
    ],
)
def test_zones_are_assumed_where_no_account_is_asked(region: str | None, zones: str) -> None:
    account = Account.assumed(region, load_catalog())

    assert account.availability_zones == tuple(f"{region}{letter}" for letter in zones)
