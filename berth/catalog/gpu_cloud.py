"""What other clouds than AWS ask for GPUs, to hold one's own price against."""

from datetime import date
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

import yaml
from pydantic import Field, TypeAdapter

from berth.catalog.entry import Entry, Source


class CloudReading(Entry):
    """The price of one GPU in one cloud on a day."""

    gpu: str
    """Key of the GPU in the catalog."""
    cloud: str
    usd_per_gpu_hour: Annotated[Decimal, Field(gt=0)]
    from_date: date
    evidence: Literal["high", "medium", "low"]
    source: Source


@cache
def load_cloud_readings() -> tuple[CloudReading, ...]:
    """All readings, as they stand in the file."""
    text = files(__package__).joinpath("gpu_clouds.yaml").read_text(encoding="utf-8")
    data = yaml.load(text, Loader=yaml.CSafeLoader)  # the C form of SafeLoader
    sources = TypeAdapter(dict[str, Source]).validate_python(data["sources"])
    return tuple(
        CloudReading.model_validate(each | {"source": sources[each["source"]]})
        for each in data["readings"]
    )


def readings_of(gpu: str | None, day: date) -> tuple[CloudReading, ...]:
    """The newest reading of each cloud up to `day`, the cheapest first."""
    newest: dict[str, CloudReading] = {}
    for each in sorted(load_cloud_readings(), key=lambda reading: reading.from_date):
        if each.gpu == gpu and each.from_date <= day:
            newest[each.cloud] = each
    return tuple(sorted(newest.values(), key=lambda each: (each.usd_per_gpu_hour, each.cloud)))
