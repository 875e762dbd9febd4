"""What turns a node with NVIDIA GPUs into one that pods can ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_kubernetes as kubernetes

from berth.planner.images import ChartImages
from berth.planner.plan import GpuSoftware
from components import naming
from components.chart_images import with_images

CHART_REPOSITORY: Final = "https://helm.ngc.nvidia.com/nvidia"

INSTALL_TIMEOUT_S: Final = 900
"""Helm waits for the operator, not for the GPU nodes; Pulumi's own 300 seconds are short for the
first pull of the images."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NvidiaGpuOperatorArgs:
    """Plain values come from the plan."""

    plan: GpuSoftware
    system_nodes: bool = True
    """The cluster has system nodes of this stack, which then run the operator itself."""
    images: ChartImages | None = None
    """None: as the chart names them."""
    after: Sequence[pulumi.Resource] = ()
    """The nodes that run the operator itself."""


class NvidiaGpuOperator(pulumi.ComponentResource):
    """The GPU Operator with device plugin, feature discovery and metrics exporter.

    Driver and container toolkit come with the EKS AMI, so the operator installs neither: two
    drivers on one node fight. AWS documents this set-up for its AL2023 images; NVIDIA's list of
    supported platforms names Ubuntu only.
    """

    release: kubernetes.helm.v3.Release

    def __init__(
        self, name: str, args: NvidiaGpuOperatorArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("berth:index:NvidiaGpuOperator", name, None, opts)
        namespace = kubernetes.core.v1.Namespace(
            name,
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=naming.GPU_OPERATOR_NAMESPACE,
                labels={
                    **naming.object_labels("gpu-operator"),
                    # Its agents mount the host; the API server refuses them at a lower level.
                    "pod-security.kubernetes.io/enforce": "privileged",
                },
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.release = kubernetes.helm.v3.Release(
            name,
            name="gpu-operator",  # fixed: a generated one gives new names to all that it holds
            chart="gpu-operator",
            version=args.plan.gpu_operator_version,
            repository_opts=kubernetes.helm.v3.RepositoryOptsArgs(repo=CHART_REPOSITORY),
            namespace=naming.GPU_OPERATOR_NAMESPACE,
            values=with_images(chart_values(args.system_nodes, args.plan.cuts_slices), args.images),
            timeout=INSTALL_TIMEOUT_S,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[namespace, *args.after]),
        )
        self.register_outputs({"release_name": self.release.name})


def chart_values(system_nodes: bool = True, cuts_slices: bool = False) -> dict[str, Any]:
    """Values that differ from the chart's, or that must not change with it.

    Source:
        https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html
    """
    elsewhere = {"nodeSelector": {naming.NODE_ROLE_LABEL: "system"}} if system_nodes else {}
    gpu_tolerations = [naming.gpu_toleration("nvidia")]
    return {
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        "devicePlugin": {"enabled": True},
        "gfd": {"enabled": True},
        "nfd": {"enabled": True},
        "dcgm": {"enabled": False},  # the exporter has a host engine of its own
        # A ServiceMonitor needs Prometheus' own resource types, which nothing here installs.
        "dcgmExporter": {"enabled": True, "serviceMonitor": {"enabled": False}},
        # Each pool has one profile for all its GPUs, so a slice is a plain `nvidia.com/gpu`.
        "mig": {"strategy": "single"},
        "migManager": _mig_manager() if cuts_slices else {"enabled": False},
        "nodeStatusExporter": {"enabled": False},
        "sandboxWorkloads": {"enabled": False},
        "operator": dict(elsewhere),
        # Helm replaces lists, so both repeat what the chart's own had for GPU nodes.
        "daemonsets": {"tolerations": gpu_tolerations},
        "node-feature-discovery": {
            "worker": {"tolerations": gpu_tolerations},
            "master": dict(elsewhere),
            "gc": dict(elsewhere),
        },
    }


def _mig_manager() -> dict[str, Any]:
    """Cuts the GPUs of nodes as their label says, by a restart: virtual machines may not reset one.

    Source:
        https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html
    """
    return {"enabled": True, "env": [{"name": "WITH_REBOOT", "value": "true"}]}
