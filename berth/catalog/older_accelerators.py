"""Accelerators that stacks still name and that Berth does not plan for."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

import yaml
from pydantic import Field

from berth.catalog.entry import Entry, Source
from berth.catalog.gpu import Gpu


class OlderInstance(Entry):
    """What a node of one EC2 instance type has."""

    vendor: Literal["nvidia", "amd", "neuron"]
    count: Annotated[int, Field(ge=1)]
    gpu: str | None = None
    """Key of its GPU; None: nothing is known of it but who makes it."""
    cpu_arch: Literal["x86_64", "arm64"]


class _Instances(Entry):
    source: Source
    types: Mapping[str, OlderInstance]


class OlderAccelerators(Entry):
    """GPUs by key, and instance types by their EC2 name."""

    gpus: Mapping[str, Gpu]
    instances: _Instances


@cache
def load_older_accelerators() -> OlderAccelerators:
    """Everything of the file."""
    text = files(__package__).joinpath("older_accelerators.yaml").read_text(encoding="utf-8")
    return OlderAccelerators.model_validate(yaml.load(text, Loader=yaml.CSafeLoader))
