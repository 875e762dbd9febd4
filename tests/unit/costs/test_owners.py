"""Whose money it is, from a stack's own keys and from the tags of any program."""

import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.costs.bought import PriceList
from berth.costs.document import estimate_document
from berth.costs.estimate import Estimate
from berth.costs.from_plan import estimate
from berth.costs.owners import owner_totals
from berth.costs.read_document import read_estimate
from berth.costs.resources.documents import read_engine_document
from berth.costs.resources.estimate_resources import estimate_resources
from tests.unit.costs.engine_documents import UNKNOWN, node_group, preview, state, step
from tests.unit.planner.stacks import BLOCK, a_70b, an_8b, an_h100_tier, an_l4_tier, planned

PRICES = PriceList(book=load_catalog().prices, region="us-east-1", day=date(2026, 11, 30))
GATEWAY = "aws:ec2/natGateway:NatGateway"


def owned(**changes: Any) -> Estimate:
    stack = {
        "owner": "platform",
        "cost_center": "4711",
        "tiers": {
            "h100": an_h100_tier(capacity=BLOCK | {"fee_usd": "1000"}, owner="search"),
            "l4": an_l4_tier(cost_center="4712"),
        },
        "models": {"chat": a_70b(replicas=4), "small": an_8b(tier="l4")},
    }
    return estimate(planned(**stack | changes), load_catalog())


def by_owner(found: Estimate) -> Mapping[tuple[str | None, str | None], Decimal]:
    return {(each.owner, each.cost_center): each.amounts.plan for each in owner_totals(found)}


def test_a_tier_answers_for_itself_and_the_stack_for_the_rest() -> None:
    """One g6.xlarge at 0.8048 and 200 GB at 0.08 / 730; of the block only its disk recurs."""
    found = by_owner(owned())

    assert found["platform", "4712"] == Decimal("0.8267178082")
    assert found["search", "4711"] == Decimal("0.0219178082")
    assert set(found) == {("platform", "4711"), ("platform", "4712"), ("search", "4711")}


def test_totals_by_owner_are_the_total() -> None:
    found = owned()

    assert sum(by_owner(found).values()) == found.plan.usd_per_hour
    assert {each.owner: each.one_off_usd for each in owner_totals(found)}["search"] == 1000
    assert sum(each.one_off_usd for each in owner_totals(found)) == 1000


def test_nobody_named_is_no_total() -> None:
    found = owned(
        owner=None,
        cost_center=None,
        tiers={"l4": an_l4_tier()},
        models={"small": an_8b(tier="l4")},
    )

    assert owner_totals(found) == []
    assert "owners" not in estimate_document(found)


def test_the_document_has_owners_and_can_be_read_back() -> None:
    found = owned()
    document = json.loads(json.dumps(estimate_document(found)))

    assert [each["owner"] for each in document["owners"]] == ["platform", "platform", "search"]
    assert document["owners"][2]["one_off_usd"] == "1000.00"
    assert by_owner(read_estimate(document)) == by_owner(found)


def of_resources(*states: dict[str, Any]) -> Estimate:
    data = preview(*(step("same", each) for each in states))
    return estimate_resources(read_engine_document(data, "p").after, load_catalog(), PRICES)


@pytest.mark.parametrize(
    "tags",
    [
        {"Owner": "search", "CostCenter": "4711"},
        {"owner": "search", "cost-center": "4711"},
        {"berth:owner": "search", "berth:cost-center": "4711", "owner": "somebody"},
        {"OWNER": "search", "cost_centre": "4711"},
        {"Owner": "search", "Cost Center": "4711"},
    ],
)
def test_tags_of_any_spelling(tags: dict[str, str]) -> None:
    """Two p5.48xlarge at 55.04 and 400 GB at 0.08 / 730."""
    found = by_owner(of_resources(node_group(tags=tags)))

    assert found == {("search", "4711"): Decimal("110.1238356164")}


def test_tags_of_an_auto_scaling_group_are_a_list() -> None:
    group = state(
        "aws:autoscaling/group:Group",
        "workers",
        {
            "minSize": 1,
            "maxSize": 1,
            "desiredCapacity": 1,
            "launchTemplate": {"id": "lt-1"},
            "tags": [{"key": "Owner", "value": "search", "propagateAtLaunch": True}],
        },
    )
    template = state(
        "aws:ec2/launchTemplate:LaunchTemplate", "t", {"instanceType": "g6.xlarge"}, id="lt-1"
    )

    assert [each.owner for each in owner_totals(of_resources(group, template))] == ["search"]


def test_default_tags_of_the_provider_count_where_a_resource_has_none_of_its_own() -> None:
    tags = json.dumps({"tags": {"Owner": "platform"}})
    provider = state("pulumi:providers:aws", "default", {"defaultTags": tags})
    gateways = [state(GATEWAY, "a", {}), state(GATEWAY, "b", {"tags": {"Owner": "search"}})]

    assert by_owner(of_resources(provider, *gateways)) == {
        ("platform", None): Decimal("0.045"),
        ("search", None): Decimal("0.045"),
    }


def test_providers_that_disagree_say_nothing() -> None:
    providers = [
        state("pulumi:providers:aws", name, {"defaultTags": json.dumps({"tags": {"Owner": name}})})
        for name in ("a", "b")
    ]

    assert owner_totals(of_resources(*providers, state(GATEWAY, "a", {}))) == []


@pytest.mark.parametrize("tags", [UNKNOWN, {"Owner": UNKNOWN}, {"Owner": "[secret]"}, {"Owner": 5}])
def test_an_owner_that_is_not_shown_is_nobody(tags: object) -> None:
    assert owner_totals(of_resources(node_group(tags=tags))) == []


@pytest.mark.parametrize("default", [UNKNOWN, "[secret]", "{", "5", '{"tags": 5}', 5])
def test_default_tags_that_are_not_shown(default: object) -> None:
    provider = state("pulumi:providers:aws", "default", {"defaultTags": default})

    assert owner_totals(of_resources(provider, state(GATEWAY, "a", {}))) == []
