"""An estimate as the JSON that others read; its shape is a contract. Money is a decimal string."""

from decimal import Decimal
from typing import Any

from berth.costs.estimate import CostLine, Estimate, OneOff, PriceSource, ServerCost, Total, sum_usd
from berth.costs.money import amount, cents, exact, per_hour, to_the_last_digit
from berth.planner.document import plan_document
from berth.planner.plan import Plan


def estimate_document(estimate: Estimate) -> dict[str, Any]:
    """Everything that `estimate` holds."""
    return {
        "total": {
            "floor": total_document(estimate.floor),
            "plan": total_document(estimate.plan),
            "ceiling": total_document(estimate.ceiling),
        },
        "at_least": estimate.at_least,
        "one_off": [one_off_document(each) for each in estimate.one_off],
        "lines": [line_document(line) for line in estimate.lines],
        "servers": [
            server_document(each)
            | {"unused_usd_per_hour": _maybe(each.unused_usd_per_hour)}
            | _break_even(each, estimate)
            | _starts(each, estimate)
            for each in estimate.servers
        ],
        "idle": _idle(estimate),
        "unpriced": unpriced_document(estimate),
    }


def priced_plan_document(plan: Plan, estimate: Estimate) -> dict[str, Any]:
    """A plan as others read it, each model server with what it costs."""
    document = plan_document(plan)
    for server in estimate.servers:
        document["servers"][server.name]["cost"] = {
            "usd_per_hour": _maybe(server.usd_per_hour),
            "usd_per_1m_output_tokens": _maybe(server.usd_per_1m_output_tokens),
        }
    return document


def unpriced_document(estimate: Estimate) -> list[dict[str, str]]:
    """What has no price, and why."""
    return [{"resource": each.resource, "reason": each.reason} for each in estimate.unpriced]


def total_document(total: Total) -> dict[str, str]:
    """One total per hour and month."""
    return {
        "usd_per_hour": to_the_last_digit(total.usd_per_hour),
        "usd_per_month": cents(total.usd_per_month),
    }


def line_document(line: CostLine) -> dict[str, Any]:
    """One line."""
    return {
        "name": line.name,
        "detail": line.detail,
        "resource": line.resource,
        "tier": line.tier,
        "item": line.item,
        "region": line.region,
        "capacity_type": line.capacity_type,
        "quantity": amount(line.plan_quantity),
        "floor_quantity": amount(line.floor_quantity),
        "ceiling_quantity": amount(line.ceiling_quantity),
        "unit": line.unit,
        "usd_per_unit": exact(line.usd_per_unit),
        **_low(line),
        "floor_usd_per_hour": to_the_last_digit(line.floor_usd_per_hour),
        "plan_usd_per_hour": to_the_last_digit(line.plan_usd_per_hour),
        "ceiling_usd_per_hour": to_the_last_digit(line.ceiling_usd_per_hour),
        "price": _price(line.price),
    }


def _low(line: CostLine) -> dict[str, str]:
    """The lowest reading, only of a line whose price moves."""
    low = line.low_usd_per_unit
    return {} if low is None else {"low_usd_per_unit": exact(low)}


def one_off_document(one_off: OneOff) -> dict[str, Any]:
    """One fee."""
    document: dict[str, Any] = {
        "name": one_off.name,
        "usd": cents(one_off.usd),
        "starts_at": one_off.starts_at.isoformat(),
        "ends_at": one_off.ends_at.isoformat(),
        "refundable": one_off.refundable,
    }
    if one_off.tier is not None:
        document["tier"] = one_off.tier
    if one_off.price is not None:
        document["price"] = _price(one_off.price)
    return document


def _price(price: PriceSource) -> dict[str, str]:
    return {"source": price.source, "date": price.date.isoformat()}


def server_document(server: ServerCost) -> dict[str, Any]:
    """Prices per million tokens: all money of the server over the tokens of one direction."""
    return {
        "name": server.name,
        "tier": server.tier,
        "model": server.model,
        "gpus": server.gpus,
        "node_share": f"{server.node_share:.4f}",
        "usd_per_hour": _maybe(server.usd_per_hour),
        "paid_once": server.is_paid_once,
        "usd_per_1m_output_tokens": _maybe(server.usd_per_1m_output_tokens),
        "usd_per_1m_input_tokens": _maybe(server.usd_per_1m_input_tokens),
        "at_full_load": _maybe(server.at_full_load),
        "input_at_full_load": _maybe(server.input_at_full_load),
        "utilization": None if server.utilization is None else f"{server.utilization:.4f}",
    }


def _break_even(server: ServerCost, estimate: Estimate) -> dict[str, Any]:
    """The speed that a price of tokens needs; nothing where the price is known."""
    needed = server.break_even_tokens_per_s(estimate.break_even_usd)
    if needed is None:
        return {}
    return {
        "break_even": {
            "usd_per_1m_output_tokens": exact(estimate.break_even_usd),
            "output_tokens_per_s": f"{needed:.1f}",
        }
    }


def _starts(server: ServerCost, estimate: Estimate) -> dict[str, Any]:
    """Bringing up all replicas at once, by each way that weights can take."""
    starts = [
        {
            "path": each.path,
            "seconds": each.seconds,
            "seconds_at_most": each.seconds_at_most,
            "gpu_usd": _maybe(each.gpu_usd),
            "traffic_usd": _maybe(each.traffic_usd),
        }
        for each in estimate.cold_starts
        if each.server == server.name
    ]
    return {"cold_start": starts} if starts else {}


def _maybe(usd: Decimal | None) -> str | None:
    return None if usd is None else per_hour(usd)


def _idle(estimate: Estimate) -> dict[str, Any]:
    unused = (
        each.unused_usd_per_hour
        for each in estimate.servers
        if each.unused_usd_per_hour is not None and not each.is_paid_once
    )
    return {
        "gpus": sum(each.gpus for each in estimate.idle),
        "usd_per_hour": to_the_last_digit(sum_usd(each.usd_per_hour for each in estimate.idle)),
        "load_below_capacity_usd_per_hour": to_the_last_digit(sum_usd(unused)),
        "parts": [
            {
                "tier": each.tier,
                "reason": each.reason,
                "gpus": each.gpus,
                "usd_per_hour": to_the_last_digit(each.usd_per_hour),
            }
            for each in estimate.idle
        ],
    }
