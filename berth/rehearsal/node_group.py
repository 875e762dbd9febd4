"""EKS node groups of the pretended cloud, as the nodes that they stand for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from berth.catalog.load import Catalog
from berth.offline.cloud import Cloud, Record
from berth.offline.values import plain
from berth.rehearsal.node import (
    NODE_GROUP_LABEL,
    Node,
    gpu_devices,
    gpu_labels,
    instance_id,
    instance_size,
    node_address,
)

NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
LAUNCH_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
SUBNET: Final = "aws:ec2/subnet:Subnet"
EFFECTS: Final = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}
DEFAULT_DISK_GIB: Final = 20
NVME_GIB_PER_GB: Final = 0.9


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """One node group, and how many nodes it should have now."""

    record: Record
    name: str
    desired: int
    most: int
    properties: Mapping[str, Any]
    template: Mapping[str, Any]
    zones: Sequence[str]

    def node(self, number: int, catalog: Catalog) -> Node:
        """Its node of that number, counted from 0, as EKS and the kubelet would describe it."""
        seed = f"{self.record.id}/{number}"
        instance_type = self.instance_type
        instance = catalog.instances[instance_type]
        zone = self.zones[number % len(self.zones)]
        region = zone.rstrip("abcdefghijklmnopqrstuvwxyz")
        first, second, third = node_address(seed)
        name = f"ip-10-{first}-{second}-{third}.{_domain(region)}"
        own = dict(self.properties.get("labels") or {})
        gpu = catalog.gpus[instance.gpu] if instance.gpu else None
        found = gpu_labels(gpu, instance.gpu_count) if gpu else {}
        return Node(
            name=name,
            size=instance_size(
                instance,
                self._disk_gib(instance.local_nvme_gb),
                self._efa_interfaces(),
                gpu_devices(gpu, instance.gpu_count, own) if gpu else {},
            ),
            labels={
                **found,
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "arm64" if instance.cpu_arch == "arm64" else "amd64",
                "node.kubernetes.io/instance-type": instance_type,
                "topology.kubernetes.io/region": region,
                "topology.kubernetes.io/zone": zone,
                NODE_GROUP_LABEL: self.name,
                "eks.amazonaws.com/capacityType": str(self.properties.get("capacityType")),
                **own,
            },
            taints=[
                {
                    "key": taint["key"],
                    "value": taint.get("value") or "",
                    "effect": EFFECTS[taint["effect"]],
                }
                for taint in self.properties.get("taints") or ()
            ],
            provider_id=f"aws:///{zone}/{instance_id(seed)}",
        )

    @property
    def instance_type(self) -> str:
        """The one of its launch template, which EKS then takes, else the first of its own."""
        return str(self.template.get("instanceType") or self.properties["instanceTypes"][0])

    def _disk_gib(self, local_nvme_gb: int) -> int:
        """Of the local disks where there are any, as nodeadm sets them up, else of the root."""
        if local_nvme_gb:
            return int(local_nvme_gb * NVME_GIB_PER_GB)
        for mapping in self.template.get("blockDeviceMappings") or ():
            size = (mapping.get("ebs") or {}).get("volumeSize")
            if size:
                return int(size)
        return int(self.properties.get("diskSize") or DEFAULT_DISK_GIB)

    def _efa_interfaces(self) -> int:
        interfaces = self.template.get("networkInterfaces") or ()
        return sum(str(each.get("interfaceType", "")).startswith("efa") for each in interfaces)


def node_groups(cloud: Cloud) -> list[NodeGroup]:
    """All node groups that exist now, the oldest first."""
    records = cloud.records()
    templates = {r.id: plain(r.properties) for r in records if r.type == LAUNCH_TEMPLATE}
    subnets = {r.id: plain(r.properties) for r in records if r.type == SUBNET}
    return [_node_group(r, templates, subnets) for r in records if r.type == NODE_GROUP]


def resize(cloud: Cloud, group: NodeGroup, nodes: int) -> None:
    """Change the number of nodes, as an autoscaler does."""
    cloud.change(group.record.urn, "scalingConfig.desiredSize", nodes)


def _node_group(
    record: Record, templates: Mapping[str, Any], subnets: Mapping[str, Any]
) -> NodeGroup:
    properties = plain(record.properties)
    scaling = properties["scalingConfig"]
    least, most = int(scaling["minSize"]), int(scaling["maxSize"])
    reference = properties.get("launchTemplate") or {}
    return NodeGroup(
        record=record,
        name=properties["nodeGroupName"],
        desired=min(max(int(scaling["desiredSize"]), least), most),
        most=most,
        properties=properties,
        template=templates.get(reference.get("id", ""), {}),
        zones=list(_zones(properties, subnets, record.scope)),
    )


def _zones(properties: Mapping[str, Any], subnets: Mapping[str, Any], region: str) -> Iterator[str]:
    """Of its subnets; those of somebody else's network are taken to be in the first zone."""
    for subnet_id in properties.get("subnetIds") or ("",):
        yield subnets.get(subnet_id, {}).get("availabilityZone") or f"{region}a"


def _domain(region: str) -> str:
    return "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
