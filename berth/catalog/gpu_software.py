"""What GPU software needs of each other: drivers, CUDA, images, node images and charts."""

import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Annotated

import yaml
from pydantic import Field

from berth.catalog.entry import Entry, Source

VersionText = Annotated[str, Field(pattern=r"^v?\d+(\.\d+)*$")]


class CudaDriver(Entry):
    """Drivers of one CUDA toolkit on Linux."""

    released: VersionText | None = None
    """Came with it; None: not confirmed."""


class CudaDrivers(Entry):
    """By CUDA version."""

    source: Source
    versions: Mapping[VersionText, CudaDriver]


class CudaFromVersion(Entry):
    """CUDA of images from one engine version on."""

    version: VersionText
    cuda: VersionText


class VllmImages(Entry):
    """The engine's own images, oldest first."""

    source: Source
    repository: str
    cuda_from: tuple[CudaFromVersion, ...]
    first_without_volta: VersionText
    """Version from which on the images hold no kernels for compute capability 7.0."""
    x86_only_tags: tuple[str, ...]


class CudaFromMonth(Entry):
    """CUDA of NGC images from one month on."""

    month: Annotated[str, Field(pattern=r"^\d\d\.\d\d$")]
    cuda: VersionText
    confirmed: bool = False
    """Read in NVIDIA's own list."""


class NgcImages(Entry):
    """Images that NVIDIA names by month, oldest first."""

    source: Source
    cuda_from: tuple[CudaFromMonth, ...]


class DriverFromDay(Entry):
    """Driver of a node image from one day on."""

    day: date
    driver: VersionText


class EksNvidiaAmi(Entry):
    """The AL2023 NVIDIA image, oldest first."""

    source: Source
    drivers_from: tuple[DriverFromDay, ...]


class GpuOperator(Entry):
    """What versions of its chart bring."""

    source: Source
    drivers: Mapping[VersionText, VersionText]
    first_with_cdi: VersionText
    first_with_fixed_toolkit: VersionText


class GpuSoftware(Entry):
    """The whole file."""

    cuda_drivers: CudaDrivers
    vllm_images: VllmImages
    ngc_images: NgcImages
    eks_nvidia_ami: EksNvidiaAmi
    gpu_operator: GpuOperator


@cache
def load_gpu_software() -> GpuSoftware:
    """Everything of the file."""
    text = files(__package__).joinpath("gpu_software.yaml").read_text(encoding="utf-8")
    return GpuSoftware.model_validate(yaml.load(text, Loader=yaml.CSafeLoader))


def version_parts(text: str) -> tuple[int, ...]:
    """`v25.3.1-rc1` as (25, 3, 1); empty where the text is no version."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text.strip())
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def is_older(version: str, than: str) -> bool:
    """Whether a version is older, compared in as many parts as both give."""
    pairs = zip(version_parts(version), version_parts(than), strict=False)
    return next((a < b for a, b in pairs if a != b), False)
