"""What stands around the nodes: control planes, keys, gateways, addresses, endpoints."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import date

from berth.catalog.software import Kubernetes
from berth.costs import kinds
from berth.costs.bought import Bought
from berth.costs.estimate import Unpriced
from berth.costs.resources.resource import Declared
from berth.costs.resources.values import NotShownError, items, text

CLUSTER = "aws:eks/cluster:Cluster"
KMS_KEY = "aws:kms/key:Key"
NAT_GATEWAY = "aws:ec2/natGateway:NatGateway"
ELASTIC_IP = "aws:ec2/eip:Eip"
VPC_ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
LOAD_BALANCER = "aws:lb/loadBalancer:LoadBalancer"
BALANCER_TYPES = frozenset(
    {LOAD_BALANCER, "aws:alb/loadBalancer:LoadBalancer"}  # the second: an older name
)

AROUND_TYPES = BALANCER_TYPES | {CLUSTER, KMS_KEY, NAT_GATEWAY, ELASTIC_IP, VPC_ENDPOINT}

ByType = Mapping[str, list[Declared]]


def around(by_type: ByType, kubernetes: Kubernetes, day: date) -> Iterator[Bought | Unpriced]:
    """Everything but nodes, alike things together in one line.

    Args:
        by_type: the resources of one side.
        kubernetes: until when EKS supports its versions.
        day: of the estimate.
    """
    yield from _clusters(by_type, kubernetes, day)
    for read in (_keys, _gateways, _addresses, _endpoints, _balancers):
        yield from read(by_type)


def _clusters(by_type: ByType, kubernetes: Kubernetes, day: date) -> Iterator[Bought | Unpriced]:
    versions: Counter[tuple[str, bool]] = Counter()
    for cluster in by_type.get(CLUSTER, ()):
        try:
            version = text(cluster.inputs, "version") or text(cluster.outputs, "version") or ""
            is_upgraded = text(cluster.inputs, "upgradePolicy", "supportType") == "STANDARD"
        except NotShownError as error:
            yield Unpriced(resource=cluster.name, reason=f"version: {error}")
            continue
        extended = bool(version) and not is_upgraded and kubernetes.is_extended(version, day)
        versions[version, extended] += 1
    for (version, extended), clusters in versions.items():
        yield kinds.control_planes(version or "of the day", clusters, extended=extended)


def _balancers(by_type: ByType) -> Iterator[Bought | Unpriced]:
    for token in sorted(BALANCER_TYPES):
        for balancer in by_type.get(token, ()):
            try:
                kind = text(balancer.inputs, "loadBalancerType") or "application"
            except NotShownError as error:
                yield Unpriced(resource=balancer.name, reason=f"loadBalancerType: {error}")
                continue
            known = kinds.BALANCER_KINDS.get(kind)
            if known is not None:
                yield kinds.load_balancers(known, balancer.name)
            else:
                reason = f"no price of a load balancer of the type {kind} is kept"
                yield Unpriced(resource=balancer.name, reason=reason)


def _keys(by_type: ByType) -> Iterator[Bought]:
    of_clusters = {
        urn
        for cluster in by_type.get(CLUSTER, ())
        for urn in cluster.links.get("encryptionConfig", ())
    }
    for key in by_type.get(KMS_KEY, ()):
        if key.urn in of_clusters:
            yield kinds.kms_keys(kinds.CLUSTER_KEY, "cluster")
        else:
            yield kinds.kms_keys("without requests", key.name)


def _gateways(by_type: ByType) -> Iterator[Bought]:
    count = len(by_type.get(NAT_GATEWAY, ()))
    if count:
        yield kinds.nat_gateways(count)


def _addresses(by_type: ByType) -> Iterator[Bought]:
    of_gateways = {
        urn
        for gateway in by_type.get(NAT_GATEWAY, ())
        for urn in gateway.links.get("allocationId", ())
    }
    addresses = by_type.get(ELASTIC_IP, [])
    with_gateway = sum(each.urn in of_gateways for each in addresses)
    if with_gateway:
        yield kinds.public_addresses(with_gateway)
    if len(addresses) > with_gateway:
        yield kinds.public_addresses(len(addresses) - with_gateway, "in use or idle")


def _endpoints(by_type: ByType) -> Iterator[Bought | Unpriced]:
    services: dict[int, list[str]] = defaultdict(list)
    for endpoint in by_type.get(VPC_ENDPOINT, ()):
        try:
            if (text(endpoint.inputs, "vpcEndpointType") or "Gateway") == "Gateway":
                continue
            zones = len(items(endpoint.inputs, "subnetIds")) or 1
            service = text(endpoint.inputs, "serviceName") or endpoint.name
        except NotShownError as error:
            yield Unpriced(resource=endpoint.name, reason=str(error))
            continue
        services[zones].append(_short(service))
    for zones, names in services.items():
        yield kinds.interface_endpoints(sorted(names), zones)


def _short(service: str) -> str:
    """`com.amazonaws.us-east-1.ecr.api` without what all have in common."""
    parts = service.split(".")
    return ".".join(parts[3:]) if parts[:2] == ["com", "amazonaws"] and len(parts) > 3 else service
