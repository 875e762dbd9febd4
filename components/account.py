"""What only the account knows, asked before planning.

Nothing else in this folder looks anything up. What may not be read, or cannot be read
here, stays unread, and the plan says so.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

import pulumi_aws as aws

from berth.catalog.load import Catalog
from berth.config.capacity import CapacityBlock
from berth.config.cluster import ExistingEksCluster, SubnetsConfig
from berth.config.stack import EksTier, ExistingCluster, NewCluster, StackConfig
from berth.planner.account import Account, BlockOffer, Subnet
from berth.planner.plan import EksClusterFacts
from berth.planner.quotas import quota_codes

Answer = TypeVar("Answer")

DEFAULT_SERVICE_CIDR = "10.100.0.0/16"
"""Source: https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html"""


def look_up_account(config: StackConfig, catalog: Catalog) -> Account:
    """The account in the stack's region, where the stack makes anything in it."""
    region, cluster = config.region, config.cluster
    if isinstance(cluster, ExistingCluster) or region is None:
        return Account.assumed(region, catalog)
    zones = aws.get_availability_zones(
        region=region,
        state="available",
        filters=[{"name": "opt-in-status", "values": ["opt-in-not-required"]}],
    )
    return Account(
        availability_zones=tuple(zones.names),
        offered=_offered(config, region),
        quotas_vcpu={
            code: value
            for code in quota_codes(config, catalog)
            if (value := _read(partial(_quota, code, region))) is not None
        },
        subnets=_subnets(_subnets_of(cluster), region),
        eks_cluster=_eks_cluster(cluster, region),
        block_offers=_block_offers(config, region),
    )


def _read(ask: Callable[[], Answer]) -> Answer | None:
    """The answer, or None where it cannot be had; the SDK knows one kind of exception only."""
    try:
        return ask()
    except Exception:
        return None


def _offered(config: StackConfig, region: str) -> Mapping[str, frozenset[str]] | None:
    types = sorted({t.instance_type for t in config.tiers.values() if isinstance(t, EksTier)})
    if not types:
        return None
    found = _read(
        lambda: aws.ec2.get_instance_type_offerings(
            region=region,
            location_type="availability-zone",
            filters=[{"name": "instance-type", "values": types}],
        )
    )
    if found is None:
        return None
    pairs = list(zip(found.instance_types, found.locations, strict=True))
    return {each: frozenset(zone for name, zone in pairs if name == each) for each in types}


def _quota(code: str, region: str) -> Decimal:
    quota = aws.servicequotas.get_service_quota(service_code="ec2", quota_code=code, region=region)
    return Decimal(str(quota.value))


def _subnets_of(cluster: NewCluster | ExistingEksCluster) -> SubnetsConfig | None:
    if isinstance(cluster, ExistingEksCluster):
        return cluster.eks_cluster.subnet_ids
    return cluster.network.subnet_ids if cluster.network else None


def _subnets(given: SubnetsConfig | None, region: str) -> Mapping[str, Subnet]:
    """Zone and free addresses of each subnet that can be read."""
    ids = list(given.values() if isinstance(given, Mapping) else given or ())
    found: dict[str, Subnet] = {}
    for subnet_id in ids:
        read: Any = _read(partial(aws.ec2.get_subnet, id=subnet_id, region=region))
        if read is not None:
            found[subnet_id] = Subnet(
                zone=read.availability_zone, free_addresses=read.available_ip_address_count
            )
    return found


def _eks_cluster(cluster: NewCluster | ExistingEksCluster, region: str) -> EksClusterFacts | None:
    """Without it nothing can be put on the cluster, so here an error ends the program."""
    if not isinstance(cluster, ExistingEksCluster):
        return None
    found = aws.eks.get_cluster(name=cluster.eks_cluster.name, region=region)
    networks = found.kubernetes_network_configs
    return EksClusterFacts(
        name=cluster.eks_cluster.name,
        arn=found.arn,
        endpoint=found.endpoint,
        certificate_authority=found.certificate_authorities[0].data,
        vpc_id=found.vpc_config.vpc_id,
        security_group_id=found.vpc_config.cluster_security_group_id,
        service_cidr=(networks[0].service_ipv4_cidr if networks else "") or DEFAULT_SERVICE_CIDR,
    )


def _block_offers(config: StackConfig, region: str) -> Mapping[str, BlockOffer]:
    """What AWS asks now for the blocks that the stack buys."""
    offers: dict[str, BlockOffer] = {}
    for name, tier in config.tiers.items():
        if not isinstance(tier, EksTier) or not isinstance(tier.capacity, CapacityBlock):
            continue
        if tier.capacity.purchase is not None:
            offer = _read(partial(_offer, tier, tier.capacity, region))
            if offer is not None:
                offers[name] = offer
    return offers


def _offer(tier: EksTier, block: CapacityBlock, region: str) -> BlockOffer:
    found = aws.ec2.get_capacity_block_offering(
        instance_type=tier.instance_type,
        instance_count=block.instance_count,
        capacity_duration_hours=(block.ends_at - block.starts_at) // timedelta(hours=1),
        start_date_range=block.starts_at.isoformat(),
        end_date_range=block.ends_at.isoformat(),
        region=region,
    )
    return BlockOffer(fee_usd=Decimal(found.upfront_fee), availability_zone=found.availability_zone)
