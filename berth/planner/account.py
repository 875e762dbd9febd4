"""What only an AWS account knows, as plain data: looked up before planning, or assumed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Self

from berth.catalog.load import Catalog
from berth.config.stack import NewCluster, StackConfig
from berth.planner.plan import EksClusterFacts

OFFERED: Final = "offered"
"""Key of what was asked about the zones of every instance type."""


def offer_key(tier: str) -> str:
    """Key of what was asked about the block that a tier buys."""
    return f"offer {tier}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """A subnet that exists."""

    zone: str
    free_addresses: int | None = None
    """None: not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockOffer:
    """What a Capacity Block would cost now."""

    fee_usd: Decimal
    availability_zone: str
    offering_id: str | None = None
    """What AWS calls it today; an older id is no longer sold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One account in one region. What was not read is None, or missing from its mapping."""

    availability_zones: tuple[str, ...]
    """Zones that the account may use, such as `us-east-1a`; empty if the region is not known."""
    offered: Mapping[str, frozenset[str]] | None = None
    """Zones that offer each instance type of the stack."""
    quotas_vcpu: Mapping[str, Decimal] = field(default_factory=dict)
    """vCPUs by quota code."""
    subnets: Mapping[str, Subnet] = field(default_factory=dict)
    """By id, those that the stack names."""
    eks_cluster: EksClusterFacts | None = None
    """The EKS cluster that the stack names."""
    block_offers: Mapping[str, BlockOffer] = field(default_factory=dict)
    """By tier, for tiers that buy a block."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Why not, and what to do: by quota code, subnet id, `OFFERED` or `offer_key`."""

    @classmethod
    def assumed(cls, region: str | None, catalog: Catalog) -> Self:
        """An account that may use every zone of `region`, where none can be asked."""
        known = catalog.regions.get(region) if region else None
        letters = known.zones if known else ()
        return cls(availability_zones=tuple(f"{region}{letter}" for letter in letters))


def kubernetes_version(config: StackConfig, account: Account) -> str | None:
    """The minor version of the stack's cluster; None where nobody said or read it."""
    if isinstance(config.cluster, NewCluster):
        return config.cluster.kubernetes_version
    return account.eks_cluster.kubernetes_version if account.eks_cluster else None
