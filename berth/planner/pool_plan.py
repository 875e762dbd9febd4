"""The nodes of one tier as components declare and costs price them."""

from collections.abc import Sequence
from typing import Literal

from berth.catalog.load import Catalog
from berth.config.capacity import SpotCapacity
from berth.config.stack import EksTier, StackConfig
from berth.planner.blocks import serving
from berth.planner.host import LOADING_DISK_MIB_PER_S, root_disk_gib, wanted_cores
from berth.planner.plan import PoolPlan
from berth.planner.pools import Demand, FilledNodes, needed_cache_gib, node_count
from berth.planner.tiers import Tier


def pool_plan(
    tier: Tier,
    config: StackConfig,
    catalog: Catalog,
    demands: Sequence[Demand],
    filled: Sequence[FilledNodes],
    version: str | None,
) -> PoolPlan:
    """One tier whose replicas have their nodes, on a cluster of that Kubernetes version."""
    wanted = config.tiers[tier.name]
    eks = wanted if isinstance(wanted, EksTier) else None
    if eks is None or tier.instance is None:
        return _owned_pool(tier, config, demands, filled)
    instance = tier.instance
    ami_type = "CUSTOM" if eks.ami_id else eks.ami_type or instance.ami_types[0]
    spot = eks.capacity.instance_types if isinstance(eks.capacity, SpotCapacity) else ()
    nodes_per_replica = _nodes_per_replica(demands)
    on_root_disk = not instance.local_nvme_gb
    return PoolPlan(
        tier=tier.name,
        source="eks",
        gpu=tier.card_key,
        mig_profile=tier.mig_profile,
        gpu_vendor=tier.gpu.vendor,
        gpu_resource=tier.gpu.resource,
        gpus_per_node=tier.gpus_per_node,
        instance_type=tier.instance_type,
        spot_types=tuple(spot),
        accelerator=tier.gpu.accelerator_label,
        capacity=serving(eks.capacity, config.as_of),
        scarce=instance.scarce,
        ami_type=ami_type,
        ami_id=eks.ami_id,
        ami_release=_release(config.region, version, catalog, ami_type),
        root_disk_gib=eks.root_disk_gib or root_disk_gib(instance, needed_cache_gib(filled)),
        root_disk_throughput_mib_per_s=LOADING_DISK_MIB_PER_S if on_root_disk else None,
        local_nvme=bool(instance.local_nvme_gb),
        min_nodes=tier.min_nodes,
        planned_nodes=node_count(filled),
        max_nodes=tier.max_nodes,
        gpus_requested=_gpus(demands),
        cpu_arch=instance.cpu_arch,
        max_pods=instance.max_pods,
        topology_policy=_topology_policy(tier, demands),
        nodes_per_replica=nodes_per_replica,
        efa_interfaces=instance.efa_interfaces if nodes_per_replica > 1 else 0,
        efa_on_first_card=instance.efa_on_first_card,
    )


def _owned_pool(
    tier: Tier, config: StackConfig, demands: Sequence[Demand], filled: Sequence[FilledNodes]
) -> PoolPlan:
    """Nodes of somebody else."""
    source = config.tiers[tier.name].source
    return PoolPlan(
        tier=tier.name,
        source=source,
        gpu=tier.gpu_key,
        gpu_vendor=tier.gpu.vendor,
        gpu_resource=tier.gpu.resource,
        gpus_per_node=tier.gpus_per_node,
        instance_type=None,
        accelerator=None,
        capacity=None,
        ami_type=None,
        root_disk_gib=None,
        local_nvme=False,
        min_nodes=tier.min_nodes,
        planned_nodes=node_count(filled),
        max_nodes=tier.max_nodes,
        gpus_requested=_gpus(demands),
        cpu_arch="x86_64",
        nodes_per_replica=_nodes_per_replica(demands),
        vcpus_per_node=tier.vcpus_per_node,
    )


def _release(
    region: str | None, version: str | None, catalog: Catalog, ami_type: str
) -> str | None:
    """The pinned release of the EKS AMI; None where the cluster's version is not known."""
    if version is None:
        return None
    return catalog.software.ami_release(region, version, ami_type)


def _nodes_per_replica(demands: Sequence[Demand]) -> int:
    return max((each.nodes_per_replica for each in demands), default=1)


def _gpus(demands: Sequence[Demand]) -> int:
    return sum(each.gpus_per_replica * each.replicas for each in demands)


def _topology_policy(
    tier: Tier, demands: Sequence[Demand]
) -> Literal["best-effort", "single-numa-node"]:
    """`single-numa-node` where each server fits one NUMA node of a host that has several.

    Any other pod is refused there (TopologyAffinityError), so all servers must be of one size:
    small ones in between could leave a GPU free on each side, which no larger one may take.
    """
    instance = tier.instance
    numa_nodes = instance.numa_nodes if instance else None
    sizes = {each.gpus_per_replica for each in demands}
    if instance is None or numa_nodes is None or numa_nodes < 2 or len(sizes) != 1:
        return "best-effort"
    (size,) = sizes
    gpus, cores = tier.gpus_per_node // numa_nodes, instance.vcpu // numa_nodes
    fits = gpus % size == 0 and wanted_cores(size) * (gpus // size) < cores
    return "single-numa-node" if fits else "best-effort"
