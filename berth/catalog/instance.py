"""EC2 instance types: what a node of each holds, where it is seen and which quota counts it."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

import yaml
from pydantic import Field, TypeAdapter

from berth.catalog.entry import Entry, Source

Region = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
QuotaCode = Annotated[str, Field(pattern=r"^L-[0-9A-F]{8}$")]

AmiType = Literal[
    "AL2023_ARM_64_NVIDIA",
    "AL2023_x86_64_NVIDIA",
    "AL2023_x86_64_STANDARD",
    "BOTTLEROCKET_ARM_64_NVIDIA",
    "BOTTLEROCKET_x86_64_NVIDIA",
    "CUSTOM",
]
"""The values of an EKS node group's `ami_type` that the catalog uses."""


class Instance(Entry):
    """One EC2 instance type."""

    gpu: str | None = None
    """Key of the GPU in the catalog; None without a GPU."""
    gpu_count: Annotated[int, Field(ge=0, le=16)] = 0
    vcpu: Annotated[int, Field(ge=1)]
    memory_gib: Annotated[int, Field(ge=1)]
    """As sold; a node sees less."""
    cpu_arch: Literal["x86_64", "arm64"]
    local_nvme_gb: Annotated[int, Field(ge=0)]
    """All instance-store disks together, in units of 1000."""
    efa_interfaces: Annotated[int, Field(ge=0)]
    efa_on_first_card: bool = True
    """The network card that carries the instance's address has an EFA interface too."""
    numa_nodes: Annotated[int, Field(ge=1)] | None = None
    """NUMA nodes, between which the GPUs are divided evenly; None: not read."""
    scarce: bool = False
    """Usually not obtainable on demand."""
    max_pods: Annotated[int, Field(ge=1, le=250)]
    """Per node in a managed node group with the stock AMI."""
    ami_types: Annotated[tuple[AmiType, ...], Field(min_length=1)]
    """EKS AMI types that run on it, the preferred one first."""
    quota_code_on_demand: QuotaCode
    """Counted in vCPU, per region."""
    quota_code_spot: QuotaCode | None = None
    regions: tuple[Region, ...] = ()
    """Where a list price or an offering was seen."""
    capacity_block_regions: tuple[Region, ...] = ()
    """Where Capacity Blocks are said to be sold."""
    note: str | None = None
    source: Source


@cache
def load_instances() -> Mapping[str, Instance]:
    """All instance types by their EC2 name."""
    text = files(__package__).joinpath("instances.yaml").read_text(encoding="utf-8")
    data = yaml.load(text, Loader=yaml.CSafeLoader)  # the C form of SafeLoader
    return TypeAdapter(dict[str, Instance]).validate_python(data["instances"])
