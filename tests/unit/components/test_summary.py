"""The lines that a preview begins with."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from berth.costs.estimate import CostLine, Estimate, OneOff, PriceSource, Unpriced
from components.summary import summary
from tests.unit.components.plans import a_plan, a_pool, an_existing_plan

LINE = CostLine(
    name="Control plane",
    detail="EKS",
    resource="cluster",
    tier=None,
    unit="cluster-hour",
    usd_per_unit=Decimal("0.10"),
    floor_quantity=Decimal(1),
    plan_quantity=Decimal(2),
    ceiling_quantity=Decimal(3),
    price=PriceSource(source="https://aws.amazon.com/eks/pricing/", date=date(2026, 7, 20)),
)

FEE = OneOff(
    name="Capacity Block cr-0123456789abcdef0",
    usd=Decimal("132149"),
    starts_at=datetime(2026, 11, 20, 11, 30, tzinfo=UTC),
    ends_at=datetime(2027, 1, 29, 11, 30, tzinfo=UTC),
    refundable=False,
    price=None,
)


def test_an_open_block_and_its_fee() -> None:
    costs = Estimate(lines=[LINE], one_off=[FEE], unpriced=[])

    assert summary(a_plan(), costs, has_token=True) == [
        "server chat: meta-llama/Llama-3.3-70B-Instruct, fp8, 2 x 2 GPUs on tier h100, "
        "KV cache for 230,000 tokens",
        "tier h100: p5.48xlarge, CAPACITY_BLOCK, nodes 1 / 1 / 2 (min, planned, max)",
        # 0.10 x 730 = 73, and twice and three times as much
        "cost: floor 0.10 USD an hour, 73.00 a month; plan 0.20 USD an hour, 146.00 a month; "
        "ceiling 0.30 USD an hour, 219.00 a month",
        "paid once: Capacity Block cr-0123456789abcdef0, 132,149.00 USD for "
        "2026-11-20 11:30 to 2027-01-29 11:30 UTC, no refund",
    ]


@pytest.mark.parametrize(("ours", "lines"), [(True, 0), (False, 1)])
def test_an_operator_of_the_clusters_own_must_cut_the_slices(ours: bool, lines: int) -> None:
    plan = a_plan(pools={"h100": a_pool(mig_profile="3g.40gb")})
    plan = plan if ours else replace(plan, gpu_software=None)
    said = summary(plan, Estimate(lines=[], one_off=[], unpriced=[]), has_token=True)

    assert sum("GPU Operator cuts its GPUs into 3g.40gb" in line for line in said) == lines


def test_a_block_that_is_not_open_is_named() -> None:
    plan = a_plan(as_of=date(2026, 11, 1))

    lines = summary(plan, Estimate(lines=[], one_off=[], unpriced=[]), has_token=True)

    assert lines[-1] == "tier h100: its block is not open on 2026-11-01, so no node is started"


def test_the_owner_of_existing_nodes_is_told_which_label_they_need() -> None:
    unpriced = Unpriced(resource="mi300x", reason="no price given")

    lines = summary(
        an_existing_plan(), Estimate(lines=[], one_off=[], unpriced=[unpriced]), has_token=False
    )

    assert lines[2].startswith("cost: at least floor 0.00 USD an hour")
    assert lines[3:] == [
        "Secret inference/hf-token: not made by this stack; "
        "`pulumi config set --secret berth:hf_token` makes it, else create it with the key "
        "HF_TOKEN",
        "tier mi300x: pods go to nodes with the label berth-gpu/tier=mi300x, "
        "which their owner sets",
    ]
