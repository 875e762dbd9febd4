"""The cluster autoscaler: adds nodes for pods that wait, takes idle ones away."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from berth.planner.images import ChartImages
from berth.planner.plan import AutoscalerPlan, PoolPlan
from components import naming
from components.chart_images import with_images
from components.iam import POD_IDENTITY, POD_IDENTITY_ACTIONS

CHART_REPOSITORY: Final = "https://kubernetes.github.io/autoscaler"


@dataclass(frozen=True, kw_only=True, slots=True)
class AutoscalerArgs:
    """Plain values come from the plan, `Input`s from other resources."""

    plan: AutoscalerPlan
    pools: Mapping[str, PoolPlan]
    prefix: str
    """What the names of the tiers' node groups begin with."""
    cluster_name: pulumi.Input[str]
    region: str
    system_nodes: bool
    """The cluster has system nodes of this stack, which then run it."""
    in_aws: pulumi.ResourceOptions
    in_cluster: pulumi.ResourceOptions
    images: ChartImages | None = None
    """None: as the chart names them."""
    after: Sequence[pulumi.Resource] = ()


def declare_autoscaler(name: str, args: AutoscalerArgs) -> kubernetes.helm.v3.Release:
    """A Helm release on the system nodes, and a role that may resize this cluster's groups only."""
    role = aws.iam.Role(
        name,
        assume_role_policy=json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Principal": {"Service": POD_IDENTITY},
                        "Action": list(POD_IDENTITY_ACTIONS),
                    }
                ],
            }
        ),
        opts=args.in_aws,
    )
    policy = aws.iam.RolePolicy(
        name,
        role=role.name,
        policy=pulumi.Output.from_input(args.cluster_name).apply(
            lambda cluster: json.dumps(role_policy(cluster))
        ),
        opts=args.in_aws,
    )
    identity = aws.eks.PodIdentityAssociation(
        name,
        cluster_name=args.cluster_name,
        namespace=naming.SYSTEM_NAMESPACE,
        service_account=naming.AUTOSCALER_SERVICE_ACCOUNT,
        role_arn=role.arn,
        opts=args.in_aws,
    )
    return kubernetes.helm.v3.Release(
        name,
        name="cluster-autoscaler",
        chart="cluster-autoscaler",
        version=args.plan.chart_version,
        repository_opts=kubernetes.helm.v3.RepositoryOptsArgs(repo=CHART_REPOSITORY),
        namespace=naming.SYSTEM_NAMESPACE,
        values=with_images(chart_values(args), args.images),
        opts=pulumi.ResourceOptions.merge(
            args.in_cluster,
            pulumi.ResourceOptions(depends_on=[policy, identity, *args.after]),
        ),
    )


def role_policy(cluster_name: str) -> dict[str, Any]:
    """Look at all groups, change those that EKS has tagged with the cluster's name.

    Source:
        https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
    """
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": [
                    "autoscaling:DescribeAutoScalingGroups",
                    "autoscaling:DescribeAutoScalingInstances",
                    "autoscaling:DescribeLaunchConfigurations",
                    "autoscaling:DescribeScalingActivities",
                    "ec2:DescribeImages",
                    "ec2:DescribeInstanceTypes",
                    "ec2:DescribeLaunchTemplateVersions",
                    "ec2:GetInstanceTypesFromInstanceRequirements",
                    "eks:DescribeNodegroup",
                ],
                "Resource": "*",
            },
            {
                "Effect": "Allow",
                "Action": [
                    "autoscaling:SetDesiredCapacity",
                    "autoscaling:TerminateInstanceInAutoScalingGroup",
                ],
                "Resource": "*",
                "Condition": {
                    "StringEquals": {
                        f"aws:ResourceTag/k8s.io/cluster-autoscaler/{cluster_name}": "owned"
                    }
                },
            },
        ],
    }


def chart_values(args: AutoscalerArgs) -> dict[str, Any]:
    """Values that differ from the chart's, or that must not change with it."""
    order = priorities(args.prefix, args.pools)
    values: dict[str, Any] = {
        "cloudProvider": "aws",
        "awsRegion": args.region,
        "autoDiscovery": {"clusterName": args.cluster_name},
        "image": {"tag": args.plan.image_tag},
        "rbac": {"serviceAccount": {"name": naming.AUTOSCALER_SERVICE_ACCOUNT}},
        "extraArgs": {
            "expander": "priority,least-waste" if order else "least-waste",
            "skip-nodes-with-system-pods": False,
        },
    }
    if order:
        values["expanderPriorities"] = json.dumps(order, indent=1)
    if args.system_nodes:
        values["nodeSelector"] = {naming.NODE_ROLE_LABEL: "system"}
    return values


def priorities(prefix: str, pools: Mapping[str, PoolPlan]) -> dict[str, list[str]]:
    """Patterns of Auto Scaling groups by priority, the highest first; JSON is YAML too."""
    order: dict[int, list[str]] = {}
    for tier, pool in pools.items():
        if pool.autoscaler_priority and pool.source == "eks":
            pattern = naming.autoscaling_group_pattern(prefix, tier)
            order.setdefault(pool.autoscaler_priority, []).append(pattern)
    return {str(priority): order[priority] for priority in sorted(order, reverse=True)}
