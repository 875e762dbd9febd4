"""What the keys of one cluster say against each other."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from berth.config.cluster import MOST_REMOTE_NETWORKS
from berth.config.problems import Path, Problem
from berth.config.raw_values import is_a, is_new, items, mapping, network
from berth.config.values import MOST_NETWORKS, AvailabilityZone, Region

_IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

REMOTE_RANGES: Final = tuple(
    ipaddress.ip_network(each)
    for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)
"""RFC 1918 and carrier-grade NAT, the only ones that hybrid nodes and their pods may have.
Source: https://docs.aws.amazon.com/eks/latest/userguide/hybrid-nodes-networking.html"""


def cluster_problems(values: Mapping[str, object]) -> Iterator[Problem]:
    """Contradictions in `berth:cluster`, and a region that it needs."""
    cluster = mapping(values.get("cluster"))
    if values.get("region") is None and (is_new(cluster) or "eks_cluster" in cluster):
        fix = "add aws:region: <an AWS region>"
        made = "makes an EKS cluster" if is_new(cluster) else "makes nodes in EKS"
        yield Problem(("region",), f"missing, and the stack {made}", fix)
    cidrs = items(mapping(cluster.get("endpoint")).get("public_cidrs"))
    yield from _overlaps(("cluster", "endpoint", "public_cidrs"), cidrs[:MOST_NETWORKS])
    yield from _network(mapping(cluster.get("network")), values.get("region"))
    reference = mapping(cluster.get("eks_cluster"))
    path: Path = ("cluster", "eks_cluster", "subnet_ids")
    yield from _subnet_zones(path, reference.get("subnet_ids"), values.get("region"))
    if "hybrid" in cluster:
        yield from _hybrid(cluster)


def _network(config: Mapping[str, Any], region: object) -> Iterator[Problem]:
    path: Path = ("cluster", "network")
    if "vpc_id" in config and "nat_gateways" in config:
        fix = "remove it, because the VPC's owner has made its ways out"
        yield Problem((*path, "nat_gateways"), "given together with vpc_id", fix)
    for given, other in (("vpc_id", "subnet_ids"), ("subnet_ids", "vpc_id")):
        if given in config and other not in config:
            yield Problem((*path, other), f"missing beside {given}", f"add {other}")
    yield from _subnet_zones((*path, "subnet_ids"), config.get("subnet_ids"), region)


def _subnet_zones(path: Path, subnets: object, region: object) -> Iterator[Problem]:
    for zone in mapping(subnets):
        if is_a(AvailabilityZone, zone) and is_a(Region, region) and zone[:-1] != region:
            what = f"{zone} is not in aws:region {region}"
            yield Problem((*path, zone), what, f"write a zone such as {region}a")


def _hybrid(cluster: Mapping[str, Any]) -> Iterator[Problem]:
    if isinstance(cluster.get("endpoint"), Mapping):
        what = "public_cidrs opens the endpoint besides the private one, and hybrid nodes need one"
        yield Problem(("cluster", "endpoint"), what, "write endpoint: private")
    hybrid = mapping(cluster.get("hybrid"))
    path: Path = ("cluster", "hybrid")
    for key in ("node_cidrs", "pod_cidrs"):
        cidrs = items(hybrid.get(key))[:MOST_REMOTE_NETWORKS]
        yield from _overlaps((*path, key), cidrs)
        for index, each in enumerate(cidrs):
            yield from _remote((*path, key, index), network(each))
    nodes = _networks(items(hybrid.get("node_cidrs")))
    for index, pods in _networks(items(hybrid.get("pod_cidrs"))):
        for _, hosts in nodes:
            if hosts.version == pods.version and hosts.overlaps(pods):
                fix = "give pods a network of their own"
                what = f"{pods} overlaps {hosts} of node_cidrs"
                yield Problem((*path, "pod_cidrs", index), what, fix)


def _remote(path: Path, given: _IpNetwork | None) -> Iterator[Problem]:
    if given is None:
        return
    private = isinstance(given, ipaddress.IPv4Network) and any(
        given.subnet_of(each) for each in REMOTE_RANGES if each.version == 4
    )
    if not private:
        what = f"{given} is not a private IPv4 network, and hybrid nodes need one"
        yield Problem(path, what, f"give one in {', '.join(map(str, REMOTE_RANGES))}")


def _networks(cidrs: Sequence[object]) -> list[tuple[int, _IpNetwork]]:
    return [(index, found) for index, each in enumerate(cidrs) if (found := network(each))]


def _overlaps(path: Path, cidrs: list[Any]) -> Iterator[Problem]:
    networks = _networks(cidrs)
    for index, each in networks:
        wider = next(
            (
                other
                for position, other in networks
                if position != index
                and each.version == other.version
                and each.subnet_of(other)  # type: ignore[arg-type]
                and (each != other or position < index)
            ),
            None,
        )
        if wider is not None:
            yield Problem((*path, index), f"{each} is already part of {wider}", "remove it")
