"""The budget as a policy: stacks of Berth by their estimate, others by their resources."""

from typing import Any

import pytest
from pulumi.runtime.proto import analyzer_pb2

from berth.costs.guardrails import BUDGET_EXCEEDED
from tests.unit.policy_pack.engine import LEVEL_NAMES, analyze_stack, analyzer, configure

PROVIDER = ("pulumi:providers:aws", "default", {"region": "us-east-1"})
POOL = (
    "aws:eks/nodeGroup:NodeGroup",
    "pool",
    {
        "instanceTypes": ["p5.48xlarge"],
        "scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 2},
    },
)
"""One p5.48xlarge at 55.04 USD an hour, 40,179.20 a month, and 20 GiB of gp3 for 1.60."""
COST = {
    "lines": [
        {
            "name": "GPU nodes",
            "detail": "g6.xlarge, on demand",
            "resource": "l4",
            "tier": "l4",
            "quantity": "1",
            "unit": "node-hour",
            "usd_per_unit": "1.00",
            "floor_usd_per_hour": "0.00",
            "plan_usd_per_hour": "1.00",
            "ceiling_usd_per_hour": "2.00",
            "price": {"source": "a list", "date": "2026-07-20"},
        }
    ]
}
"""1.00 USD an hour, 730 a month."""


def found(
    *resources: tuple[str, str, dict[str, Any]], budget: str = "", **pack: Any
) -> list[tuple[str, str]]:
    """Level and text of what the policy says."""
    made = analyzer(config={"berth:budget": budget} if budget else {})
    configure(made, properties={BUDGET_EXCEEDED: pack})
    answer: analyzer_pb2.AnalyzeResponse = analyze_stack(made, *resources)
    return [
        (LEVEL_NAMES[each.enforcementLevel], each.message)
        for each in answer.diagnostics
        if each.policyName == BUDGET_EXCEEDED
    ]


def test_without_a_limit_nothing_is_priced() -> None:
    assert found(PROVIDER, POOL) == []


def test_any_stack_is_held_to_the_limit_of_the_pack() -> None:
    assert found(PROVIDER, POOL, monthly_usd=41_000) == []
    ((level, text),) = found(PROVIDER, POOL, monthly_usd=40_000)

    assert level == "mandatory"
    assert "budget-exceeded.monthly_usd: the plan costs 40,180" in text
    assert "above 40,000.00" in text


def test_a_stack_of_berth_is_held_to_its_own_budget_by_its_own_estimate() -> None:
    stack = ("pulumi:pulumi:Stack", "berth-l4-dev", {"cost": COST})

    assert found(PROVIDER, stack, budget='{"monthly_usd": 730}') == []
    ((level, text),) = found(PROVIDER, stack, budget='{"monthly_usd": 729}')

    assert level == "mandatory"
    assert "berth:budget.monthly_usd: the plan costs 730.00 USD a month, 1.00 above 729.00" in text


def test_a_warning_is_advice() -> None:
    stack = ("pulumi:pulumi:Stack", "berth-l4-dev", {"cost": COST})

    ((level, _),) = found(PROVIDER, stack, budget='{"warn": {"monthly_usd": 700}}')

    assert level == "advisory"


@pytest.mark.parametrize("usd", [-1, 0])
def test_a_limit_that_is_none_stops_the_run_with_its_key(usd: int) -> None:
    ((level, text),) = found(PROVIDER, POOL, monthly_usd=usd)

    assert level == "mandatory"
    assert f"budget-exceeded.monthly_usd: {usd}" in text


def test_a_region_may_be_given_where_no_provider_says() -> None:
    ((_, unknown),) = found(POOL, monthly_usd=40_000)
    ((_, known),) = found(POOL, monthly_usd=40_000, region="us-east-1")

    assert "cannot be held to" in unknown
    assert "above 40,000.00" in known


def test_what_is_known_after_apply_is_unpriced_and_said() -> None:
    unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    pool = (POOL[0], POOL[1], POOL[2] | {"instanceTypes": unknown})

    ((level, text),) = found(PROVIDER, pool, monthly_usd=40_000)

    assert level == "advisory"
    assert "the price of urn:pool is unknown" in text
