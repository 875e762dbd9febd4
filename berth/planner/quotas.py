"""vCPU quotas: which one counts a tier, and how much of it the stack may use at most."""

from collections.abc import Mapping
from dataclasses import dataclass

from berth.catalog.instance import Instance
from berth.catalog.load import Catalog
from berth.config.capacity import CapacityBlock, SpotCapacity
from berth.config.stack import EksTier, StackConfig

QUOTA_NAMES: Mapping[str, str] = {
    "L-DB2E81BA": "Running On-Demand G and VT instances",
    "L-417A185B": "Running On-Demand P instances",
    "L-3819A6DF": "All G and VT Spot Instance Requests",
    "L-7212CCBC": "All P4, P3 and P2 Spot Instance Requests",
    "L-C4BD4855": "All P5 Spot Instance Requests",
}
"""Source: https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html"""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaNeed:
    """What the tiers that share a quota need of it together."""

    code: str
    tiers: Mapping[str, int]
    """vCPUs by tier, at the most nodes."""

    @property
    def vcpu(self) -> int:
        """Of all its tiers together."""
        return sum(self.tiers.values())

    @property
    def words(self) -> str:
        """Name and code."""
        name = QUOTA_NAMES.get(self.code)
        return f"{self.code} ({name})" if name else self.code


def quota_needs(config: StackConfig, catalog: Catalog) -> list[QuotaNeed]:
    """One for each quota; blocks count against none.

    Source:
        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html
    """
    by_code: dict[str, dict[str, int]] = {}
    for name, tier in config.tiers.items():
        instance = catalog.instances.get(tier.instance_type) if isinstance(tier, EksTier) else None
        code = _code(tier, instance) if isinstance(tier, EksTier) and instance else None
        if code is None or not isinstance(tier, EksTier) or instance is None:
            continue
        largest = _most_vcpu(tier, instance, catalog)
        by_code.setdefault(code, {})[name] = largest * tier.max_nodes
    return [QuotaNeed(code=code, tiers=tiers) for code, tiers in by_code.items()]


def quota_codes(config: StackConfig, catalog: Catalog) -> list[str]:
    """The quotas that count a tier of the stack."""
    return [need.code for need in quota_needs(config, catalog)]


def _code(tier: EksTier, instance: Instance) -> str | None:
    if isinstance(tier.capacity, CapacityBlock):
        return None
    if isinstance(tier.capacity, SpotCapacity):
        return instance.quota_code_spot
    return instance.quota_code_on_demand


def _most_vcpu(tier: EksTier, instance: Instance, catalog: Catalog) -> int:
    """The vCPUs of the largest type that the tier may start."""
    others = tier.capacity.instance_types if isinstance(tier.capacity, SpotCapacity) else ()
    known = (catalog.instances[each].vcpu for each in others if each in catalog.instances)
    return max([instance.vcpu, *known])
