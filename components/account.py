"""What only the account knows, asked before planning.

Nothing else in this folder looks anything up. What may not be read, or cannot be read
here, stays unread, and the plan says so with the reason.
"""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from berth.catalog.load import Catalog
from berth.config.cluster import ExistingEksCluster
from berth.config.stack import ExistingCluster, NewCluster, StackConfig
from berth.planner.account import OFFERED, Account, BlockOffer, Subnet, offer_key
from berth.planner.account_words import OFFLINE, Unread
from berth.planner.plan import EksClusterFacts
from berth.planner.quotas import quota_codes
from components.account_questions import (
    CLUSTER,
    ZONES,
    account_questions,
    bought_blocks,
    instance_types,
    subnet_ids_of,
    subnets_of,
)
from components.lookups import Answer, ask

DEFAULT_SERVICE_CIDR = "10.100.0.0/16"
"""Source: https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html"""
EMPTY = Unread(reason="AWS gives no answer that is of use", fix="see what the account shows")


class AccountError(ValueError):
    """What cannot be planned without was not read; `lines` says what, why and what to do."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def look_up_account(config: StackConfig, catalog: Catalog) -> Account:
    """The account in the stack's region, where the stack makes anything in it.

    Raises:
        AccountError: if zones, or an EKS cluster that the stack names, were not read: a guess would
            put subnets and nodes where they do not belong.
    """
    region, cluster = config.region, config.cluster
    if isinstance(cluster, ExistingCluster) or region is None:
        return Account.assumed(region, catalog)
    subnet_ids = subnet_ids_of(cluster)
    answers = ask(dict(account_questions(config, catalog, region, subnet_ids)))
    _check(config, region, cluster, answers)
    unread = {key: each for key, each in answers.items() if isinstance(each, Unread)}
    read: dict[str, Answer] = {
        key: each for key, each in answers.items() if not isinstance(each, Unread)
    }
    return Account(
        availability_zones=tuple(read.get(ZONES, {}).get("names") or ())
        or Account.assumed(region, catalog).availability_zones,
        offered=_offered(config, read[OFFERED]) if OFFERED in read else None,
        quotas_vcpu=_quotas(quota_codes(config, catalog), read, unread),
        subnets={each: _subnet(read[each]) for each in subnet_ids if each in read},
        eks_cluster=_eks_cluster(cluster, read),
        block_offers=_block_offers(config, read, unread),
        unread={key: str(each) for key, each in unread.items() if each is not OFFLINE},
    )


def _check(
    config: StackConfig,
    region: str,
    cluster: NewCluster | ExistingEksCluster,
    answers: Mapping[str, Answer | Unread],
) -> None:
    """Raises AccountError where planning would have to guess."""
    for answer in answers.values():
        if isinstance(answer, Unread) and answer.credentials:
            raise AccountError([f"AWS account in {region}: {answer}"])
    lines: list[str] = []
    zones = answers[ZONES]
    given = subnets_of(cluster)
    if given is None:
        if isinstance(zones, Unread):
            fix = f"{zones.fix}, or name subnets in berth:cluster.network.subnet_ids"
            lines.append(f"aws:region: the zones of {region} were not read: {zones.reason}; {fix}")
        elif not zones.get("names"):
            what = f"the account may use no zone of {region}"
            lines.append(f"aws:region: {what}; enable the region in the account, or name another")
    key = "cluster.eks_cluster" if isinstance(cluster, ExistingEksCluster) else "cluster.network"
    for subnet_id in () if isinstance(given, Mapping) else given or ():
        answer = answers[subnet_id]
        if isinstance(answer, Unread):
            lines.append(
                f"berth:{key}.subnet_ids: the zone of {subnet_id} was not read: {answer.reason}; "
                f"{answer.fix}, or write it as {{<zone>: {subnet_id}}}"
            )
    if isinstance(cluster, ExistingEksCluster):
        described, name = answers[CLUSTER], cluster.eks_cluster.name
        where = "berth:cluster.eks_cluster.name"
        if isinstance(described, Unread):
            lines.append(f"{where}: {name} in {region} was not read: {described}")
        elif not described.get("endpoint") or not described.get("certificateAuthorities"):
            what = f"{name} in {region} has no endpoint yet"
            lines.append(f"{where}: {what}; wait until it is ACTIVE, or name another")
    if lines:
        raise AccountError(lines)


def _offered(config: StackConfig, found: Answer) -> Mapping[str, frozenset[str]]:
    types, zones = found.get("instanceTypes") or (), found.get("locations") or ()
    pairs = list(zip(types, zones, strict=True))
    return {
        each: frozenset(zone for name, zone in pairs if name == each)
        for each in instance_types(config)
    }


def _quotas(
    codes: list[str], read: Mapping[str, Answer], unread: dict[str, Unread]
) -> Mapping[str, Decimal]:
    found: dict[str, Decimal] = {}
    for code in codes:
        value = read.get(code, {}).get("value")
        if isinstance(value, int | float):
            found[code] = Decimal(str(value))
        elif code in read:
            unread[code] = EMPTY
    return found


def _subnet(found: Answer) -> Subnet:
    """Zone and free addresses of a subnet."""
    free = found.get("availableIpAddressCount")
    return Subnet(
        zone=str(found["availabilityZone"]), free_addresses=None if free is None else int(free)
    )


def _eks_cluster(
    cluster: NewCluster | ExistingEksCluster, read: Mapping[str, Answer]
) -> EksClusterFacts | None:
    if not isinstance(cluster, ExistingEksCluster):
        return None
    found = read[CLUSTER]
    networks = found.get("kubernetesNetworkConfigs") or [{}]
    return EksClusterFacts(
        name=cluster.eks_cluster.name,
        arn=found["arn"],
        endpoint=found["endpoint"],
        certificate_authority=found["certificateAuthorities"][0]["data"],
        vpc_id=found["vpcConfig"]["vpcId"],
        security_group_id=found["vpcConfig"]["clusterSecurityGroupId"],
        service_cidr=networks[0].get("serviceIpv4Cidr") or DEFAULT_SERVICE_CIDR,
        kubernetes_version=found.get("version"),
    )


def _block_offers(
    config: StackConfig, read: Mapping[str, Answer], unread: dict[str, Unread]
) -> Mapping[str, BlockOffer]:
    """What AWS asks now for the blocks that the stack buys, where it asks in USD."""
    offers: dict[str, BlockOffer] = {}
    for name, _tier, _block in bought_blocks(config):
        key = offer_key(name)
        if key not in read:
            continue
        offer = _block_offer(read[key])
        if offer is None:
            unread[key] = EMPTY
        else:
            offers[name] = offer
    return offers


def _block_offer(found: Answer) -> BlockOffer | None:
    if found.get("currencyCode", "USD") != "USD":
        return None
    try:
        fee = Decimal(str(found.get("upfrontFee")))
    except InvalidOperation:
        return None
    if not fee.is_finite():
        return None
    return BlockOffer(
        fee_usd=fee,
        availability_zone=str(found.get("availabilityZone")),
        offering_id=found.get("capacityBlockOfferingId"),
    )
