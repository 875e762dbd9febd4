"""What an autoscaler must know of a node group that has no node to look at."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from berth.planner.plan import PoolPlan
from components import naming


def declare_scale_from_zero_tags(
    name: str, pool: PoolPlan, group: aws.eks.NodeGroup, parent: pulumi.Resource
) -> None:
    """Labels, taint and GPUs of the pool as tags of its Auto Scaling group.

    EKS copies no tag of a node group there, so each is a resource of its own.

    Source:
        https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
    """
    group_name = group.resources.apply(lambda resources: resources[0].autoscaling_groups[0].name)
    for key, value in scale_from_zero_tags(pool).items():
        aws.autoscaling.Tag(
            naming.resource_name(name, naming.scale_from_zero_name(key)),
            autoscaling_group_name=group_name,
            tag=aws.autoscaling.TagTagArgs(key=key, value=value, propagate_at_launch=False),
            opts=pulumi.ResourceOptions(parent=parent),
        )


def scale_from_zero_tags(pool: PoolPlan) -> Mapping[str, str]:
    """Tags by key."""
    labels = naming.node_labels("gpu", pool.tier, pool.accelerator, pool.mig_profile)
    template = naming.SCALE_FROM_ZERO_PREFIX
    return {
        **{f"{template}/label/{key}": value for key, value in labels.items()},
        f"{template}/taint/{naming.GPU_TAINT_KEY[pool.gpu_vendor]}": (
            f"{naming.GPU_TAINT_VALUE}:NoSchedule"
        ),
        f"{template}/resources/{pool.gpu_resource}": str(pool.gpus_per_node),
        **(
            {f"{template}/resources/{naming.EFA_RESOURCE}": str(pool.efa_interfaces)}
            if pool.efa_interfaces
            else {}
        ),
    }
