"""What is asked of an account about one stack, as questions to the aws provider."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from berth.catalog.load import Catalog
from berth.config.capacity import CapacityBlock
from berth.config.cluster import ExistingEksCluster, SubnetsConfig
from berth.config.stack import EksTier, NewCluster, StackConfig
from berth.planner.account import OFFERED, offer_key
from berth.planner.quotas import quota_codes
from components.lookups import Question

ZONES = "zones"
CLUSTER = "cluster"


def account_questions(
    config: StackConfig, catalog: Catalog, region: str, subnet_ids: list[str]
) -> Iterator[tuple[str, Question]]:
    """Each question with the key of its answer: a quota code or subnet id where it is about one."""
    yield (
        ZONES,
        Question(
            function="aws:index/getAvailabilityZones:getAvailabilityZones",
            arguments={
                "region": region,
                "state": "available",
                "filters": [{"name": "opt-in-status", "values": ["opt-in-not-required"]}],
            },
            action="ec2:DescribeAvailabilityZones",
        ),
    )
    types = instance_types(config)
    if types:
        yield (
            OFFERED,
            Question(
                function="aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings",
                arguments={
                    "region": region,
                    "locationType": "availability-zone",
                    "filters": [{"name": "instance-type", "values": types}],
                },
                action="ec2:DescribeInstanceTypeOfferings",
            ),
        )
    for code in quota_codes(config, catalog):
        yield (
            code,
            Question(
                function="aws:servicequotas/getServiceQuota:getServiceQuota",
                arguments={"serviceCode": "ec2", "quotaCode": code, "region": region},
                action="servicequotas:GetServiceQuota",
            ),
        )
    for subnet_id in subnet_ids:
        yield (
            subnet_id,
            Question(
                function="aws:ec2/getSubnet:getSubnet",
                arguments={"id": subnet_id, "region": region},
                action="ec2:DescribeSubnets",
            ),
        )
    if isinstance(config.cluster, ExistingEksCluster):
        yield (
            CLUSTER,
            Question(
                function="aws:eks/getCluster:getCluster",
                arguments={"name": config.cluster.eks_cluster.name, "region": region},
                action="eks:DescribeCluster",
            ),
        )
    for name, tier, block in bought_blocks(config):
        yield offer_key(name), _offer_question(tier, block, region)


def instance_types(config: StackConfig) -> list[str]:
    """What the stack wants EC2 to start, each once."""
    return sorted({t.instance_type for t in config.tiers.values() if isinstance(t, EksTier)})


def subnets_of(cluster: NewCluster | ExistingEksCluster) -> SubnetsConfig | None:
    """The subnets that the stack names; None where it makes them."""
    if isinstance(cluster, ExistingEksCluster):
        return cluster.eks_cluster.subnet_ids
    return cluster.network.subnet_ids if cluster.network else None


def subnet_ids_of(cluster: NewCluster | ExistingEksCluster) -> list[str]:
    """Their ids; none where the stack makes them."""
    given = subnets_of(cluster)
    return list(given.values() if isinstance(given, Mapping) else given or ())


def bought_blocks(config: StackConfig) -> Iterator[tuple[str, EksTier, CapacityBlock]]:
    """The tiers whose block the stack buys."""
    for name, tier in config.tiers.items():
        block = tier.capacity if isinstance(tier, EksTier) else None
        if isinstance(tier, EksTier) and isinstance(block, CapacityBlock) and block.purchase:
            yield name, tier, block


def _offer_question(tier: EksTier, block: CapacityBlock, region: str) -> Question:
    return Question(
        function="aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering",
        arguments={
            "instanceType": tier.instance_type,
            "instanceCount": block.instance_count,
            "capacityDurationHours": (block.ends_at - block.starts_at) // timedelta(hours=1),
            "startDateRange": block.starts_at.isoformat(),
            "endDateRange": block.ends_at.isoformat(),
            "region": region,
        },
        action="ec2:DescribeCapacityBlockOfferings",
    )
