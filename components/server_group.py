"""A model server whose replicas take several nodes: one group of pods for each replica."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_kubernetes as kubernetes

from berth.planner.images import ChartImages
from berth.planner.plan import PoolPlan, ServerPlan
from components import naming
from components.chart_images import with_images
from components.model_pod import pod_template

CHART: Final = "oci://registry.k8s.io/lws/charts/lws"

WAIT_FOR_GROUPS: Final = {"pulumi.com/waitFor": "condition=Available"}
"""Pulumi knows the kind of no custom resource, so it is told when one is up.
Source: https://www.pulumi.com/registry/packages/kubernetes/installation-configuration/"""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupControllerArgs:
    """Plain values come from the plan."""

    chart_version: str
    system_nodes: bool = True
    """The cluster has system nodes of this stack, which then run the controller."""
    images: ChartImages | None = None
    """None: as the chart names them."""
    after: Sequence[pulumi.Resource] = ()
    """The nodes that run the controller."""


def declare_group_controller(
    name: str, args: GroupControllerArgs, options: pulumi.ResourceOptions
) -> kubernetes.helm.v3.Release:
    """LeaderWorkerSet's controller, which starts and replaces the pods of a group together.

    Its webhook signs its own certificate, so no cert-manager is needed.
    """
    namespace = kubernetes.core.v1.Namespace(
        name,
        metadata=kubernetes.meta.v1.ObjectMetaArgs(
            name=naming.GROUP_CONTROLLER_NAMESPACE, labels=naming.object_labels("lws")
        ),
        opts=options,
    )
    return kubernetes.helm.v3.Release(
        name,
        name="lws",
        chart=CHART,
        version=args.chart_version,
        namespace=naming.GROUP_CONTROLLER_NAMESPACE,
        values=with_images(controller_values(args), args.images),
        opts=pulumi.ResourceOptions.merge(
            options, pulumi.ResourceOptions(depends_on=[namespace, *args.after])
        ),
    )


def controller_values(args: GroupControllerArgs) -> dict[str, Any]:
    """Values that differ from the chart's, or that must not change with it.

    Source:
        https://github.com/kubernetes-sigs/lws/blob/main/charts/lws/values.yaml
    """
    values: dict[str, Any] = {
        "image": {"manager": {"tag": f"v{args.chart_version}", "pullPolicy": "IfNotPresent"}}
    }
    if args.system_nodes:
        values["nodeSelector"] = {naming.NODE_ROLE_LABEL: "system"}
    return values


def declare_group(
    name: str,
    metadata: kubernetes.meta.v1.ObjectMetaArgs,
    server: ServerPlan,
    pool: PoolPlan,
    options: pulumi.ResourceOptions,
) -> kubernetes.apiextensions.CustomResource:
    """One leader with the API and a worker on each further node, for every replica."""
    return kubernetes.apiextensions.CustomResource(
        name,
        api_version="leaderworkerset.x-k8s.io/v1",
        kind="LeaderWorkerSet",
        metadata=metadata,
        spec=group_spec(server, pool),
        opts=options,
    )


def group_spec(server: ServerPlan, pool: PoolPlan) -> dict[str, Any]:
    """All pods of a group start together and are replaced together.

    Ranks wait for each other while they load, so workers may not wait until the leader is ready;
    and a rank that is lost cannot join again, so the whole group begins anew.

    Source:
        https://lws.sigs.k8s.io/docs/concepts/
    """
    surges = server.rollout == "surge"
    return {
        "replicas": server.replicas,
        "startupPolicy": "LeaderCreated",
        "rolloutStrategy": {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": {
                "maxSurge": 1 if surges else 0,
                "maxUnavailable": 0 if surges else 1,
            },
        },
        "leaderWorkerTemplate": {
            "size": server.nodes_per_replica,
            "restartPolicy": "RecreateGroupOnPodRestart",
            "leaderTemplate": pod_template(server, pool, "leader"),
            "workerTemplate": pod_template(server, pool, "worker"),
        },
    }
