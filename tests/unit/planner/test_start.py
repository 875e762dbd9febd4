"""What is said before `up` about nodes that will not come up."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.planner.account import Account, BlockOffer, Subnet
from berth.planner.make_plan import make_plan
from berth.planner.start import StartFinding, check_start, next_working_day
from tests.unit.planner.stacks import BLOCK, a_70b, a_stack, an_8b, an_h100_tier, an_l4_tier

ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
ON_DEMAND_H100 = an_h100_tier(capacity={"type": "ON_DEMAND"}, min_nodes=0)


def found(account: Account | None = None, **stack: Any) -> list[StartFinding]:
    config, catalog = a_stack(**stack), load_catalog()
    account = account or Account.assumed(config.region, catalog)
    return check_start(config, make_plan(config, catalog, account), catalog, account)


def refusals(account: Account | None = None, **stack: Any) -> list[str]:
    return [each.problem for each in found(account, **stack) if not each.ok]


def h100(tier: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    return {"tiers": {"h100": tier}, "models": {"chat": a_70b()}} | changes


def an_account(**changes: Any) -> Account:
    offered = {"g6.xlarge": frozenset(ZONES), "p5.48xlarge": frozenset(ZONES)}
    quotas = {"L-DB2E81BA": Decimal(64), "L-417A185B": Decimal(1000)}
    account = Account(availability_zones=ZONES, offered=offered, quotas_vcpu=quotas)
    return replace(account, **changes)


def test_a_tier_with_nothing_in_its_way_can_start() -> None:
    assert found(an_account()) == [StartFinding(tier="l4", ok=True)]


def test_without_an_account_what_is_needed_is_said_and_not_read() -> None:
    """Two g6.xlarge of 4 vCPU each."""
    offers, quota = found()

    assert (offers.ok, quota.ok) == (True, True)
    assert offers.problem == "zones that offer g6.xlarge: not read"
    assert quota.problem == (
        "needs at max_nodes 8 vCPU of quota L-DB2E81BA (Running On-Demand G and VT instances); "
        "the quota was not read"
    )


@pytest.mark.parametrize(
    ("vcpu", "refused"), [pytest.param(8, 0, id="8 of 8"), pytest.param(7, 1, id="7 of 8")]
)
def test_the_quota_must_hold_the_most_nodes(vcpu: int, refused: int) -> None:
    account = an_account(quotas_vcpu={"L-DB2E81BA": Decimal(vcpu)})

    assert len(refusals(account)) == refused


def test_tiers_of_one_quota_are_counted_together() -> None:
    """2 x 4 and 1 x 48 vCPU."""
    tiers = {"l4": an_l4_tier(), "big": an_l4_tier(instance_type="g6.12xlarge", max_nodes=1)}
    offered = {"g6.xlarge": frozenset(ZONES), "g6.12xlarge": frozenset(ZONES)}
    account = an_account(offered=offered, quotas_vcpu={"L-DB2E81BA": Decimal(50)})

    assert refusals(account, tiers=tiers) == [
        "needs at max_nodes 8 vCPU of quota L-DB2E81BA (Running On-Demand G and VT instances), "
        "56 together with big, and the account has 50",
        "needs at max_nodes 48 vCPU of quota L-DB2E81BA (Running On-Demand G and VT instances), "
        "56 together with l4, and the account has 50",
    ]


def test_a_block_counts_against_no_quota() -> None:
    assert found(an_account(quotas_vcpu={}), **h100(an_h100_tier())) == [
        StartFinding(tier="h100", ok=True)
    ]


def test_scarce_types_are_usually_not_had_on_demand() -> None:
    (line,) = refusals(an_account(), **h100(ON_DEMAND_H100))

    assert line.startswith("p5.48xlarge is usually not obtainable on demand")


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        pytest.param(
            "2026-11-19", "cr-0123456789abcdef0 opens on 2026-11-20 11:30 UTC", id="before"
        ),
        pytest.param(
            "2027-01-29", "cr-0123456789abcdef0 ends on 2027-01-29 11:30 UTC", id="last day"
        ),
    ],
)
def test_a_block_that_is_not_open_starts_nothing(day: str, expected: str) -> None:
    (line,) = refusals(an_account(), **h100(an_h100_tier(), as_of=day))

    assert line.startswith(expected)


SATURDAY_END = BLOCK | {"ends_at": "2026-11-28T11:30:00Z"}


def test_a_block_that_ends_on_a_weekend_leaves_its_servers_without_nodes() -> None:
    friday = h100(an_h100_tier(capacity=SATURDAY_END), as_of="2026-11-27")

    assert refusals(an_account(), **friday) == [
        "cr-0123456789abcdef0 ends on 2026-11-28 11:30 UTC, before the next working day, and chat "
        "has no other tier"
    ]


def test_another_tier_takes_over_at_the_weekend() -> None:
    tiers = {"h100": an_h100_tier(capacity=SATURDAY_END), "spare": ON_DEMAND_H100}
    stack = {"tiers": tiers, "models": {"chat": a_70b(tier=["h100", "spare"])}}
    lines = refusals(an_account(), **stack, as_of="2026-11-27")

    assert not any("next working day" in line for line in lines)


def test_the_gap_to_the_block_that_follows_is_named() -> None:
    """Instances end at 11:00, 30 minutes before the block; the next one starts at 11:30."""
    block = BLOCK | {
        "next_reservation_id": "cr-0123456789abcdef1",
        "next_starts_at": "2027-01-29T11:30:00Z",
        "next_ends_at": "2027-02-05T11:30:00Z",
    }
    (follows,) = found(an_account(), **h100(an_h100_tier(capacity=block)))

    assert follows.problem == (
        "cr-0123456789abcdef1 takes over on 2027-01-29 11:30 UTC, after a gap of 0 h 30 min "
        "without nodes"
    )


def test_from_its_end_on_the_following_block_serves() -> None:
    block = BLOCK | {
        "next_reservation_id": "cr-0123456789abcdef1",
        "next_starts_at": "2027-01-30T11:30:00Z",
        "next_ends_at": "2027-02-05T11:30:00Z",
    }
    config, catalog = (
        a_stack(**h100(an_h100_tier(capacity=block), as_of="2027-01-30")),
        load_catalog(),
    )
    pool = make_plan(config, catalog, an_account()).pools["h100"]

    assert pool.capacity is not None
    assert getattr(pool.capacity, "reservation_id", None) == "cr-0123456789abcdef1"
    assert found(an_account(), **h100(an_h100_tier(capacity=block), as_of="2027-01-30"))[0].ok


def test_a_type_that_the_zone_of_its_block_does_not_offer() -> None:
    account = an_account(offered={"p5.48xlarge": frozenset({"us-east-1a"})})

    assert refusals(account, **h100(an_h100_tier())) == ["p5.48xlarge is not offered in us-east-1b"]


def test_too_few_addresses_in_a_network_that_exists() -> None:
    """Two g6.xlarge with 58 pods take 2 x 59 addresses."""
    subnets = {"us-east-1a": "subnet-0aaaaaaaaaaaaaaaa", "us-east-1b": "subnet-0bbbbbbbbbbbbbbbb"}
    network = {"vpc_id": "vpc-0123456789abcdef0", "subnet_ids": subnets}
    cluster = {"kubernetes_version": "1.35", "endpoint": "private", "network": network}
    read = {each: Subnet(zone=zone, free_addresses=58) for zone, each in subnets.items()}

    assert refusals(an_account(subnets=read), cluster=cluster) == [
        "2 nodes with 58 pods each take 118 addresses, and its subnets have 116"
    ]


def test_a_purchase_is_said_with_its_price() -> None:
    purchase = {"offering_id": "cb-0123456789abcdef0", "pay_whole_fee_now_without_refund": True}
    block = {key: value for key, value in BLOCK.items() if key != "reservation_id"}
    offers = {"h100": BlockOffer(fee_usd=Decimal("132149.00"), availability_zone="us-east-1b")}
    stack = h100(an_h100_tier(capacity=block | {"purchase": purchase}))
    (said,) = found(an_account(block_offers=offers), **stack)

    assert said.ok
    assert said.problem.endswith("without refund; AWS asks 132149.00 USD now")


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        pytest.param(date(2026, 11, 26), date(2026, 11, 27), id="Thursday"),
        pytest.param(date(2026, 11, 27), date(2026, 11, 30), id="Friday"),
    ],
)
def test_working_days_are_monday_to_friday(day: date, expected: date) -> None:
    assert next_working_day(day) == expected


def test_an_image_of_ones_own_is_said_to_need_the_driver() -> None:
    tier = an_l4_tier(instance_type="g7.2xlarge", ami_id="ami-0123456789abcdef0")
    account = an_account(offered={"g7.2xlarge": frozenset(ZONES)})
    said = found(account, tiers={"l4": tier}, models={"chat": an_8b()})

    assert any("must carry NVIDIA driver 595" in each.problem for each in said)


@pytest.mark.parametrize(
    ("day", "serves"),
    [
        pytest.param("2027-01-28", "cr-0123456789abcdef0", id="the day before the end"),
        pytest.param("2027-01-29", "cr-0123456789abcdef1", id="the day of the end"),
    ],
)
def test_the_next_block_takes_over_on_the_day_of_the_end(day: str, serves: str) -> None:
    block = BLOCK | {
        "next_reservation_id": "cr-0123456789abcdef1",
        "next_starts_at": "2027-01-29T11:30:00Z",
        "next_ends_at": "2027-02-05T11:30:00Z",
    }
    config = a_stack(**h100(an_h100_tier(capacity=block), as_of=day))
    capacity = make_plan(config, load_catalog(), an_account()).pools["h100"].capacity

    assert getattr(capacity, "reservation_id", None) == serves
