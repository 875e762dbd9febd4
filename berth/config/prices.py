"""Prices that an owner pays in place of the list's: in a stack file, and in `prices.yaml`."""

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field, ValidationError

from berth.config.model import Config
from berth.config.problems import ConfigError, Problem
from berth.config.raw_values import mapping
from berth.config.rewrite import Rewriter
from berth.config.values import Day, Region, Text, Usd
from berth.config.wanted import Wanted
from berth.config.yaml_file import read_yaml_file

if TYPE_CHECKING:
    from berth.config.stack import StackConfig

PRICES_FILE: Final = "prices.yaml"
CURRENCY: Final = "USD"


class OwnPrice(Config):
    """What one unit costs its owner: an hour of an instance, a month of a GB."""

    usd: Usd
    """Per unit of the list price that it takes the place of."""
    bought_as: Literal["savings_plan", "reserved_instances", "private"] = "private"
    """The commitment or contract behind it."""
    from_date: Day | None = None
    """First day; left out: any day before the last."""
    ends_on: Day | None = None
    """Day from which the list price holds again."""
    source: Text | None = None
    """The contract, in words."""


Item = Annotated[Text, Wanted("an instance type, or a service of `berth catalog prices`", "gp3")]
Prices = dict[Item, Annotated[OwnPrice, Wanted("a price", "{usd: 31.20}")]]


class OwnPrices(Config):
    """The prices of everybody in a repository; a stack's own win over them."""

    currency: str = CURRENCY
    """`USD`, the only one."""
    every_region: Prices = Field(default_factory=dict)
    """By instance type or service."""
    regions: dict[Region, Annotated[Prices, Wanted("prices", "{gp3: {usd: 0.07}}")]] = Field(
        default_factory=dict
    )
    """By region, before those of every region."""

    def of(self, region: str | None) -> Mapping[str, OwnPrice]:
        """What holds in `region`."""
        return {**self.every_region, **self.regions.get(region or "", {})}


def read_prices(path: FilePath) -> OwnPrices:
    """The prices in the file at `path`.

    Raises:
        ConfigError: with every problem of the file, a key that stands twice and another currency
            among them.
    """
    document = read_yaml_file(path, path.name)
    values = mapping(document.values)
    if not values:
        raise ConfigError(
            [f"{path.name}: has no prices; write every_region: {{gp3: {{usd: 0.07}}}}"]
        )
    problems: list[Problem] = []
    found: OwnPrices | None = None
    try:
        found = OwnPrices.model_validate(values)
    except ValidationError as error:
        problems = Rewriter(OwnPrices, document, lambda place: place).problems(error)
    currency = values.get("currency", CURRENCY)
    if isinstance(currency, str) and currency != CURRENCY:
        fix = f"convert the amounts, and write {CURRENCY}"
        what = f"is {currency}, and Berth counts in {CURRENCY} alone"
        problems.append(Problem(("currency",), what, fix))
    problems += document.problems
    if problems or found is None:
        raise document.refuse(problems)
    return found


def find_prices(folder: FilePath) -> OwnPrices:
    """The prices in the `prices.yaml` of a project's folder; none where there is no such file.

    Raises:
        ConfigError: if it cannot be read.
    """
    path = folder / PRICES_FILE
    return read_prices(path) if path.is_file() else OwnPrices()


def with_prices(stack: "StackConfig", prices: OwnPrices) -> "StackConfig":
    """The stack with the prices of its repository, where it states none of its own."""
    return stack.model_copy(update={"prices": {**prices.of(stack.region), **stack.prices}})
