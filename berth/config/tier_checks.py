"""What the keys of one tier say against each other and against the cluster."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from berth.config.problems import Path, Problem
from berth.config.raw_values import is_a, is_new, mapping, moment, whole
from berth.config.values import AvailabilityZone, Region

RENTED: Final = (
    "AWS supports hybrid nodes on hardware that is owned or colocated, not in another cloud, and "
    "bills each vCPU all the same"
)
"""Source: https://docs.aws.amazon.com/eks/latest/userguide/hybrid-nodes-overview.html"""


def tier_problems(
    name: str, tier: Mapping[str, Any], values: Mapping[str, object]
) -> Iterator[Problem]:
    """Contradictions in one tier."""
    path: Path = ("tiers", name)
    capacity = mapping(tier.get("capacity"))
    yield from _counts(path, tier, capacity)
    where: Path = (*path, "capacity")
    for key in ("availability_zone", "next_availability_zone"):
        yield from _zone((*where, key), capacity.get(key), values.get("region"))
    if capacity.get("type") == "CAPACITY_BLOCK":
        yield from _block(where, capacity)
    if capacity.get("type") == "ODCR" and {"reservation_id", "resource_group_arn"} <= set(capacity):
        what = "given together with reservation_id"
        yield Problem((*where, "resource_group_arn"), what, "remove one of the two")
    if {"ami_id", "ami_type"} <= set(tier):
        fix = "remove it, because an AMI of one's own has the type CUSTOM"
        yield Problem((*path, "ami_type"), "given together with ami_id", fix)
    yield from _place(path, tier, mapping(values.get("cluster")))


def _counts(path: Path, tier: Mapping[str, Any], capacity: Mapping[str, Any]) -> Iterator[Problem]:
    least, most, count = (
        whole(each)
        for each in (tier.get("min_nodes"), tier.get("max_nodes"), capacity.get("instance_count"))
    )
    if least is not None and most is not None and least > most:
        fix = f"lower it to {most}, or raise max_nodes"
        yield Problem((*path, "min_nodes"), f"{least} is above max_nodes {most}", fix)
    if most is not None and count is not None and most > count:
        owner = "reservation" if capacity.get("type") == "ODCR" else "block"
        fix = f"lower it to {count}, because a {owner} has no more instances"
        what = f"{most} is above capacity.instance_count {count}"
        yield Problem((*path, "max_nodes"), what, fix)


def _zone(path: Path, zone: object, region: object) -> Iterator[Problem]:
    both_right = is_a(AvailabilityZone, zone) and is_a(Region, region)
    if both_right and str(zone)[:-1] != region:
        what = f"{zone} is not in aws:region {region}"
        yield Problem(path, what, f"write a zone such as {region}a, or change aws:region")


def _block(path: Path, capacity: Mapping[str, Any]) -> Iterator[Problem]:
    if "reservation_id" not in capacity and "purchase" not in capacity:
        fix = "add reservation_id: <the id of a Capacity Block>"
        yield Problem((*path, "reservation_id"), "missing", fix)
    if {"reservation_id", "purchase"} <= set(capacity):
        fix = "remove it, because a block with an id is bought already"
        yield Problem((*path, "purchase"), "given together with reservation_id", fix)
    starts_at, ends_at = moment(capacity.get("starts_at")), moment(capacity.get("ends_at"))
    yield from _order(path, ("starts_at", starts_at), ("ends_at", ends_at))
    following = ("next_reservation_id", "next_starts_at", "next_ends_at")
    given = [key for key in following if capacity.get(key) is not None]
    if "next_availability_zone" in capacity and not given:
        given = ["next_availability_zone"]
    for key in following if given else ():
        if key not in given:
            yield Problem((*path, key), f"missing beside {given[0]}", f"add {key}")
    next_starts_at = moment(capacity.get("next_starts_at"))
    next_ends_at = moment(capacity.get("next_ends_at"))
    yield from _order(path, ("next_starts_at", next_starts_at), ("next_ends_at", next_ends_at))
    yield from _order(path, ("ends_at", ends_at), ("next_ends_at", next_ends_at))


def _order(
    path: Path, earlier: tuple[str, datetime | None], later: tuple[str, datetime | None]
) -> Iterator[Problem]:
    (early_key, early), (late_key, late) = earlier, later
    if early and late and early >= late:
        what = f"{_iso(early)} is not before {late_key} {_iso(late)}"
        yield Problem((*path, early_key), what, "exchange them, or correct one")


def _place(path: Path, tier: Mapping[str, Any], cluster: Mapping[str, Any]) -> Iterator[Problem]:
    exists = "kubeconfig" in cluster and not is_new(cluster)
    makes_nodes = "instance_type" in tier and tier.get("source", "eks") == "eks"
    if exists and makes_nodes:
        what = "makes EKS nodes, but berth:cluster is one that exists, by its kubeconfig"
        fix = "give source: existing with gpu, gpus_per_node and nodes, or make a new cluster"
        yield Problem(path, what, fix)
    if is_new(cluster) and tier.get("source") == "existing":
        what = "existing nodes cannot be in a cluster that this stack makes"
        fix = "give kubeconfig and context of their cluster, or source: eks"
        yield Problem((*path, "source"), what, fix)
    if tier.get("source") != "hybrid":
        return
    if tier.get("hosts") == "rented":
        fix = "give source: existing in a cluster that runs there, or hosts: own"
        yield Problem((*path, "hosts"), f"rented, but {RENTED}", fix)
    if cluster and not is_new(cluster):
        what = "hybrid nodes join a cluster that this stack makes, and berth:cluster exists"
        yield Problem((*path, "source"), what, "give source: existing, or make a new cluster")
    elif cluster and "hybrid" not in cluster:
        fix = "add berth:cluster.hybrid with node_cidrs and pod_cidrs"
        yield Problem((*path, "source"), "hybrid, but berth:cluster says no networks for it", fix)


def _iso(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")
