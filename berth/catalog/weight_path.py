"""How fast weights reach a replica that starts, by the way that they take."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated

import yaml
from pydantic import Field, TypeAdapter

from berth.catalog.entry import Entry, Source

Rate = Annotated[float, Field(gt=0)]


class WeightPath(Entry):
    """One way; rates in GB/s, units of 1000."""

    words: str
    gb_per_s_slow: Rate
    """Of one node."""
    gb_per_s_fast: Rate
    shared_gb_per_s: Rate | None = None
    """Of all nodes together; None: each has its own."""
    traffic: tuple[str, ...]
    """Items of the price book that each GB costs."""
    crosses_zones: bool = False
    """Where one gateway serves several zones, the GB passes from one to another, there and back
    counted each."""
    needs_local_nvme: bool = False
    source: Source


@cache
def load_weight_paths() -> Mapping[str, WeightPath]:
    """All ways by their name, as they stand in the file."""
    text = files(__package__).joinpath("weight_paths.yaml").read_text(encoding="utf-8")
    data = yaml.load(text, Loader=yaml.CSafeLoader)  # the C form of SafeLoader
    return TypeAdapter(dict[str, WeightPath]).validate_python(data["paths"])
