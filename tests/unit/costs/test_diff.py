"""Why a line costs more or less, against differences done by hand."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from berth.costs.amounts import Amounts, sum_amounts
from berth.costs.diff import NO_ESTIMATE, CostDiff, cost_diff
from berth.costs.diff_document import diff_document, diffs_document
from berth.costs.document import estimate_document
from berth.costs.estimate import CostLine, Estimate, OneOff, PriceSource, ServerCost, Unpriced
from berth.costs.read_document import EstimateError, read_estimate


def a_line(**changes: Any) -> CostLine:
    """One to two g6.xlarge at 0.8048 USD an hour, one of them planned."""
    line = CostLine(
        name="GPU nodes",
        detail="g6.xlarge, on demand",
        resource="l4",
        tier="l4",
        unit="node-hour",
        usd_per_unit=Decimal("0.8048"),
        floor_quantity=Decimal(0),
        plan_quantity=Decimal(1),
        ceiling_quantity=Decimal(2),
        price=PriceSource(source="a list", date=date(2026, 7, 20)),
        item="g6.xlarge",
        region="us-east-1",
        capacity_type="ON_DEMAND",
    )
    return replace(line, **changes)


def of(*lines: CostLine, **more: Any) -> Estimate:
    return replace(Estimate(lines=lines, one_off=(), unpriced=()), **more)


def moves(diff: CostDiff) -> list[tuple[tuple[str, ...], str]]:
    (change,) = diff.changes
    return [(move.reasons, str(move.amounts.plan)) for move in change.moves]


LARGER = {
    "item": "g6.2xlarge",
    "detail": "g6.2xlarge, on demand",
    "usd_per_unit": Decimal("0.9776"),
}
TWO = {"plan_quantity": Decimal(2), "ceiling_quantity": Decimal(4)}


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(a_line(**TWO), [(("count",), "0.8048000000")], id="one-node-more"),
        pytest.param(
            a_line(usd_per_unit=Decimal("0.8500")),
            [(("price_list",), "0.0452000000")],
            id="a-newer-price-list",
        ),
        pytest.param(a_line(**LARGER), [(("type",), "0.1728000000")], id="another-type"),
        pytest.param(
            a_line(**LARGER, **TWO),
            [(("type",), "0.1728000000"), (("count",), "0.9776000000")],
            id="another-type-and-one-more",
        ),
        pytest.param(
            a_line(capacity_type="ODCR", detail="g6.xlarge, reserved", **TWO),
            [(("option",), "0E-10"), (("count",), "0.8048000000")],
            id="bought-another-way",
        ),
        pytest.param(
            a_line(region="eu-west-1", usd_per_unit=Decimal("0.9000")),
            [(("region",), "0.0952000000")],
            id="another-region",
        ),
        pytest.param(
            a_line(usd_per_unit=Decimal("0.8500"), **TWO),
            [(("price_list",), "0.0452000000"), (("count",), "0.8500000000")],
            id="price-list-apart-from-the-count",
        ),
        pytest.param(
            a_line(ceiling_quantity=Decimal(4)), [(("count",), "0E-10")], id="only-the-most"
        ),
    ],
)
def test_each_reason_has_its_money(after: CostLine, expected: list[Any]) -> None:
    diff = cost_diff(of(a_line()), of(after))

    assert moves(diff) == expected
    assert sum_amounts(move.amounts for move in diff.changes[0].moves) == diff.amounts


def test_the_price_list_is_told_from_the_type_where_the_old_type_has_a_new_price() -> None:
    """0.8048 to 0.85 for the old type, 0.85 to 0.9776 for taking the larger one."""
    diff = cost_diff(of(a_line()), of(a_line(**LARGER)), lambda _: Decimal("0.85"))

    assert moves(diff) == [(("price_list",), "0.0452000000"), (("type",), "0.1276000000")]
    assert diff.price_list_moves.plan == Decimal("0.0452")
    assert diff.code_moves.plan == Decimal("0.1276")


def test_an_own_price_is_no_price_list() -> None:
    """16 GPUs: 1.85 to 1.95 is 1.60 an hour that the stack's author decided."""
    own = {
        "capacity_type": "OWN",
        "unit": "GPU-hour",
        "item": "MI300X",
        "region": None,
        "plan_quantity": Decimal(16),
    }
    before = a_line(usd_per_unit=Decimal("1.85"), **own)

    diff = cost_diff(of(before), of(replace(before, usd_per_unit=Decimal("1.95"))))

    assert moves(diff) == [(("own_price",), "1.6000000000")]
    assert not diff.price_list_moves


def test_owned_gpus_that_give_way_to_instances_are_one_move() -> None:
    """16 x 1.85 = 29.60 before, 0.8048 after: no unit price compares the two."""
    own = a_line(
        capacity_type="OWN",
        unit="GPU-hour",
        item="MI300X",
        region=None,
        usd_per_unit=Decimal("1.85"),
        plan_quantity=Decimal(16),
    )

    assert moves(cost_diff(of(own), of(a_line()))) == [(("type", "option"), "-28.7952000000")]


def test_a_line_that_is_gone_takes_the_move_of_its_price_with_it() -> None:
    diff = cost_diff(of(a_line()), of(), lambda _: Decimal("0.85"))

    assert moves(diff) == [(("price_list",), "0.0452000000"), (("removed",), "-0.8500000000")]


def test_nothing_changes_where_only_the_day_of_the_reading_does() -> None:
    read_again = PriceSource(source="a list", date=date(2026, 11, 1))

    assert cost_diff(of(a_line()), of(a_line(price=read_again))).is_empty


def test_of_several_lines_of_one_kind_those_that_say_the_same_belong_together() -> None:
    other = a_line(
        detail="g6.4xlarge, on demand", item="g6.4xlarge", usd_per_unit=Decimal("1.3232")
    )

    diff = cost_diff(of(a_line(), other), of(other, a_line(**TWO)))

    assert moves(diff) == [(("count",), "0.8048000000")]


def test_totals_are_past_total_and_what_lies_between() -> None:
    """0.8048 x 730 = 587.50, 1.6096 x 730 = 1,175.01: the months as shown differ by 587.51."""
    document = diff_document(cost_diff(of(a_line()), of(a_line(**TWO))))

    assert document["past"]["plan"] == {"usd_per_hour": "0.8048", "usd_per_month": "587.50"}
    assert document["total"]["plan"] == {"usd_per_hour": "1.6096", "usd_per_month": "1175.01"}
    assert document["diff"]["plan"] == {"usd_per_hour": "0.8048", "usd_per_month": "587.51"}
    assert document["diff"]["floor"] == {"usd_per_hour": "0.00", "usd_per_month": "0.00"}
    assert document["changes"][0]["moves"][0]["text"] == "1 → 2, at most 2 → 4 nodes"


def test_a_tier_that_is_gone_still_has_a_row() -> None:
    diff = cost_diff(of(a_line()), NO_ESTIMATE)

    (tier,) = diff.tiers
    assert (tier.tier, tier.before.plan, tier.after) == ("l4", Decimal("0.8048"), Amounts())


def test_stacks_add_up() -> None:
    """0.8048 twice after, once before."""
    grown, new = cost_diff(of(a_line()), of(a_line())), cost_diff(NO_ESTIMATE, of(a_line()))

    document = diffs_document([grown, new], [diff_document(grown), diff_document(new)])

    assert document["past"]["plan"]["usd_per_hour"] == "0.8048"
    assert document["total"]["plan"]["usd_per_hour"] == "1.6096"
    assert document["diff"]["plan"]["usd_per_hour"] == "0.8048"


FEE = OneOff(
    name="Capacity Block cr-1",
    usd=Decimal("132149.00"),
    starts_at=datetime(2026, 11, 20, 11, 30, tzinfo=UTC),
    ends_at=datetime(2027, 1, 29, 11, 30, tzinfo=UTC),
    refundable=False,
    price=None,
    tier="h100",
)


def test_a_fee_that_one_side_alone_has_is_named_and_adds_to_no_total() -> None:
    diff = cost_diff(of(a_line()), of(a_line(), one_off=(FEE,)))

    assert [(each.before, each.after) for each in diff.one_off] == [(None, FEE)]
    assert not diff.amounts
    assert not diff.is_empty


def test_the_document_reads_back_to_what_was_written() -> None:
    server = ServerCost(
        name="chat",
        tier="l4",
        model="a/b",
        gpus=1,
        node_share=Decimal("0.5000"),
        usd_per_hour=Decimal("0.8048"),
        is_paid_once=False,
        usd_per_1m_output_tokens=Decimal("3.03"),
    )
    per_month = a_line(name="Root disks", unit="GB-month", hours_per_unit=Decimal(730))
    estimate = of(
        a_line(),
        per_month,
        one_off=(FEE,),
        servers=(server,),
        unpriced=(Unpriced(resource="efs", reason="no price"),),
    )

    read = read_estimate(estimate_document(estimate))

    assert list(read.lines) == list(estimate.lines)
    assert (list(read.one_off), list(read.servers)) == ([FEE], [server])
    assert list(read.unpriced) == list(estimate.unpriced)


def test_a_document_with_the_shared_keys_alone_still_has_its_quantities() -> None:
    """1.6096 an hour at the ceiling is two nodes at 0.8048."""
    document = estimate_document(of(a_line()))
    for key in ("item", "region", "capacity_type", "floor_quantity", "ceiling_quantity"):
        del document["lines"][0][key]

    (line,) = read_estimate(document).lines

    assert line.floor_quantity == 0
    assert line.plan_quantity == 1
    assert line.ceiling_quantity == 2


IDLE = {"tier": "l4", "reason": "asked for by no pod", "gpus": 1}


@pytest.mark.parametrize(
    ("document", "text"),
    [
        pytest.param({}, "missing required field lines", id="no-lines"),
        pytest.param({"lines": [{"name": "a"}]}, "$.lines[0]", id="half-a-line"),
        pytest.param({"lines": "many"}, "$.lines", id="no-list"),
        pytest.param(7, "Expected object", id="a-number"),
        pytest.param(
            {"lines": [], "idle": {"parts": [{**IDLE, "usd_per_hour": "NaN"}]}},
            "$.idle.parts[0].usd_per_hour is no amount",
            id="not-a-number",
        ),
    ],
)
def test_what_is_no_estimate_is_told_with_its_key(document: Any, text: str) -> None:
    with pytest.raises(EstimateError, match=text.replace("$", r"\$").replace("[0]", r"\[0\]")):
        read_estimate(document)
