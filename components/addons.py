"""EKS add-ons of a new cluster and what is set on them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pulumi
import pulumi_aws as aws

from components import naming

_GPU_TOLERATIONS: Final = [naming.gpu_toleration(vendor) for vendor in naming.GPU_TAINT_KEY]

BEFORE_NODES: Final[Mapping[str, Mapping[str, Any]]] = {
    "vpc-cni": {"enableNetworkPolicy": "true"},
    "kube-proxy": {},
    "eks-pod-identity-agent": {},
    # Its GPU part is a second DaemonSet that tolerates nothing by itself; without it no broken
    # GPU is noticed. Source: values.yaml of https://github.com/aws/eks-node-monitoring-agent
    "eks-node-monitoring-agent": {"dcgmAgent": {"tolerations": _GPU_TOLERATIONS}},
}
"""DaemonSets: they are healthy without nodes, and nodes are not ready without the first two."""

EBS_CSI: Final = "aws-ebs-csi-driver"
EBS_CSI_SERVICE_ACCOUNT: Final = "ebs-csi-controller-sa"

AFTER_NODES: Final[Mapping[str, Mapping[str, Any]]] = {
    EBS_CSI: {},
    "coredns": {},
    "metrics-server": {},
}
"""Deployments: they are healthy only once a node runs them."""


def declare_addons(
    name: str,
    addons: Mapping[str, Mapping[str, Any]],
    cluster_name: pulumi.Input[str],
    parent: pulumi.Resource,
    after: Sequence[pulumi.Resource] = (),
    roles: Mapping[str, Mapping[str, pulumi.Input[str]]] | None = None,
) -> tuple[aws.eks.Addon, ...]:
    """One add-on each, at the version that EKS prefers for the cluster's.

    `roles` names what their service accounts may do, by add-on and account.

    No version is named: the right one depends on the Kubernetes version and the region, only EKS
    knows it, and components look nothing up. A later default does not change an add-on by itself.
    """
    return tuple(
        aws.eks.Addon(
            naming.resource_name(name, addon),
            cluster_name=cluster_name,
            addon_name=addon,
            configuration_values=json.dumps(values, sort_keys=True) if values else None,
            pod_identity_associations=[
                aws.eks.AddonPodIdentityAssociationArgs(service_account=account, role_arn=arn)
                for account, arn in (roles or {}).get(addon, {}).items()
            ]
            or None,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            opts=pulumi.ResourceOptions(parent=parent, depends_on=list(after)),
        )
        for addon, values in addons.items()
    )
