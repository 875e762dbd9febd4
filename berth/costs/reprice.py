"""What the thing of an older line costs on a newer price list."""

from datetime import date
from decimal import Decimal

from berth.catalog.price import PriceBook, UnknownPriceError
from berth.costs.estimate import CostLine
from berth.costs.line_change import PriceNow


def list_prices(book: PriceBook, day: date) -> PriceNow:
    """Prices of `book` as of `day`, each in the region of its line."""

    def usd_per_unit(line: CostLine) -> Decimal | None:
        if line.item is None or line.region is None or line.capacity_type == "SPOT":
            return None
        try:
            return book.on(line.item, line.region, "on_demand", day).usd
        except UnknownPriceError:
            return None

    return usd_per_unit
