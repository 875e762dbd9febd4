"""The JSON of `berth cost`, `berth preview` and a stack's `cost` output back to an estimate."""

from decimal import Decimal
from typing import Any, Final

import msgspec

from berth.costs import written
from berth.costs.bounds import absurd_number
from berth.costs.estimate import (
    HOURS_PER_MONTH,
    CostLine,
    Estimate,
    Idle,
    OneOff,
    PriceSource,
    ServerCost,
    Unpriced,
)

_MONTHLY: Final = "-month"
"""How the unit of a price per month ends; any other price is per hour."""


class EstimateError(ValueError):
    """It is no estimate; the text says at which key and why."""


class _Document(msgspec.Struct):
    lines: list[written.Line]
    one_off: list[written.OneOff] = []
    servers: list[written.Server] = []
    idle: written.Idle = written.Idle()
    unpriced: list[written.Unpriced] = []


def read_estimate(document: Any) -> Estimate:
    """The estimate that `estimate_document` wrote as `document`.

    Raises:
        EstimateError: if a key is missing or is not what it should be.
    """
    try:
        read = msgspec.convert(document, _Document)
    except msgspec.ValidationError as error:
        raise EstimateError(str(error).replace("`", "")) from None
    if (absurd := absurd_number(read)) is not None:
        raise EstimateError(absurd)
    return Estimate(
        lines=[_line(each) for each in read.lines],
        one_off=[_one_off(each) for each in read.one_off],
        unpriced=[Unpriced(resource=each.resource, reason=each.reason) for each in read.unpriced],
        servers=[_server(each) for each in read.servers],
        idle=[
            Idle(tier=each.tier, reason=each.reason, gpus=each.gpus, usd_per_hour=each.usd_per_hour)
            for each in read.idle.parts
        ],
    )


def _line(line: written.Line) -> CostLine:
    hours = HOURS_PER_MONTH if line.unit.endswith(_MONTHLY) else Decimal(1)

    def quantity(stated: Decimal | None, usd_per_hour: Decimal) -> Decimal:
        if stated is not None:
            return stated
        return usd_per_hour * hours / line.usd_per_unit if line.usd_per_unit else line.quantity

    return CostLine(
        name=line.name,
        detail=line.detail,
        resource=line.resource,
        tier=line.tier,
        unit=line.unit,
        usd_per_unit=line.usd_per_unit,
        low_usd_per_unit=line.low_usd_per_unit,
        hours_per_unit=hours,
        floor_quantity=quantity(line.floor_quantity, line.floor_usd_per_hour),
        plan_quantity=line.quantity,
        ceiling_quantity=quantity(line.ceiling_quantity, line.ceiling_usd_per_hour),
        price=PriceSource(source=line.price.source, date=line.price.date),
        item=line.item,
        region=line.region,
        capacity_type=line.capacity_type,
        owner=line.owner,
        cost_center=line.cost_center,
    )


def _one_off(one_off: written.OneOff) -> OneOff:
    price = one_off.price
    return OneOff(
        name=one_off.name,
        usd=one_off.usd,
        starts_at=one_off.starts_at,
        ends_at=one_off.ends_at,
        refundable=one_off.refundable,
        tier=one_off.tier,
        owner=one_off.owner,
        cost_center=one_off.cost_center,
        price=PriceSource(source=price.source, date=price.date) if price else None,
    )


def _server(server: written.Server) -> ServerCost:
    return ServerCost(
        name=server.name,
        tier=server.tier,
        model=server.model,
        gpus=server.gpus,
        node_share=server.node_share,
        usd_per_hour=server.usd_per_hour,
        is_paid_once=server.paid_once,
        usd_per_1m_output_tokens=server.usd_per_1m_output_tokens,
        usd_per_1m_input_tokens=server.usd_per_1m_input_tokens,
        at_full_load=server.at_full_load,
        input_at_full_load=server.input_at_full_load,
        utilization=server.utilization,
    )
