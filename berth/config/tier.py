"""Pools of identical GPU nodes: those that the stack makes, and those of their owners."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Discriminator, Tag

from berth.config.capacity import CapacityConfig
from berth.config.model import Config
from berth.config.values import (
    AmiId,
    DiskGib,
    GpuCount,
    MigProfileName,
    NodeCount,
    NodeCountOrNone,
    Text,
    Usd,
    VcpuCount,
)
from berth.config.wanted import Wanted


class EksTier(Config):
    """A pool of identical GPU nodes that this stack makes: an EKS managed node group."""

    source: Literal["eks"] = "eks"
    """`eks`: nodes that this stack makes."""
    instance_type: Annotated[Text, Wanted("an instance type", "p5.48xlarge")]
    """As the cloud spells it; a key of the catalog's instance types."""
    capacity: CapacityConfig
    """How the instances are bought."""
    min_nodes: NodeCountOrNone = 0
    """Nodes that run at any time; of a block, those that plan and cost count with."""
    max_nodes: NodeCount
    """Nodes that the autoscaler never exceeds; at most `instance_count` of a block."""
    root_disk_gib: DiskGib | None = None
    """Disk of each node; left out, the planner sizes it for images and weights."""
    ami_type: Annotated[Text, Wanted("an EKS AMI type", "AL2023_x86_64_NVIDIA")] | None = None
    """EKS AMI type; left out: the catalog's first for the instance type."""
    ami_id: AmiId | None = None
    """An AMI of one's own, built on AL2023; `g7` types need one with driver 595."""
    mig_profile: MigProfileName | None = None
    """Every GPU of the pool is cut into slices of this MIG profile, and a replica takes one."""


class ExistingTier(Config):
    """GPU nodes that somebody else runs in a cluster that exists."""

    source: Literal["existing"]
    """`existing`: nodes that are there already."""
    gpu: Annotated[Text, Wanted("a GPU of the catalog", "MI300X")]
    """A GPU key of the catalog, or its everyday short name."""
    gpus_per_node: GpuCount
    """GPUs that one node has."""
    nodes: NodeCount
    """Nodes of this kind in the cluster."""
    usd_per_gpu_hour: Usd | None = None
    """What the owner pays; left out, the tier has no price and the total is "at least"."""


class HybridTier(Config):
    """GPU hosts of one's own that join the stack's EKS cluster as hybrid nodes."""

    source: Literal["hybrid"]
    """`hybrid`: hosts that join from outside AWS."""
    hosts: Annotated[Literal["own", "rented"], Wanted("own or rented", "own")]
    """`own`: owned or colocated; AWS does not support hybrid nodes in another cloud."""
    gpu: Annotated[Text, Wanted("a GPU of the catalog", "MI300X")]
    """A GPU key of the catalog, or its everyday short name."""
    gpus_per_node: GpuCount
    """GPUs that one host has."""
    vcpus_per_node: VcpuCount
    """vCPUs that a host reports; bare metal counts two for each core. EKS bills them."""
    nodes: NodeCount
    """Hosts of this kind."""
    usd_per_gpu_hour: Usd | None = None
    """What a GPU costs the owner; left out, the total is "at least"."""


def _chosen(value: object) -> object:
    """The source given, else the one whose keys are there."""
    if isinstance(value, Mapping):
        if "source" in value:
            return value["source"]
        if "hosts" in value or "vcpus_per_node" in value:
            return "hybrid"
        return "existing" if "gpu" in value else "eks"
    return value.source if isinstance(value, ExistingTier | HybridTier) else "eks"


TierConfig = Annotated[
    Annotated[EksTier, Tag("eks")]
    | Annotated[ExistingTier, Tag("existing")]
    | Annotated[HybridTier, Tag("hybrid")],
    Discriminator(_chosen),
    Wanted("a tier", "{instance_type: g6.xlarge, capacity: {type: ON_DEMAND}, max_nodes: 1}"),
]
