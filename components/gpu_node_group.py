"""One tier as an EKS managed node group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import pulumi
import pulumi_aws as aws

from berth.planner.plan import PoolPlan
from components import naming
from components.capacity import CapacityArguments, capacity_arguments
from components.launch_template import NodeTemplate, declare_launch_template, template_reference
from components.node_config import gpu_node_user_data


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuNodeGroupArgs:
    """Plain values come from the plan, `Input`s from other resources."""

    plan: PoolPlan
    as_of: date
    stack: str
    cluster_name: pulumi.Input[str]
    node_role_arn: pulumi.Input[str]
    subnet_ids: Mapping[str, pulumi.Input[str]]
    """Private subnets by availability zone."""
    tags: Mapping[str, str]
    after: Sequence[pulumi.Resource] = ()
    """What a node needs before it can join."""


class GpuNodeGroup(pulumi.ComponentResource):
    """A launch template and a managed node group that only pods with the toleration can enter."""

    node_group_name: pulumi.Output[str]

    def __init__(
        self, name: str, args: GpuNodeGroupArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("berth:index:GpuNodeGroup", name, None, opts)
        pool = args.plan
        capacity = capacity_arguments(pool, tuple(args.subnet_ids), args.as_of)
        template = declare_launch_template(
            name,
            NodeTemplate(
                root_disk_gib=_root_disk_gib(pool),
                user_data=gpu_node_user_data(pool.local_nvme),
                capacity=capacity,
                tags={
                    **args.tags,
                    **naming.tier_tags(pool.tier),
                    **naming.name_tag(args.stack, pool.tier),
                },
            ),
            parent=self,
        )
        group = aws.eks.NodeGroup(
            name,
            cluster_name=args.cluster_name,
            node_role_arn=args.node_role_arn,
            subnet_ids=[args.subnet_ids[zone] for zone in capacity.zones],
            ami_type=pool.ami_type,
            capacity_type=capacity.capacity_type,
            instance_types=capacity.node_group_instance_types,
            launch_template=template_reference(template),
            labels=naming.node_labels("gpu", pool.tier, pool.accelerator),
            taints=[
                aws.eks.NodeGroupTaintArgs(
                    key=naming.GPU_TAINT_KEY[pool.gpu_vendor],
                    value=naming.GPU_TAINT_VALUE,
                    effect="NO_SCHEDULE",
                )
            ],
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                min_size=capacity.min_nodes,
                desired_size=capacity.desired_nodes,
                max_size=pool.max_nodes,
            ),
            update_config=_update_config(capacity),
            node_repair_config=_repair_config(pool.max_nodes),
            tags=naming.tier_tags(pool.tier),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=list(args.after),
                delete_before_replace=capacity.scarce,
                # Autoscalers change it, and EKS itself before a block ends.
                ignore_changes=["scalingConfig.desiredSize"],
            ),
        )
        self.node_group_name = group.node_group_name
        self.register_outputs({"node_group_name": self.node_group_name})


def _root_disk_gib(pool: PoolPlan) -> int:
    if pool.root_disk_gib is None:
        raise ValueError(f"tier {pool.tier}: a node group needs root_disk_gib")
    return pool.root_disk_gib


def _update_config(capacity: CapacityArguments) -> aws.eks.NodeGroupUpdateConfigArgs:
    """One node at a time; on scarce capacity the old one ends first, since no spare exists."""
    return aws.eks.NodeGroupUpdateConfigArgs(
        max_unavailable=1, update_strategy="MINIMAL" if capacity.scarce else "DEFAULT"
    )


def _repair_config(max_nodes: int) -> aws.eks.NodeGroupNodeRepairConfigArgs:
    """Replace broken nodes one by one, by counts: shares say nothing about groups of one to four.

    Repair stops when more than half are broken at once: that has one cause, which new nodes share.
    """
    return aws.eks.NodeGroupNodeRepairConfigArgs(
        enabled=True,
        max_parallel_nodes_repaired_count=1,
        max_unhealthy_node_threshold_count=(max_nodes + 1) // 2,
    )
