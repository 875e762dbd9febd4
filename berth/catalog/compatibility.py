"""Which versions of driver, toolkit, operator, Kubernetes and vLLM go together, and the oldest."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

import yaml
from pydantic import Field

from berth.catalog.entry import Entry, Source

Component = Literal["container_toolkit", "cuda", "driver", "rocm", "vllm"]
Version = Annotated[str, Field(pattern=r"^v?\d+(\.\d+)*$")]


class Floor(Entry):
    """The oldest version of a component that works, today or once."""

    component: Component
    minimum: Version
    applies_to: str
    status: Literal["current", "historic"]
    """`historic`: on record; nothing is checked against it."""
    why: str
    source: Source


class Combination(Entry):
    """One set of versions for nodes of one kind."""

    gpus: Annotated[tuple[str, ...], Field(min_length=1)]
    """Keys of the catalog."""
    node_image: str
    """EKS AMI type, or an operating system."""
    node_image_release: str | None = None
    cpu_arch: Literal["x86_64", "arm64"]
    driver: Version | None = None
    cuda: Version | None = None
    """Of the image of vLLM."""
    container_toolkit: Version | None = None
    rocm: Version | None = None
    operator: str
    """Chart."""
    operator_version: Version
    device_plugin: str
    exporter: str
    kubernetes: Annotated[tuple[str, ...], Field(min_length=1)]
    vllm: Version
    image_tag: str
    evidence: Literal["measured", "low"]
    """`low`: each part is documented, the whole was not seen."""
    note: str
    source: Source


class Fp8OnAda(Entry):
    """FP8 with matrix units on capability 8.9, which every vLLM version has to be tried for."""

    seen_with: tuple[Version, ...]
    source: Source


class Compatibility(Entry):
    """The matrix."""

    floors: tuple[Floor, ...]
    fp8_on_ada: Fp8OnAda
    combinations: Mapping[str, Combination]

    def current_floor(self, component: Component, applies_to: str) -> Floor:
        """The floor that holds today.

        Raises:
            LookupError: if none is known.
        """
        for floor in self.floors:
            key = floor.component, floor.applies_to, floor.status
            if key == (component, applies_to, "current"):
                return floor
        raise LookupError(f"no floor of {component} for {applies_to} is known")

    def oldest_driver(self, cuda: str) -> str:
        """The oldest driver that runs images of a CUDA version, such as `12.8`.

        Raises:
            LookupError: if none is known.
        """
        return self.current_floor("driver", f"CUDA {cuda.partition('.')[0]}").minimum

    def combinations_of(self, gpu: str) -> Mapping[str, Combination]:
        """The sets for nodes with `gpu`, by name."""
        return {name: each for name, each in self.combinations.items() if gpu in each.gpus}


def version_numbers(version: str) -> tuple[int, ...]:
    """`580.65.06` and `v1.17.8` as numbers that compare."""
    return tuple(int(part) for part in version.removeprefix("v").split("."))


@cache
def load_compatibility() -> Compatibility:
    """The compatibility matrix of the catalog."""
    text = files(__package__).joinpath("compatibility.yaml").read_text(encoding="utf-8")
    return Compatibility.model_validate(yaml.load(text, Loader=yaml.CSafeLoader))
