"""What turns a node with AMD GPUs into one that pods can ask for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pulumi
import pulumi_kubernetes as kubernetes

from berth.planner.images import ChartImages
from berth.planner.plan import AmdGpuSoftware
from components import naming
from components.chart_images import with_images

CHART_REPOSITORY: Final = "https://rocm.github.io/gpu-operator"
CERT_MANAGER_REPOSITORY: Final = "https://charts.jetstack.io"
INSTALL_TIMEOUT_S: Final = 900


@dataclass(frozen=True, kw_only=True, slots=True)
class AmdGpuOperatorArgs:
    """Plain values come from the plan."""

    plan: AmdGpuSoftware
    system_nodes: bool
    """The cluster has system nodes of this stack, which then run the operator itself."""
    images: Mapping[str, ChartImages] = field(default_factory=dict)
    """By chart; one without comes as its chart names it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of its namespaces, besides those of every object."""
    after: Sequence[pulumi.Resource] = ()


class AmdGpuOperator(pulumi.ComponentResource):
    """AMD's GPU operator with device plugin, node labeller and metrics, and its cert-manager.

    The hosts' image brings the amdgpu driver; the operator builds none. AMD supports Ubuntu and
    RHEL, not Amazon Linux.
    """

    release: kubernetes.helm.v3.Release

    def __init__(
        self, name: str, args: AmdGpuOperatorArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("berth:index:AmdGpuOperator", name, None, opts)
        certificates = self._release(
            naming.resource_name(name, "cert-manager"),
            chart="cert-manager",
            version=args.plan.cert_manager_version,
            repository=CERT_MANAGER_REPOSITORY,
            namespace=naming.CERT_MANAGER_NAMESPACE,
            values=with_images(
                cert_manager_values(args.system_nodes), args.images.get("cert-manager")
            ),
            labels=args.labels,
            after=args.after,
        )
        self.release = self._release(
            name,
            chart="gpu-operator-charts",
            version=args.plan.gpu_operator_version,
            repository=CHART_REPOSITORY,
            namespace=naming.AMD_GPU_OPERATOR_NAMESPACE,
            values=with_images(chart_values(args.plan), args.images.get("gpu-operator-charts")),
            labels=args.labels,
            after=[certificates],
        )
        self.register_outputs({"release_name": self.release.name})

    def _release(
        self,
        name: str,
        *,
        chart: str,
        version: str,
        repository: str,
        namespace: str,
        values: dict[str, Any],
        labels: Mapping[str, str],
        after: Sequence[pulumi.Resource],
    ) -> kubernetes.helm.v3.Release:
        space = kubernetes.core.v1.Namespace(
            name,
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=namespace,
                labels={
                    **naming.object_labels("gpu-operator"),
                    **labels,
                    "pod-security.kubernetes.io/enforce": "privileged",
                },
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        return kubernetes.helm.v3.Release(
            name,
            name=chart,
            chart=chart,
            version=version,
            repository_opts=kubernetes.helm.v3.RepositoryOptsArgs(repo=repository),
            namespace=namespace,
            values=values,
            timeout=INSTALL_TIMEOUT_S,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[space, *after]),
        )


def cert_manager_values(system_nodes: bool) -> dict[str, Any]:
    """All of it on nodes without GPUs."""
    where = {"nodeSelector": {naming.NODE_ROLE_LABEL: "system"}} if system_nodes else {}
    return {
        "crds": {"enabled": True},
        **where,
        "webhook": dict(where),
        "cainjector": dict(where),
        "startupapicheck": dict(where),
    }


def chart_values(plan: AmdGpuSoftware) -> dict[str, Any]:
    """Values that differ from the chart's, whose eight lists of tolerations are all empty.

    Source:
        https://instinct.docs.amd.com/projects/gpu-operator/en/latest/installation/kubernetes-helm.html
    """
    tolerations = [naming.gpu_toleration("amd")]
    return {
        "node-feature-discovery": {"worker": {"tolerations": tolerations}},
        "remediation": {"enabled": False},
        "deviceConfig": {
            "spec": {
                "selector": {"feature.node.kubernetes.io/amd-gpu": "true"},
                "driver": {"enable": False, "tolerations": tolerations},
                "devicePlugin": {
                    "enableDevicePlugin": True,
                    "devicePluginImage": f"rocm/k8s-device-plugin:{plan.device_plugin_tag}",
                    "devicePluginTolerations": tolerations,
                    "enableNodeLabeller": True,
                    "nodeLabellerImage": f"rocm/k8s-device-plugin:{plan.node_labeller_tag}",
                    "nodeLabellerTolerations": tolerations,
                },
                "metricsExporter": {
                    "enable": True,
                    "image": f"rocm/device-metrics-exporter:{plan.metrics_exporter_tag}",
                    "tolerations": tolerations,
                    "prometheus": {"serviceMonitor": {"enable": False}},
                },
                "testRunner": {"enable": False, "tolerations": tolerations},
                "configManager": {"enable": False, "configManagerTolerations": tolerations},
                "draDriver": {"enable": False, "tolerations": tolerations},
            }
        },
    }
