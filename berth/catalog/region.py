"""AWS regions and the zones that are assumed where no account can be asked."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated

import yaml
from pydantic import Field, TypeAdapter

from berth.catalog.entry import Entry, Source


class RegionZones(Entry):
    """One region."""

    zones: Annotated[tuple[Annotated[str, Field(pattern=r"^[a-z]$")], ...], Field(min_length=2)]
    """Letters of its availability zones; which building a letter means differs by account."""


@cache
def load_regions() -> Mapping[str, RegionZones]:
    """Regions by their code."""
    text = files(__package__).joinpath("regions.yaml").read_text(encoding="utf-8")
    data = yaml.load(text, Loader=yaml.CSafeLoader)  # the C form of SafeLoader
    Source.model_validate(data["source"])
    return TypeAdapter(dict[str, RegionZones]).validate_python(data["regions"])
