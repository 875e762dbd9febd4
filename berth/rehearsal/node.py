"""One simulated node: what the kubelet, EKS and the GPU software would say of it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final

from berth.catalog.gpu import Gpu
from berth.catalog.instance import Instance
from berth.planner.host import (
    MIB_PER_GIB,
    VM_OVERHEAD_SHARE,
    allocatable_cores,
    allocatable_memory_mib,
)

TIER_LABEL: Final = "berth-gpu/tier"
ROLE_LABEL: Final = "berth-gpu/role"
NODE_GROUP_LABEL: Final = "eks.amazonaws.com/nodegroup"
EFA_RESOURCE: Final = "vpc.amazonaws.com/efa"
MIG_CONFIG_LABEL: Final = "nvidia.com/mig.config"
MIG_STRATEGY_LABEL: Final = "nvidia.com/mig.strategy"

HOST_CORES_PER_GPU: Final = 16
HOST_MEMORY_GIB_PER_GPU: Final = 192
"""Of hosts whose size no stack states; a rule of ours (low evidence)."""

Taint = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a node has, and what of it pods may ask for."""

    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node that should be there."""

    name: str
    size: Size
    labels: Mapping[str, str]
    taints: Sequence[Taint] = field(default_factory=tuple)
    provider_id: str = ""

    def document(self) -> dict[str, Any]:
        """As the API server takes it; KWOK plays its kubelet."""
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": self.name,
                "labels": dict(self.labels),
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "spec": {"providerID": self.provider_id, "taints": [dict(t) for t in self.taints]},
            "status": {
                "capacity": dict(self.size.capacity),
                "allocatable": dict(self.size.allocatable),
                "nodeInfo": {
                    "architecture": self.labels["kubernetes.io/arch"],
                    "operatingSystem": "linux",
                    "bootID": "",
                    "containerRuntimeVersion": "simulated",
                    "kernelVersion": "simulated",
                    "kubeProxyVersion": "",
                    "kubeletVersion": "simulated",
                    "machineID": "",
                    "osImage": "simulated",
                    "systemUUID": "",
                },
            },
        }


def instance_size(
    instance: Instance, disk_gib: int, efa_interfaces: int, devices: Mapping[str, int]
) -> Size:
    """The size of a node of one EC2 instance type.

    Args:
        instance: the type.
        disk_gib: of the volume that images and logs are on.
        efa_interfaces: that its launch template attaches.
        devices: what its device plugins offer, by resource name.
    """
    memory_mib = instance.memory_gib * MIB_PER_GIB
    extra = {name: str(count) for name, count in devices.items() if count}
    if efa_interfaces:
        extra[EFA_RESOURCE] = str(efa_interfaces)
    common = {"pods": str(instance.max_pods), "ephemeral-storage": f"{disk_gib}Gi", **extra}
    return Size(
        capacity={
            "cpu": str(instance.vcpu),
            "memory": f"{memory_mib - ceil(memory_mib * VM_OVERHEAD_SHARE)}Mi",
            **common,
        },
        allocatable={
            "cpu": f"{int(allocatable_cores(instance) * 1000)}m",
            "memory": f"{allocatable_memory_mib(instance)}Mi",
            **common,
        },
    )


def host_size(gpus: int, gpu_resource: str, cores: int | None) -> Size:
    """The size of a host that the stack does not make; what it does not state is assumed."""
    has = {
        "cpu": str(cores or HOST_CORES_PER_GPU * gpus),
        "memory": f"{HOST_MEMORY_GIB_PER_GPU * gpus}Gi",
        "pods": "110",
        "ephemeral-storage": "7000Gi",
        gpu_resource: str(gpus),
    }
    return Size(capacity=has, allocatable=has)


def gpu_devices(gpu: Gpu, count: int, labels: Mapping[str, str]) -> Mapping[str, int]:
    """What the device plugin offers: whole GPUs, or MIG devices where the labels ask for them."""
    config = labels.get(MIG_CONFIG_LABEL, "all-disabled")
    profile = next((p for p in gpu.mig_profiles if config == f"all-{p.name}"), None)
    if profile is None:
        return {gpu.resource: count}
    if labels.get(MIG_STRATEGY_LABEL, "single") == "mixed":
        return {f"nvidia.com/mig-{profile.name}": count * profile.count}
    return {gpu.resource: count * profile.count}


def gpu_labels(gpu: Gpu, count: int) -> dict[str, str]:
    """What the vendors' feature discovery says of a node."""
    if gpu.vendor == "amd":
        found = {"feature.node.kubernetes.io/amd-gpu": "true"}
        return found | (
            {"amd.com/gpu.product-name": gpu.product_label} if gpu.product_label else {}
        )
    found = {
        "feature.node.kubernetes.io/pci-10de.present": "true",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.count": str(count),
    }
    return found | ({"nvidia.com/gpu.product": gpu.product_label} if gpu.product_label else {})


def node_address(seed: str) -> tuple[int, int, int]:
    """Three numbers of a private address, the same for the same seed."""
    digest = hashlib.sha256(seed.encode()).digest()
    return digest[0], digest[1], 1 + digest[2] % 254


def instance_id(seed: str) -> str:
    """An EC2 instance id of the right form."""
    return f"i-{hashlib.sha256(seed.encode()).hexdigest()[:17]}"
