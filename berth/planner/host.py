"""What one replica takes of its host: cores, memory, shared memory, disk, and time to start.

What a node offers follows the formulas of Kubernetes and EKS; what a replica needs is a rule of
ours wherever no source is named (low evidence), on the safe side.
"""

from dataclasses import dataclass
from math import ceil, floor

from berth.catalog.instance import Instance
from berth.planner.startup import HUB_BYTES_PER_S, startup_budget_s

GIB_BYTES = 1024**3
MIB_PER_GIB = 1024

VM_OVERHEAD_SHARE = 0.075
"""Memory that the hypervisor keeps: Karpenter's default `VM_MEMORY_OVERHEAD_PERCENT`."""
KUBELET_BASE_MIB = 255
KUBELET_MIB_PER_POD = 11
EVICTION_MIB = 100
"""Kube-reserved memory and hard eviction of the EKS AL2023 AMI, https://github.com/awslabs/amazon-eks-ami."""
SYSTEM_PODS_MIB = 1024
SYSTEM_PODS_CORES = 0.5
"""Left for what runs on every GPU node: network, proxy, GPU operator, metrics."""

SERVER_GIB = 6
WORKER_GIB_PER_GPU = 4
"""Host memory of API server and engine core, and of each GPU's worker process."""
SHM_GIB_PER_RANK = 2
"""With more than one rank; 1 GiB is the least that works, 2 GiB in all ran out with 8 ranks."""
ROOT_DISK_TAKEN_GIB = 50
"""Operating system and container images."""
LEAST_ROOT_DISK_GIB = 200
"""Room for a second image during an upgrade, and logs."""
LOADING_DISK_MIB_PER_S = 500
"""Of a gp3 root disk that weights are read from, instead of its 125 (low evidence): an 8B model in
16 bits then takes half a minute."""
NVME_GIB_PER_GB = 0.9
"""GB to GiB (0.931), less a file system."""

CACHED_REVISIONS = 2
"""The one that serves and the one that is being downloaded."""
CACHE_MARGIN = 1.05
"""Tokenizer, configuration and partial files."""

LOADING_SHARE = 0.25
"""Of the weights in host memory while loading; with less a server was seen to be ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostNeeds:
    """Per replica, as a pod asks for it."""

    cpu_request_cores: int
    host_memory_request_gib: int
    shm_gib: int
    model_cache_gib: int
    startup_budget_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeShare:
    """What a node has for one replica when its GPUs are divided evenly."""

    cores: int
    memory_gib: int


def allocatable_memory_mib(instance: Instance) -> int:
    """Memory that pods may ask for on one node.

    Source:
        The formula behind https://karpenter.sh/docs/reference/instance-types/, whose figures the
        test pins.
    """
    memory_mib = instance.memory_gib * MIB_PER_GIB
    kubelet_mib = KUBELET_BASE_MIB + KUBELET_MIB_PER_POD * instance.max_pods
    return memory_mib - ceil(memory_mib * VM_OVERHEAD_SHARE) - kubelet_mib - EVICTION_MIB


def allocatable_cores(instance: Instance) -> float:
    """Cores that pods may ask for on one node.

    The kubelet keeps 6 % of the first, 1 % of the second, 0.5 % of the next two and 0.25 % of each
    other core.

    Source:
        https://github.com/awslabs/amazon-eks-ami and the figures of
        https://karpenter.sh/docs/reference/instance-types/.
    """
    shares = [0.06, 0.01, 0.005, 0.005]
    taken = sum(shares[: instance.vcpu]) + 0.0025 * max(0, instance.vcpu - len(shares))
    return instance.vcpu - taken


def node_share(instance: Instance, gpus: int, gpus_per_node: int | None = None) -> NodeShare:
    """What `gpus` of the node's GPUs may take of it, in whole cores and GiB.

    Args:
        instance: type of the node.
        gpus: of one replica.
        gpus_per_node: where the GPUs are cut into slices, the number of slices.
    """
    part = gpus / (gpus_per_node or instance.gpu_count)
    memory_gib = (allocatable_memory_mib(instance) - SYSTEM_PODS_MIB) / MIB_PER_GIB
    return NodeShare(
        cores=floor((allocatable_cores(instance) - SYSTEM_PODS_CORES) * part),
        memory_gib=floor(memory_gib * part),
    )


def host_needs(weights_bytes: int, gpus: int, share: NodeShare | None) -> HostNeeds:
    """What one replica on `gpus` GPUs asks of its host.

    Args:
        weights_bytes: weights as downloaded.
        gpus: GPUs of the replica, each with one worker process.
        share: its part of the node; None where the node's size is not known, which leaves out most
            of what only makes loading faster.
    """
    shm_gib = shm_gib_of(gpus)
    memory_gib = least_memory_gib(gpus)
    cores = wanted_cores(gpus)
    page_cache_gib = ceil(weights_bytes / GIB_BYTES)
    if share is None:
        memory_gib = max(memory_gib, ceil(LOADING_SHARE * page_cache_gib))
    else:
        memory_gib = max(memory_gib, min(memory_gib + page_cache_gib, share.memory_gib))
        cores = max(1, min(cores, share.cores))
    return HostNeeds(
        cpu_request_cores=cores,
        host_memory_request_gib=memory_gib,
        shm_gib=shm_gib,
        model_cache_gib=ceil(weights_bytes * CACHED_REVISIONS * CACHE_MARGIN / GIB_BYTES),
        startup_budget_s=startup_budget_s(weights_bytes, HUB_BYTES_PER_S),
    )


def shm_gib_of(gpus: int) -> int:
    """Memory-backed /dev/shm through which the ranks of one replica talk."""
    return 1 if gpus == 1 else SHM_GIB_PER_RANK * gpus


def least_memory_gib(gpus: int) -> int:
    """Host memory without which a replica is killed, /dev/shm included."""
    return SERVER_GIB + WORKER_GIB_PER_GPU * gpus + shm_gib_of(gpus)


def wanted_cores(gpus: int) -> int:
    """Hardware threads that keep engine core and workers from waiting for each other.

    Source:
        https://docs.vllm.ai/en/latest/configuration/optimization/: 2 + N physical cores for N GPUs,
        two threads each.
    """
    return 2 * (2 + gpus)


def disk_gib(instance: Instance, root_disk_gib: int) -> int:
    """Disk of one node for downloaded weights: local disks, else what the root disk leaves."""
    if instance.local_nvme_gb:
        return floor(instance.local_nvme_gb * NVME_GIB_PER_GB)
    return root_disk_gib - ROOT_DISK_TAKEN_GIB


def root_disk_gib(instance: Instance, needed_cache_gib: int) -> int:
    """Root disk of a node: without local disks the weights are on it too."""
    if instance.local_nvme_gb:
        return LEAST_ROOT_DISK_GIB
    return max(LEAST_ROOT_DISK_GIB, ROOT_DISK_TAKEN_GIB + ceil(needed_cache_gib / 10) * 10)
