"""An estimate as JSON: the keys that others read, and money as decimal strings."""

import json
from decimal import Decimal
from typing import Any

from berth.catalog.load import load_catalog
from berth.costs.document import estimate_document
from berth.costs.from_plan import estimate
from tests.unit.planner.stacks import a_70b, an_h100_tier, planned


def the_document(**changes: Any) -> dict[str, Any]:
    found = estimate(planned(**changes), load_catalog())
    document: dict[str, Any] = json.loads(json.dumps(estimate_document(found)))
    return document


H100 = {"tiers": {"h100": an_h100_tier()}, "models": {"chat": a_70b(replicas=4)}}


def test_it_has_the_parts_that_others_read() -> None:
    parts = {"total", "at_least", "one_off", "lines", "servers", "idle", "unpriced"}

    assert set(the_document()) == parts


def test_totals_are_decimal_strings() -> None:
    """0.8048 + 0.10 + 0.1008 + 0.045 + 0.005 + 0.08, and 16, 1.6 and 1 a month of 730 hours:

    0.0219178082 + 0.0021917808 + 0.0013698630 = 0.0254794520.
    """
    total = the_document()["total"]

    assert total["plan"] == {"usd_per_hour": "1.161079452", "usd_per_month": "847.59"}
    assert set(total) == {"floor", "plan", "ceiling"}


def test_a_line_says_what_how_much_and_whence() -> None:
    line = the_document()["lines"][0]

    assert line.pop("price")["date"] == "2026-07-20"
    assert line == {
        "name": "GPU nodes",
        "detail": "g6.xlarge, on demand",
        "resource": "l4",
        "tier": "l4",
        "item": "g6.xlarge",
        "region": "us-east-1",
        "capacity_type": "ON_DEMAND",
        "quantity": "1",
        "floor_quantity": "0",
        "ceiling_quantity": "2",
        "unit": "node-hour",
        "usd_per_unit": "0.8048",
        "floor_usd_per_hour": "0.00",
        "plan_usd_per_hour": "0.8048",
        "ceiling_usd_per_hour": "1.6096",
    }


def test_a_price_per_month_keeps_its_unit() -> None:
    line = the_document()["lines"][1]

    assert (line["name"], line["unit"], line["usd_per_unit"]) == ("Root disks", "GB-month", "0.08")
    assert (line["quantity"], line["plan_usd_per_hour"]) == ("200", "0.0219178082")


def test_a_block_stands_in_its_own_box() -> None:
    document = the_document(**H100)

    (fee,) = document["one_off"]
    assert (fee["usd"], fee["refundable"]) == ("132148.80", False)
    assert fee["starts_at"] == "2026-11-20T11:30:00+00:00"
    assert fee["ends_at"] == "2027-01-29T11:30:00+00:00"
    assert fee["price"]["date"] == "2024-12-01"
    line = document["lines"][0]
    assert {line[f"{each}_usd_per_hour"] for each in ("floor", "plan", "ceiling")} == {"0.00"}


def test_what_has_no_price_is_listed() -> None:
    document = the_document(region="us-west-2")

    assert document["at_least"] is True
    assert document["unpriced"][1] == {
        "resource": "cluster",
        "reason": "Control plane: no on-demand price of eks-control-plane in us-west-2; "
        "known in us-east-1",
    }


def test_every_total_is_the_sum_of_the_lines_that_are_shown() -> None:
    document = the_document()

    for each in ("floor", "plan", "ceiling"):
        shown = sum(Decimal(line[f"{each}_usd_per_hour"]) for line in document["lines"])
        assert Decimal(document["total"][each]["usd_per_hour"]) == shown
