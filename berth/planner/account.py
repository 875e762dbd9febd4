"""What only an AWS account knows, as plain data: looked up before planning, or assumed."""

from dataclasses import dataclass
from typing import Self

from berth.catalog.load import Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One account in one region."""

    availability_zones: tuple[str, ...]
    """Zones that the account may use, such as `us-east-1a`; empty if the region is not known."""

    @classmethod
    def assumed(cls, region: str | None, catalog: Catalog) -> Self:
        """An account that may use every zone of `region`, where none can be asked."""
        known = catalog.regions.get(region) if region else None
        letters = known.zones if known else ()
        return cls(availability_zones=tuple(f"{region}{letter}" for letter in letters))
