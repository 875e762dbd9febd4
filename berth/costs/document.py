"""An estimate as the JSON that others read; its shape is a contract. Money is a decimal string."""

from typing import Any

from berth.costs.estimate import CostLine, Estimate, OneOff, PriceSource, Total
from berth.costs.money import amount, cents, exact, per_hour


def estimate_document(estimate: Estimate) -> dict[str, Any]:
    """Everything that `estimate` holds."""
    return {
        "total": {
            "floor": _total(estimate.floor),
            "plan": _total(estimate.plan),
            "ceiling": _total(estimate.ceiling),
        },
        "at_least": estimate.at_least,
        "one_off": [_one_off(each) for each in estimate.one_off],
        "lines": [_line(line) for line in estimate.lines],
        "unpriced": [
            {"resource": each.resource, "reason": each.reason} for each in estimate.unpriced
        ],
    }


def _total(total: Total) -> dict[str, str]:
    return {
        "usd_per_hour": per_hour(total.usd_per_hour),
        "usd_per_month": cents(total.usd_per_month),
    }


def _line(line: CostLine) -> dict[str, Any]:
    return {
        "name": line.name,
        "detail": line.detail,
        "resource": line.resource,
        "tier": line.tier,
        "quantity": amount(line.plan_quantity),
        "unit": line.unit,
        "usd_per_unit": exact(line.usd_per_unit),
        "floor_usd_per_hour": per_hour(line.floor_usd_per_hour),
        "plan_usd_per_hour": per_hour(line.plan_usd_per_hour),
        "ceiling_usd_per_hour": per_hour(line.ceiling_usd_per_hour),
        "price": _price(line.price),
    }


def _one_off(one_off: OneOff) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": one_off.name,
        "usd": cents(one_off.usd),
        "starts_at": one_off.starts_at.isoformat(),
        "ends_at": one_off.ends_at.isoformat(),
        "refundable": one_off.refundable,
    }
    if one_off.price is not None:
        document["price"] = _price(one_off.price)
    return document


def _price(price: PriceSource) -> dict[str, str]:
    return {"source": price.source, "date": price.date.isoformat()}
