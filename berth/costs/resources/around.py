"""What stands around the nodes: control planes, keys, gateways, addresses, endpoints."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping

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

AROUND_TYPES = frozenset({CLUSTER, KMS_KEY, NAT_GATEWAY, ELASTIC_IP, VPC_ENDPOINT})

ByType = Mapping[str, list[Declared]]


def around(by_type: ByType) -> Iterator[Bought | Unpriced]:
    """Everything but nodes, alike things together in one line."""
    for read in (_clusters, _keys, _gateways, _addresses, _endpoints):
        yield from read(by_type)


def _clusters(by_type: ByType) -> Iterator[Bought | Unpriced]:
    versions: Counter[str] = Counter()
    for cluster in by_type.get(CLUSTER, ()):
        try:
            versions[text(cluster.inputs, "version") or text(cluster.outputs, "version") or ""] += 1
        except NotShownError as error:
            yield Unpriced(resource=cluster.name, reason=f"version: {error}")
    for version, clusters in versions.items():
        yield kinds.control_planes(version or "of the day", clusters)


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


Reader = Callable[[ByType], Iterator[Bought | Unpriced]]
