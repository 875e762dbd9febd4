"""IAM roles that an EKS cluster needs: one for the control plane, one for all its nodes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_aws as aws

from components import naming

CLUSTER_POLICIES: Final = ("AmazonEKSClusterPolicy",)
NODE_POLICIES: Final = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
)
"""Join the cluster, give addresses to pods, pull images, and open a shell without SSH.
Source: https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html"""


EBS_POLICIES: Final = ("service-role/AmazonEBSCSIDriverPolicy",)
"""Source: https://docs.aws.amazon.com/eks/latest/userguide/ebs-csi.html"""

POD_IDENTITY: Final = "pods.eks.amazonaws.com"
POD_IDENTITY_ACTIONS: Final = ("sts:AssumeRole", "sts:TagSession")
"""How pods get a role. Source: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html"""


@dataclass(frozen=True, slots=True)
class ServiceRole:
    """A role and the attachments without which it can do nothing."""

    arn: pulumi.Output[str]
    attachments: tuple[pulumi.Resource, ...]


def declare_service_role(
    name: str,
    *,
    service: str,
    actions: Sequence[str],
    policies: Sequence[str],
    partition: str,
    parent: pulumi.Resource | None = None,
    options: pulumi.ResourceOptions | None = None,
) -> ServiceRole:
    """A role that an AWS service assumes, with policies that AWS maintains.

    Args:
        name: of the role; EKS and EC2 show it in their messages.
        service: who assumes it, such as `eks.amazonaws.com`.
        actions: how it is assumed.
        policies: names of AWS managed policies.
        partition: as in ARNs.
        parent: the component that holds it.
        options: instead of `parent`, where the provider is not that of the parent.
    """
    opts = options or pulumi.ResourceOptions(parent=parent)
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": list(actions),
    }
    role = aws.iam.Role(
        name,
        assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
        opts=opts,
    )
    attachments = tuple(
        aws.iam.RolePolicyAttachment(
            naming.resource_name(name, policy.rpartition("/")[2]),
            role=role.name,
            policy_arn=f"arn:{partition}:iam::aws:policy/{policy}",
            opts=opts,
        )
        for policy in policies
    )
    return ServiceRole(role.arn, attachments)
