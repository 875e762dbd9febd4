"""What a model server costs by the token, and what stands idle; sums by hand beside each."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from berth.costs.estimate import CostLine, OneOff, PriceSource
from berth.costs.servers import PoolUse, ServerUse, Traffic, server_costs

PRICE = PriceSource(source="a list", date=date(2026, 11, 30))


def nodes(usd: str, planned: int) -> CostLine:
    return CostLine(
        name="GPU nodes",
        detail="",
        resource="h100",
        tier="h100",
        unit="node-hour",
        usd_per_unit=Decimal(usd),
        floor_quantity=Decimal(0),
        plan_quantity=Decimal(planned),
        ceiling_quantity=Decimal(planned),
        price=PRICE,
    )


def server(gpus: int, traffic: Traffic | None = None) -> ServerUse:
    return ServerUse(name="chat", tier="h100", model="m", gpus=gpus, traffic=traffic)


def pool(**changes: Any) -> PoolUse:
    stated: dict[str, Any] = {"planned_nodes": 1, "paid_nodes": 1, "gpus_requested": 8}
    return PoolUse(tier="h100", gpus_per_node=8, **{**stated, **changes})


TRAFFIC = Traffic(
    requests_per_s=Decimal(12),
    full_requests_per_s=Decimal(20),
    input_tokens=Decimal(2000),
    output_tokens=Decimal(300),
)


def test_five_of_eight_gpus_asked_for_burn_the_other_three() -> None:
    """55.04 / 8 x 3 = 20.64 USD an hour."""
    servers, idle = server_costs([server(5)], [pool(gpus_requested=5)], [nodes("55.04", 1)], [])

    (burnt,) = idle
    assert (burnt.gpus, burnt.usd_per_hour) == (3, Decimal("20.64"))
    assert servers[0].usd_per_hour == Decimal("34.40")
    assert servers[0].node_share == Decimal("0.625")


def test_a_reservation_half_used_burns_the_other_half() -> None:
    """Two nodes are paid, one is used: 55.04 of 110.08 an hour for eight GPUs."""
    servers, idle = server_costs([server(8)], [pool(paid_nodes=2)], [nodes("55.04", 2)], [])

    (burnt,) = idle
    assert (burnt.reason, burnt.gpus) == ("of the reservation, unused", 8)
    assert burnt.usd_per_hour == Decimal("55.04")
    assert servers[0].usd_per_hour == Decimal("55.04")


def test_the_price_of_tokens_at_the_planned_and_at_full_load() -> None:
    """12/s x 300 = 3,600 tokens a second, 12.96 million an hour: 39.33 / 12.96 = 3.0347.

    Input: 12/s x 2,000 x 3,600 = 86.4 million: 0.4552. Full load is 20/s, 12/20 of each.
    """
    found, _ = server_costs([server(8, TRAFFIC)], [pool()], [nodes("39.33", 1)], [])

    cost = found[0]
    assert cost.usd_per_1m_output_tokens == pytest.approx(Decimal("3.0347"), abs=Decimal("1E-4"))
    assert cost.usd_per_1m_input_tokens == pytest.approx(Decimal("0.4552"), abs=Decimal("1E-4"))
    assert cost.at_full_load == pytest.approx(Decimal("1.8208"), abs=Decimal("1E-4"))
    assert cost.input_at_full_load == pytest.approx(Decimal("0.2731"), abs=Decimal("1E-4"))
    assert cost.utilization == Decimal("0.6")


def test_a_block_gives_an_hourly_equivalent_and_no_idle_money() -> None:
    """132,149 / (1,680 h x 2 instances) = 39.3301 an hour and node; nothing of it recurs."""
    fee = OneOff(
        name="block",
        usd=Decimal(132149),
        starts_at=datetime(2026, 11, 20, tzinfo=UTC),
        ends_at=datetime(2027, 1, 29, tzinfo=UTC),
        refundable=False,
        price=None,
        tier="h100",
        instance_hours=Decimal(1680 * 2),
    )

    found, idle = server_costs([server(4)], [pool(gpus_requested=4)], [nodes("0", 1)], [fee])

    assert found[0].usd_per_hour == pytest.approx(Decimal("19.6650"), abs=Decimal("1E-4"))
    assert found[0].is_paid_once
    assert (idle[0].gpus, idle[0].usd_per_hour) == (4, Decimal(0))


def test_without_a_price_or_a_load_there_is_no_price_of_tokens() -> None:
    unpriced, _ = server_costs([server(8, TRAFFIC)], [pool()], [], [])
    without_load, _ = server_costs([server(8)], [pool()], [nodes("55.04", 1)], [])

    assert (unpriced[0].usd_per_hour, unpriced[0].usd_per_1m_output_tokens) == (None, None)
    assert without_load[0].usd_per_1m_output_tokens is None
