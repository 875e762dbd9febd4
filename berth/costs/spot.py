"""Spot nodes: a price that moves is a range of readings, never one number."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from berth.catalog.price import PriceRange
from berth.costs.bought import PriceList, Quantities, UnknownPriceError, price_source
from berth.costs.estimate import CostLine, Unpriced
from berth.costs.kinds import GPU_NODES
from berth.costs.money import exact


def spot_nodes(
    instance_types: Sequence[str],
    resource: str,
    nodes: Quantities,
    prices: PriceList,
    *,
    name: str = GPU_NODES,
    tier: str | None = None,
) -> Iterator[CostLine | Unpriced]:
    """One line for nodes of any of `instance_types`; types without a reading are named.

    The floor is counted at the lowest reading of any type, plan and ceiling at the highest, so that
    a budget that holds is not broken by the market of a day that was seen.
    """
    ranges: dict[str, PriceRange] = {}
    for instance_type in instance_types:
        try:
            ranges[instance_type] = prices.spot_range(instance_type)
        except UnknownPriceError as error:
            yield Unpriced(resource=resource, reason=f"{name}: {error}")
    if not ranges:
        return
    low = min(each.usd_low for each in ranges.values())
    dearest = max(ranges, key=lambda each: ranges[each].usd_high)
    high = ranges[dearest].usd_high
    oldest = min((each.latest for each in ranges.values()), key=lambda price: price.from_date)
    floor, planned, ceiling = (Decimal(quantity) for quantity in nodes)
    yield CostLine(
        name=name,
        detail=f"{' or '.join(ranges)}, spot, read between {exact(low)} and {exact(high)}",
        resource=resource,
        tier=tier,
        unit="node-hour",
        usd_per_unit=high,
        low_usd_per_unit=low,
        floor_quantity=floor,
        plan_quantity=planned,
        ceiling_quantity=ceiling,
        price=price_source(oldest),
        item=dearest,
        region=prices.region,
        capacity_type="SPOT",
    )
