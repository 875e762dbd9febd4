"""The kinds of lines: one function per thing that is bought, with its name and its unit."""

from collections.abc import Sequence
from typing import Final, Literal

from berth.costs.bought import Bought, Quantities
from berth.costs.estimate import HOURS_PER_MONTH

GPU_NODES = "GPU nodes"
"""Name of the line that prices the nodes of a tier themselves."""
HYBRID_FEE = "Hybrid node fee"
SYSTEM_NODES = "System nodes"
NODES = "Nodes"
ROOT_DISKS = "Root disks"
VOLUMES = "Volumes"
BalancerKind = Literal["application", "network"]
BALANCER_KINDS: Final[dict[str, BalancerKind]] = {
    "application": "application",
    "network": "network",
}


def control_planes(version: str, clusters: int = 1, *, extended: bool = False) -> Bought:
    """EKS control planes; in extended support its fee is in the price."""
    return Bought(
        item="eks-control-plane-extended" if extended else "eks-control-plane",
        name="Control plane",
        detail=f"EKS, Kubernetes {version}, {'extended' if extended else 'standard'} support",
        resource="cluster",
        unit="cluster-hour",
        quantities=(clusters, clusters, clusters),
    )


def kms_keys(detail: str, resource: str, keys: int = 1) -> Bought:
    """Customer managed keys."""
    return Bought(
        item="kms-key",
        name="KMS key",
        detail=detail,
        resource=resource,
        unit="key-month",
        hours_per_unit=HOURS_PER_MONTH,
        quantities=(keys, keys, keys),
    )


CLUSTER_KEY = "secrets of the cluster, without requests"


def nat_gateways(count: int) -> Bought:
    """NAT gateways by the hour."""
    return Bought(
        item="nat-gateway",
        name="NAT gateways",
        detail="without traffic",
        resource="network",
        unit="gateway-hour",
        quantities=(count, count, count),
    )


def public_addresses(count: int, detail: str = "of the NAT gateways") -> Bought:
    """Public IPv4 addresses, in use or idle."""
    return Bought(
        item="public-ipv4",
        name="Public IPv4 addresses",
        detail=detail,
        resource="network",
        unit="address-hour",
        quantities=(count, count, count),
    )


def load_balancers(kind: BalancerKind, resource: str, count: int = 1) -> Bought:
    """Load balancers by the hour."""
    return Bought(
        item=f"{kind}-load-balancer",
        name="Load balancers",
        detail=f"{kind}, without capacity units",
        resource=resource,
        unit="load-balancer-hour",
        quantities=(count, count, count),
    )


def file_system(deployment: str, resource: str, gib: int) -> Bought:
    """An FSx for Lustre file system by its size.

    Args:
        deployment: `scratch`, or `persistent-125` with its MB/s for each TiB.
        resource: its name.
        gib: its size.
    """
    return Bought(
        item=f"fsx-lustre-{deployment}",
        name="File systems",
        detail=f"FSx for Lustre, {deployment.replace('-', ' of ')}, {gib} GiB",
        resource=resource,
        unit="GB-month",
        hours_per_unit=HOURS_PER_MONTH,
        quantities=(gib, gib, gib),
    )


def interface_endpoints(services: Sequence[str], zones: int) -> Bought:
    """One interface endpoint per service, with an address in each zone."""
    count = len(services) * zones
    where = f"{zones} zone" if zones == 1 else f"{zones} zones"
    return Bought(
        item="interface-endpoint",
        name="Interface endpoints",
        detail=f"{', '.join(services)} in {where}, without traffic",
        resource="network",
        unit="endpoint-hour",
        quantities=(count, count, count),
    )


def on_demand_nodes(
    instance_type: str,
    resource: str,
    nodes: Quantities,
    *,
    name: str = GPU_NODES,
    tier: str | None = None,
) -> Bought:
    """Instances at list price."""
    return Bought(
        item=instance_type,
        name=name,
        detail=f"{instance_type}, on demand",
        capacity_type="ON_DEMAND",
        resource=resource,
        tier=tier,
        unit="node-hour",
        quantities=nodes,
    )


def reserved_nodes(
    instance_type: str, resource: str, instances: int, *, tier: str | None = None
) -> Bought:
    """All instances of a reservation at list price: it is paid whether they run or not."""
    return Bought(
        item=instance_type,
        name=GPU_NODES,
        detail=f"{instance_type}, On-Demand Capacity Reservation, used or not",
        capacity_type="ODCR",
        resource=resource,
        tier=tier,
        unit="node-hour",
        quantities=(instances, instances, instances),
    )


def volume(resource: str, gib: int) -> Bought:
    """A gp3 volume that no node has of itself."""
    return Bought(
        item="gp3",
        name=VOLUMES,
        detail=f"gp3, {gib} GiB",
        resource=resource,
        unit="GB-month",
        hours_per_unit=HOURS_PER_MONTH,
        quantities=(gib, gib, gib),
    )


def root_disks(resource: str, gib: int, nodes: Quantities, tier: str | None = None) -> Bought:
    """A gp3 volume of each node."""
    floor, planned, ceiling = nodes
    return Bought(
        item="gp3",
        name=ROOT_DISKS,
        detail=f"gp3, {gib} GiB per node",
        resource=resource,
        tier=tier,
        unit="GB-month",
        hours_per_unit=HOURS_PER_MONTH,
        quantities=(gib * floor, gib * planned, gib * ceiling),
    )


def disk_extras(
    resource: str,
    nodes: Quantities,
    *,
    iops: int | None = None,
    mib_per_s: int | None = None,
    tier: str | None = None,
) -> list[Bought]:
    """What a gp3 volume of each node costs for being faster than every gp3 volume is."""
    extras = (
        ("gp3-iops", "Disk operations", "IOPS", (iops or 0) - GP3_IOPS),
        ("gp3-throughput", "Disk throughput", "MiBps", (mib_per_s or 0) - GP3_MIB_PER_S),
    )
    return [
        Bought(
            item=item,
            name=name,
            detail=f"gp3, {more} {unit} per disk above what is included",
            resource=resource,
            tier=tier,
            unit=f"{unit}-month",
            hours_per_unit=HOURS_PER_MONTH,
            quantities=(more * nodes[0], more * nodes[1], more * nodes[2]),
        )
        for item, name, unit, more in extras
        if more > 0
    ]


GP3_IOPS = 3000
GP3_MIB_PER_S = 125
"""Included in the price of every gp3 volume.
Source: https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html"""


def hybrid_fee(vcpus_per_node: int, tier: str, nodes: Quantities) -> Bought:
    """What EKS bills for each vCPU of a host that is not in AWS."""
    floor, planned, ceiling = (vcpus_per_node * count for count in nodes)
    return Bought(
        item="eks-hybrid-vcpu",
        name=HYBRID_FEE,
        detail=f"EKS, {vcpus_per_node} vCPUs per host, first price tier",
        resource=tier,
        tier=tier,
        unit="vCPU-hour",
        quantities=(floor, planned, ceiling),
    )
