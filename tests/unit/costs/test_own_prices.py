"""What the owner pays in place of the list price, from a stack and from `prices.yaml`."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.config.prices import read_prices, with_prices
from berth.config.problems import ConfigError
from berth.costs.estimate import CostLine
from berth.costs.from_plan import estimate
from berth.planner.account import Account
from berth.planner.errors import PlanError
from berth.planner.make_plan import make_plan
from tests.unit.planner.stacks import a_70b, a_stack, an_h100_tier, planned

RESERVATION = {
    "type": "ODCR",
    "reservation_id": "cr-0123456789abcdef0",
    "availability_zone": "us-east-1b",
    "instance_count": 2,
}
FILE = """
currency: USD
every_region:
  gp3: {usd: 0.07}
regions:
  us-east-1:
    p5.48xlarge: {usd: 31.20, bought_as: savings_plan, source: order 4711}
"""


def nodes_of(capacity: dict[str, Any], price: dict[str, Any] | None) -> CostLine:
    plan = planned(
        tiers={"h100": an_h100_tier(capacity=capacity)},
        models={"chat": a_70b(replicas=4)},
        prices={} if price is None else {"p5.48xlarge": price},
    )
    return next(line for line in estimate(plan, load_catalog()).lines if line.tier == "h100")


def test_a_savings_plan_takes_the_place_of_the_list_price() -> None:
    """31.20 in place of 55.04."""
    line = nodes_of({"type": "ON_DEMAND"}, {"usd": "31.20", "bought_as": "savings_plan"})

    assert line.plan_usd_per_hour == Decimal("31.20")
    assert line.detail == "p5.48xlarge, on demand, at the price of a savings plan"
    assert line.capacity_type == "OWN"


def test_it_holds_for_a_reservation_too() -> None:
    """2 x 31.20 = 62.40, used or not."""
    line = nodes_of(RESERVATION, {"usd": "31.20"})

    assert line.floor_usd_per_hour == line.ceiling_usd_per_hour == Decimal("62.40")


@pytest.mark.parametrize(
    ("dates", "usd"),
    [
        pytest.param({"ends_on": date(2026, 12, 1)}, "31.20", id="its last day"),
        pytest.param({"ends_on": date(2026, 11, 30)}, "55.04", id="over"),
        pytest.param({"from_date": date(2026, 11, 30)}, "31.20", id="its first day"),
        pytest.param({"from_date": date(2026, 12, 1)}, "55.04", id="not yet"),
    ],
)
def test_it_holds_from_its_first_day_to_its_last(dates: dict[str, Any], usd: str) -> None:
    line = nodes_of({"type": "ON_DEMAND"}, {"usd": "31.20", **dates})

    assert line.plan_usd_per_hour == Decimal(usd)


def test_what_nothing_is_called_is_refused() -> None:
    with pytest.raises(PlanError) as refusal:
        planned(prices={"p5.48xlarg": {"usd": "31.20"}})

    assert refusal.value.lines == (
        "berth:prices.p5.48xlarg: is nothing that has a price; did you mean p5.48xlarge",
    )


def test_a_stack_wins_over_the_file(tmp_path: Path) -> None:
    """The file's 0.07 for gp3, the stack's own 30.00 for the node."""
    (tmp_path / "prices.yaml").write_text(FILE)
    stack = a_stack(
        tiers={"h100": an_h100_tier(capacity={"type": "ON_DEMAND"})},
        models={"chat": a_70b(replicas=4)},
        prices={"p5.48xlarge": {"usd": 30}},
    )
    config = with_prices(stack, read_prices(tmp_path / "prices.yaml"))
    catalog = load_catalog()
    plan = make_plan(config, catalog, Account.assumed(config.region, catalog))

    prices = {line.item: line.usd_per_unit for line in estimate(plan, catalog).lines}

    assert prices["p5.48xlarge"] == 30
    assert prices["gp3"] == Decimal("0.07")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            FILE.replace("USD", "EUR"),
            "prices.yaml:2: currency: is EUR, and Berth counts in USD alone; convert the amounts, "
            "and write USD",
            id="another currency",
        ),
        pytest.param(
            FILE.replace("every_region:\n", "every_region:\n  gp3: {usd: 0.09}\n"),
            "given twice, in lines 4 and 5",
            id="a key that stands twice",
        ),
        pytest.param(FILE.replace("0.07", "-1"), "every_region.gp3.usd", id="negative"),
        pytest.param(FILE.replace("0.07", "7 EUR"), "every_region.gp3.usd", id="no number"),
        pytest.param(FILE.replace("us-east-1", "mars"), "regions.mars", id="no region"),
        pytest.param("", "prices.yaml: is empty", id="empty"),
        pytest.param("currency: [", "prices.yaml:", id="no yaml"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "prices.yaml").write_text(text)

    with pytest.raises(ConfigError) as refusal:
        read_prices(tmp_path / "prices.yaml")

    assert problem in "\n".join(refusal.value.lines)
