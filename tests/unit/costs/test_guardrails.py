"""Limits against figures done by hand: at a limit is within it, a cent above is not."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from berth.config.budget import BudgetConfig
from berth.costs.diff import cost_diff
from berth.costs.estimate import CostLine, Estimate, Idle, PriceSource, ServerCost, Unpriced
from berth.costs.guardrails import Breach, Judged, breaches

DAY = date(2026, 11, 30)
LINE = CostLine(
    name="GPU nodes",
    detail="g6.xlarge, on demand",
    resource="l4",
    tier="l4",
    unit="node-hour",
    usd_per_unit=Decimal("1.00"),
    floor_quantity=Decimal(0),
    plan_quantity=Decimal(1),
    ceiling_quantity=Decimal(3),
    price=PriceSource(source="a list", date=date(2026, 7, 20)),
    item="g6.xlarge",
    region="us-east-1",
    capacity_type="ON_DEMAND",
)
CHAT = ServerCost(
    name="chat",
    tier="l4",
    model="a/b",
    gpus=5,
    node_share=Decimal("0.625"),
    usd_per_hour=Decimal("1.00"),
    is_paid_once=False,
    usd_per_1m_output_tokens=Decimal("3.03"),
)
IDLE = Idle(tier="l4", reason="nobody asks for", gpus=3, usd_per_hour=Decimal("0.375"))
ESTIMATE = Estimate(lines=(LINE,), one_off=(), unpriced=(), servers=(CHAT,), idle=(IDLE,))
"""1.00 USD an hour, 730 a month; 3.00 and 2,190 at the most; 3 of 8 GPUs (37.5 %) idle."""


def judge(budget: dict[str, Any], **judged: Any) -> list[Breach]:
    given: dict[str, Any] = {"estimate": ESTIMATE, "day": DAY} | judged
    return breaches(BudgetConfig.model_validate(budget), "berth:budget", Judged(**given))


@pytest.mark.parametrize(
    ("key", "within", "beyond", "words"),
    [
        ("monthly_usd", 730, "729.99", "the plan costs 730.00 USD a month, 0.01 above 729.99"),
        ("ceiling_monthly_usd", 2190, 2189, "max_nodes a month costs 2,190.00 USD, 1.00 above"),
        ("usd_per_1m_output_tokens", "3.03", 3, "chat costs 3.03 USD per million output tokens"),
        ("idle_percent", 37.5, 37, "3 of 8 GPUs (37.5 %) are asked for by nobody, above 37"),
        # 11 days of July, 31 + 30 + 31 of August to October, 30 of November
        ("price_age_days", 133, 132, "the price of g6.xlarge is of 2026-07-20, 133 days old"),
    ],
)
def test_a_figure_may_reach_its_limit(key: str, within: Any, beyond: Any, words: str) -> None:
    assert judge({key: within}) == []
    (found,) = judge({key: beyond})
    assert (found.key, found.level) == (f"berth:budget.{key}", "mandatory")
    assert words in found.what
    assert f"raise {key}" in found.fix


TWO_NODES = replace(ESTIMATE, lines=(replace(LINE, plan_quantity=Decimal(2)),))


@pytest.mark.parametrize(
    ("key", "within", "beyond"),
    [("change_monthly_usd", 730, 729), ("change_percent", 100, 99)],
)
def test_a_change_is_limited_up(key: str, within: int, beyond: int) -> None:
    """One node to two: 730 more a month, +100 %."""
    grown = {"estimate": TWO_NODES, "diff": cost_diff(ESTIMATE, TWO_NODES)}

    assert judge({key: within}, **grown) == []
    assert [each.level for each in judge({key: beyond}, **grown)] == ["mandatory"]


def test_a_change_is_limited_down_too() -> None:
    """Two nodes to one: 730 less a month, -50 %."""
    diff = cost_diff(TWO_NODES, ESTIMATE)

    assert judge({"change_percent": 50, "change_monthly_usd": 730}, diff=diff) == []
    found = judge({"change_percent": 49, "change_monthly_usd": 729}, diff=diff)
    assert ["-730.00 USD" in found[0].what, "-50.0 %" in found[1].what] == [True, True]


def test_limits_on_a_change_hold_for_none_where_there_is_no_change() -> None:
    assert judge({"change_percent": 1, "change_monthly_usd": 1}) == []


def test_a_new_stack_has_no_per_cent_and_the_money_is_limited() -> None:
    diff = cost_diff(Estimate(lines=(), one_off=(), unpriced=()), ESTIMATE)

    found = judge({"change_percent": 1, "change_monthly_usd": 700}, diff=diff)

    assert [each.key for each in found] == ["berth:budget.change_monthly_usd"]


def test_a_warning_gives_way_to_the_refusal_of_the_same_figure() -> None:
    budget = {"monthly_usd": 729, "warn": {"monthly_usd": 700, "idle_percent": 10}}

    found = {each.key: each.level for each in judge(budget)}

    assert found == {
        "berth:budget.monthly_usd": "mandatory",
        "berth:budget.idle_percent": "advisory",
    }


def test_own_prices_and_fees_do_not_age() -> None:
    own = replace(LINE, capacity_type="OWN", price=PriceSource(source="own", date=date(2020, 1, 1)))

    assert judge({"price_age_days": 200}, estimate=replace(ESTIMATE, lines=(LINE, own))) == []


@pytest.mark.parametrize(
    ("tiers", "level"),
    [
        pytest.param(("l4",), "advisory", id="something-small-has-no-price"),
        pytest.param(("l4", "h100"), "mandatory", id="the-nodes-of-a-tier-have-none"),
    ],
)
def test_a_month_of_which_a_part_has_no_price_cannot_be_held_to(
    tiers: tuple[str, ...], level: str
) -> None:
    estimate = replace(ESTIMATE, unpriced=(Unpriced(resource="h100", reason="no price"),))

    (found,) = judge({"monthly_usd": 1000}, estimate=estimate, tiers=tiers)

    assert found.level == level
    assert "the price of h100 is unknown; the rest costs 730.00 USD a month" in found.what
