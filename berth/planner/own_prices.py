"""A price book in which what the owner pays stands before the list price."""

from collections.abc import Mapping
from datetime import date
from typing import Final

from berth.catalog.entry import Source
from berth.catalog.load import Catalog
from berth.catalog.older_accelerators import load_older_accelerators
from berth.catalog.price import Price, PriceBook
from berth.config.nearest import did_you_mean
from berth.config.prices import OwnPrice

_WORDS: Final = {
    "savings_plan": "a savings plan",
    "reserved_instances": "reserved instances",
    "private": "the owner's contract",
}
_WIDEST_REGION: Final = "us-east-1"
"""Every service of the price book has a price there."""


def own_book(
    book: PriceBook, own: Mapping[str, OwnPrice], region: str | None, day: date
) -> PriceBook:
    """`book` with the prices of `own` that are in force on `day` in `region`."""
    in_force = {item: price for item, price in own.items() if _holds(price, day)}
    if not in_force or region is None:
        return book
    return book.with_own(region, {item: _entry(price, day) for item, price in in_force.items()})


def unknown_items(own: Mapping[str, OwnPrice], catalog: Catalog) -> dict[str, str]:
    """Keys that are nothing the catalog knows, each with what to write."""
    known = {
        *catalog.instances,
        *load_older_accelerators().instances.types,
        *(item for item, _ in catalog.prices.histories(_WIDEST_REGION)),
    }
    otherwise = "name an instance type, or a service of `berth catalog prices`"
    return {item: did_you_mean(item, sorted(known), otherwise) for item in own if item not in known}


def _holds(price: OwnPrice, day: date) -> bool:
    return (price.from_date is None or price.from_date <= day) and (
        price.ends_on is None or day < price.ends_on
    )


def _entry(price: OwnPrice, day: date) -> Price:
    words = _WORDS[price.bought_as]
    since = price.from_date or day
    return Price(
        from_date=since,
        usd=price.usd,
        evidence="high",
        source=Source(cite=price.source or f"the owner's own price, of {words}", checked=since),
        bought_as=words,
    )
