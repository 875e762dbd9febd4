"""What two places of one stack file say against each other. What needs the catalog is not here.

The checks read raw values, so that they also speak while another part of the file is wrong.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from berth.config.nearest import did_you_mean
from berth.config.problems import Path, Problem, plain
from berth.config.values import MOST_NETWORKS, AvailabilityZone, Moment, Name, Region

MOST_NAMES = 10
"""Of tiers listed in a message."""


def cross_checks(values: Mapping[str, object]) -> list[Problem]:
    """Contradictions in a stack, with their paths in the vocabulary."""
    return [
        *_cluster(values),
        *(problem for name, tier in _tiers(values) for problem in _tier(name, tier, values)),
        *_models(values),
    ]


def _cluster(values: Mapping[str, object]) -> Iterator[Problem]:
    cluster = _mapping(values.get("cluster"))
    if values.get("region") is None and _is_new(cluster):
        fix = "add aws:region: <an AWS region>"
        yield Problem(("region",), "missing, and the stack makes an EKS cluster", fix)
    cidrs = _mapping(cluster.get("endpoint")).get("public_cidrs")
    yield from _overlaps(cidrs[:MOST_NETWORKS] if isinstance(cidrs, list) else [])


def _overlaps(cidrs: list[Any]) -> Iterator[Problem]:
    networks = [(index, network) for index, each in enumerate(cidrs) if (network := _network(each))]
    for index, network in networks:
        wider = next(
            (
                other
                for position, other in networks
                if position != index
                and network.version == other.version
                and network.subnet_of(other)  # type: ignore[arg-type]
                and (network != other or position < index)
            ),
            None,
        )
        if wider is not None:
            path = ("cluster", "endpoint", "public_cidrs", index)
            yield Problem(path, f"{network} is already part of {wider}", "remove it")


def _tier(name: str, tier: Mapping[str, Any], values: Mapping[str, object]) -> Iterator[Problem]:
    path: Path = ("tiers", name)
    region = values.get("region")
    capacity = _mapping(tier.get("capacity"))
    least, most, count = (
        _whole(each)
        for each in (tier.get("min_nodes"), tier.get("max_nodes"), capacity.get("instance_count"))
    )
    if least is not None and most is not None and least > most:
        fix = f"lower it to {most}, or raise max_nodes"
        yield Problem((*path, "min_nodes"), f"{least} is above max_nodes {most}", fix)
    if most is not None and count is not None and most > count:
        fix = f"lower it to {count}, because a block has no more instances"
        what = f"{most} is above capacity.instance_count {count}"
        yield Problem((*path, "max_nodes"), what, fix)
    yield from _block((*path, "capacity"), capacity, region)
    yield from _place(path, tier, _mapping(values.get("cluster")))


def _block(path: Path, capacity: Mapping[str, Any], region: object) -> Iterator[Problem]:
    zone = capacity.get("availability_zone")
    both_right = _is(AvailabilityZone, zone) and _is(Region, region)
    if both_right and str(zone)[:-1] != region:
        what = f"{zone} is not in aws:region {region}"
        fix = f"write a zone such as {region}a, or change aws:region"
        yield Problem((*path, "availability_zone"), what, fix)
    starts_at, ends_at = _moment(capacity.get("starts_at")), _moment(capacity.get("ends_at"))
    if starts_at and ends_at and starts_at >= ends_at:
        what = f"{_iso(starts_at)} is not before ends_at {_iso(ends_at)}"
        yield Problem((*path, "starts_at"), what, "exchange them, or correct one")


def _place(path: Path, tier: Mapping[str, Any], cluster: Mapping[str, Any]) -> Iterator[Problem]:
    exists = "kubeconfig" in cluster and not _is_new(cluster)
    makes_nodes = "instance_type" in tier and tier.get("source", "eks") == "eks"
    if exists and makes_nodes:
        what = "makes EKS nodes, but berth:cluster is one that exists, by its kubeconfig"
        fix = "give source: existing with gpu, gpus_per_node and nodes, or make a new cluster"
        yield Problem(path, what, fix)
    if _is_new(cluster) and tier.get("source") == "existing":
        what = "existing nodes cannot be in a cluster that this stack makes"
        fix = "give kubeconfig and context of their cluster, or source: eks"
        yield Problem((*path, "source"), what, fix)


def _models(values: Mapping[str, object]) -> Iterator[Problem]:
    tiers = [name for name, _ in _tiers(values)]
    if not all(_is(Name, name) for name in tiers):
        return  # a name will change, and with it what the models should say
    for name, model in _mapping(values.get("models")).items():
        given = _mapping(model).get("tier")
        for tier in given if isinstance(given, list) else [given]:
            if isinstance(tier, str) and tiers and tier not in (*tiers, "auto"):
                names = ", ".join(plain(each) for each in tiers[:MOST_NAMES])
                what = f"{plain(tier)} is not in berth:tiers, which has {names}"
                fix = did_you_mean(tier, tiers, "name one of them")
                yield Problem(("models", name, "tier"), what, fix)
        yield from _load(("models", name), _mapping(model))


def _load(path: Path, model: Mapping[str, Any]) -> Iterator[Problem]:
    load = _mapping(model.get("load"))
    ways = [key for key in ("requests_per_s", "concurrency") if load.get(key) is not None]
    if len(ways) != 1 and "load" in model:
        what = "has both requests_per_s and concurrency" if ways else "says not how many ask"
        yield Problem((*path, "load"), what, "give one of requests_per_s and concurrency")
    if model.get("goals") is not None and "load" not in model:
        yield Problem((*path, "goals"), "need a load to hold under", "add load, or remove goals")
    tokens = [_whole(load.get(key)) or 0 for key in ("input_tokens", "output_tokens")]
    longest = _whole(model.get("max_model_len"))
    if longest is not None and sum(tokens) > longest:
        what = f"{longest} is below the {sum(tokens)} tokens of a request of the load"
        yield Problem((*path, "max_model_len"), what, f"raise it to {sum(tokens)}")


def _tiers(values: Mapping[str, object]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, _mapping(tier)) for name, tier in _mapping(values.get("tiers")).items()]


def _is_new(cluster: Mapping[str, Any]) -> bool:
    return "kubernetes_version" in cluster or "endpoint" in cluster


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is(kind: Any, value: object) -> bool:
    try:
        _adapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


def _moment(value: object) -> datetime | None:
    return _adapter(Moment).validate_python(value) if _is(Moment, value) else None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _network(value: object) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
