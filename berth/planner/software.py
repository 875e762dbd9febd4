"""What a stack installs besides model servers: GPU operators, autoscaler, device plugins."""

from collections.abc import Mapping
from typing import Literal

from berth.catalog.load import Catalog
from berth.config.cluster import Installable
from berth.config.stack import NewCluster, StackConfig
from berth.planner.plan import AmdGpuSoftware, AutoscalerPlan, GpuSoftware, PoolPlan


def nvidia_gpu_software(
    config: StackConfig, pools: Mapping[str, PoolPlan], catalog: Catalog
) -> GpuSoftware | None:
    """The operator for NVIDIA GPUs, where a pool has them and the cluster has no operator."""
    if not _wanted("nvidia-gpu-operator", config) or not _has(pools, "nvidia"):
        return None
    return GpuSoftware(
        gpu_operator_version=catalog.software.charts["gpu-operator"].version,
        cuts_slices=any(pool.mig_profile for pool in pools.values()),
    )


def amd_gpu_software(
    config: StackConfig, pools: Mapping[str, PoolPlan], catalog: Catalog
) -> AmdGpuSoftware | None:
    """The operator for AMD GPUs, where a pool has them and the cluster has no operator."""
    if not _wanted("amd-gpu-operator", config) or not _has(pools, "amd"):
        return None
    charts, operands = catalog.software.charts, catalog.software.amd_operands
    return AmdGpuSoftware(
        gpu_operator_version=charts["gpu-operator-charts"].version,
        cert_manager_version=charts["cert-manager"].version,
        device_plugin_tag=operands.device_plugin,
        node_labeller_tag=operands.node_labeller,
        metrics_exporter_tag=operands.metrics_exporter,
    )


def autoscaler(
    config: StackConfig, pools: Mapping[str, PoolPlan], catalog: Catalog, version: str | None
) -> AutoscalerPlan | None:
    """The cluster autoscaler, where the stack makes node groups and nobody else scales them.

    It is that of the cluster's Kubernetes version; the newest where the version is not known.
    """
    makes_nodes = any(pool.source == "eks" for pool in pools.values())
    if not makes_nodes or not _wanted("cluster-autoscaler", config):
        return None
    tags = catalog.software.cluster_autoscaler.image_tags
    return AutoscalerPlan(
        chart_version=catalog.software.charts["cluster-autoscaler"].version,
        image_tag=tags.get(version or "", tags[max(tags, key=_minor)]),
    )


def efa_plugin_version(pools: Mapping[str, PoolPlan], catalog: Catalog) -> str | None:
    """Of the EFA device plugin's chart; None where no server spans nodes."""
    if not any(pool.efa_interfaces for pool in pools.values()):
        return None
    return catalog.software.charts["aws-efa-k8s-device-plugin"].version


def group_controller_version(
    config: StackConfig, pools: Mapping[str, PoolPlan], catalog: Catalog
) -> str | None:
    """Of LeaderWorkerSet's chart; None where no server spans nodes, or the cluster has it."""
    spans = any(pool.nodes_per_replica > 1 for pool in pools.values())
    if not spans or not _wanted("leader-worker-set", config):
        return None
    return catalog.software.charts["lws"].version


def _wanted(part: Installable, config: StackConfig) -> bool:
    """A new cluster has nothing yet; to one that exists the stack adds what it is told."""
    if isinstance(config.cluster, NewCluster):
        return True
    return part in config.cluster.install


def _has(pools: Mapping[str, PoolPlan], vendor: Literal["nvidia", "amd"]) -> bool:
    return any(pool.gpu_vendor == vendor for pool in pools.values())


def _minor(version: str) -> int:
    return int(version.partition(".")[2])
