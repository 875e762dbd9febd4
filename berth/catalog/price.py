"""Dated prices: what something cost from which day on, in one region, by one way of buying."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Final, Literal, Self

import yaml
from pydantic import Field, TypeAdapter, model_validator

from berth.catalog.entry import Entry, Source

PurchaseOption = Literal["on_demand", "capacity_block", "spot"]
Unit = Literal[
    "GB",
    "GB-month",
    "IOPS-month",
    "LCU-hour",
    "MiBps-month",
    "NLCU-hour",
    "address-hour",
    "cluster-hour",
    "endpoint-hour",
    "gateway-hour",
    "instance-hour",
    "key-month",
    "load-balancer-hour",
    "vCPU-hour",
]


class UnknownPriceError(LookupError):
    """No price is known for that item, region, purchase option and day."""


class Price(Entry):
    """What one unit costs from a day on."""

    from_date: date
    """Day of the reading; the price may have begun earlier."""
    usd: Annotated[Decimal, Field(gt=0)]
    """Of spot readings of one day, which differ by zone: the highest."""
    usd_low: Annotated[Decimal, Field(gt=0)] | None = None
    """Of spot readings of one day: the lowest; left out: all alike."""
    evidence: Literal["high", "medium", "low"]
    source: Source
    bought_as: str | None = None
    """Words for a price that an owner pays in place of the list's; None: the list's."""


class PriceHistory(Entry):
    """All known prices of one item in one region, oldest first."""

    item: str
    """An instance type, or the name of a service."""
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    option: PurchaseOption
    """`capacity_block` prices are per instance and hour of the block, paid in advance."""
    unit: Unit
    ended_on: date | None = None
    """Day from which it costs nothing any more; left out: it still does."""
    prices: Annotated[tuple[Price, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_oldest_first(self) -> Self:
        for earlier, later in zip(self.prices, self.prices[1:], strict=False):
            if later.from_date <= earlier.from_date:
                raise ValueError(
                    f"{self.item} in {self.region}: the price of {later.from_date} stands after "
                    f"that of {earlier.from_date}; put the oldest first"
                )
        return self

    def on(self, day: date) -> Price:
        """The price in force on `day`.

        Raises:
            UnknownPriceError: if `day` is before the first known price, or none is asked any more.
        """
        return self._until(day)[-1]

    def range_on(self, day: date) -> "PriceRange":
        """The lowest and the highest of all readings up to `day`.

        Raises:
            UnknownPriceError: as `on` does.
        """
        readings = self._until(day)
        return PriceRange(
            usd_low=min(price.usd_low or price.usd for price in readings),
            usd_high=max(price.usd for price in readings),
            latest=readings[-1],
        )

    def _until(self, day: date) -> list[Price]:
        if self.ended_on is not None and day >= self.ended_on:
            raise UnknownPriceError(
                f"{self.item} in {self.region} costs nothing since {self.ended_on}"
            )
        found = [price for price in self.prices if price.from_date <= day]
        if not found:
            raise UnknownPriceError(
                f"no price of {self.item} in {self.region} is known for {day}; "
                f"the first is of {self.prices[0].from_date}"
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRange:
    """What was read of a price that moves."""

    usd_low: Decimal
    usd_high: Decimal
    latest: Price
    """The newest of the readings, which dates the range."""


_OPTION_WORDS: Final[Mapping[PurchaseOption, str]] = {
    "on_demand": "on-demand",
    "capacity_block": "Capacity Block",
    "spot": "spot",
}


class PriceBook:
    """Price histories by region; the file of a region is read when it is first asked for."""

    def __init__(self, folder: Traversable) -> None:
        self._files = {
            each.name.removesuffix(".yaml"): each
            for each in sorted(folder.iterdir(), key=lambda each: each.name)
        }
        self._read: dict[str, Mapping[tuple[str, PurchaseOption], PriceHistory]] = {}
        self._own: Mapping[tuple[str, str], Price] = {}

    def with_own(self, region: str, prices: Mapping[str, Price]) -> "PriceBook":
        """The same book, in which `prices` by item stand before the list's of `region`."""
        found = copy(self)
        found._own = {**self._own, **{(region, item): price for item, price in prices.items()}}
        return found

    @property
    def regions(self) -> tuple[str, ...]:
        """Regions of which any price is known."""
        return tuple(self._files)

    def histories(self, region: str) -> Mapping[tuple[str, PurchaseOption], PriceHistory]:
        """All histories of one region, by item and purchase option; empty for an unknown region."""
        if region not in self._read:
            file = self._files.get(region)
            self._read[region] = (
                {} if file is None else read_histories(region, file.read_text(encoding="utf-8"))
            )
        return self._read[region]

    def on(self, item: str, region: str, option: PurchaseOption, day: date) -> Price:
        """The price of `item` in `region`, never that of another region.

        Raises:
            UnknownPriceError: if there is none for that day; the text says where there is one.
        """
        if option == "on_demand" and (region, item) in self._own:
            return self._own[region, item]
        return self._history(item, region, option).on(day)

    def range_on(self, item: str, region: str, day: date) -> PriceRange:
        """The spot prices of `item` that were read in `region` up to `day`.

        Raises:
            UnknownPriceError: if there is none.
        """
        return self._history(item, region, "spot").range_on(day)

    def _history(self, item: str, region: str, option: PurchaseOption) -> PriceHistory:
        history = self.histories(region).get((item, option))
        if history is not None:
            return history
        words = _OPTION_WORDS[option]
        elsewhere = [each for each in self.regions if self._has(each, item, option)]
        known = f"known in {', '.join(elsewhere)}" if elsewhere else "known in no region"
        raise UnknownPriceError(f"no {words} price of {item} in {region}; {known}")

    def _has(self, region: str, item: str, option: PurchaseOption) -> bool:
        """Whether a region has a price; a file without the item's name need not be read for it."""
        if region not in self._read and item not in self._files[region].read_text("utf-8"):
            return False
        return (item, option) in self.histories(region)


@cache
def load_prices() -> PriceBook:
    """The price files of the catalog."""
    return PriceBook(files(__package__).joinpath("prices"))


def read_histories(region: str, text: str) -> Mapping[tuple[str, PurchaseOption], PriceHistory]:
    """The histories of one region's file, whose prices name their source by its key in that file.

    Raises:
        ValueError: if a price names a source that the file does not have, or an item stands twice.
    """
    data = yaml.load(text, Loader=yaml.CSafeLoader)  # the C form of SafeLoader
    sources = TypeAdapter(dict[str, Source]).validate_python(data["sources"])
    for history in data["histories"]:
        for price in history["prices"]:
            if price["source"] not in sources:
                raise ValueError(
                    f"{history['item']} in {region} names the source {price['source']}; "
                    f"the file has {', '.join(sources)}"
                )
            price["source"] = sources[price["source"]]
    by_key: dict[tuple[str, PurchaseOption], PriceHistory] = {}
    for history in data["histories"]:
        entry = PriceHistory.model_validate(history | {"region": region})
        if (entry.item, entry.option) in by_key:
            raise ValueError(f"{entry.item} in {region} has two histories; append to the first")
        by_key[entry.item, entry.option] = entry
    return by_key
