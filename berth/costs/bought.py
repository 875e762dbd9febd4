"""Something that is bought at a price of the price book, and the line that it becomes."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from berth.catalog.price import Price, PriceBook, PriceRange, PurchaseOption
from berth.catalog.price import UnknownPriceError as UnknownPriceError
from berth.costs.estimate import CapacityType, CostLine, PriceSource, Unpriced

Quantities = tuple[int, int, int]
"""At floor, plan and ceiling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """The prices of one region as of one day."""

    book: PriceBook
    region: str | None
    """None: the stack names none, so nothing has a price."""
    day: date

    def find(self, item: str, option: PurchaseOption = "on_demand") -> Price:
        """The price in force.

        Raises:
            UnknownPriceError: if there is none; the text says where there is one.
        """
        return self.book.on(item, self.region or "", option, self.day)

    def spot_range(self, item: str) -> PriceRange:
        """The spot prices that were read.

        Raises:
            UnknownPriceError: if there is none.
        """
        return self.book.range_on(item, self.region or "", self.day)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """A number of something that the price book knows by `item`."""

    item: str
    name: str
    detail: str
    resource: str
    unit: str
    quantities: Quantities
    option: PurchaseOption = "on_demand"
    capacity_type: CapacityType | None = None
    tier: str | None = None
    hours_per_unit: Decimal = Decimal(1)


def priced(bought: Bought, prices: PriceList) -> CostLine | Unpriced:
    """The line of `bought`, or why it has none; nothing is counted as zero."""
    try:
        price = prices.find(bought.item, bought.option)
    except UnknownPriceError as error:
        return Unpriced(resource=bought.resource, reason=f"{bought.name}: {error}")
    own = price.bought_as
    floor, planned, ceiling = (Decimal(quantity) for quantity in bought.quantities)
    return CostLine(
        name=bought.name,
        detail=bought.detail if own is None else f"{bought.detail}, at the price of {own}",
        resource=bought.resource,
        tier=bought.tier,
        unit=bought.unit,
        usd_per_unit=price.usd,
        hours_per_unit=bought.hours_per_unit,
        floor_quantity=floor,
        plan_quantity=planned,
        ceiling_quantity=ceiling,
        price=price_source(price),
        item=bought.item,
        region=prices.region,
        capacity_type=bought.capacity_type if own is None else "OWN",
    )


def price_source(price: Price) -> PriceSource:
    """Where and of which day."""
    where = price.source.cite or str(price.source.url)
    return PriceSource(source=where, date=price.from_date)
