"""One tier as an EKS managed node group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import pulumi
import pulumi_aws as aws

from berth.config.capacity import CapacityBlock
from berth.planner.plan import PoolPlan
from components import naming
from components.capacity import CapacityArguments, capacity_arguments
from components.efa import declare_efa_security_group, efa_layout, launch_template_interfaces
from components.launch_template import NodeTemplate, declare_launch_template, template_reference
from components.node_config import JoinedCluster, gpu_node_user_data
from components.scale_from_zero import declare_scale_from_zero_tags


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeHome:
    """The cluster that nodes join, new or not."""

    name: pulumi.Input[str]
    endpoint: pulumi.Input[str]
    certificate_authority: pulumi.Input[str]
    """In base64."""
    service_cidr: pulumi.Input[str]
    security_group_id: pulumi.Input[str]
    """The one that EKS gives all nodes of the cluster."""
    vpc_id: pulumi.Input[str]
    node_role_arn: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuNodeGroupArgs:
    """Plain values come from the plan, `Input`s from other resources."""

    plan: PoolPlan
    as_of: date
    stack: str
    cluster: NodeHome
    subnet_ids: Mapping[str, pulumi.Input[str]]
    """Private subnets by availability zone."""
    tags: Mapping[str, str]
    after: Sequence[pulumi.Resource] = ()
    """What a node needs before it can join."""


class GpuNodeGroup(pulumi.ComponentResource):
    """A launch template and a managed node group that only pods with the toleration can enter.

    A tier that buys its block has the purchase in it too, and a server that spans nodes its
    network interfaces.
    """

    node_group_name: pulumi.Output[str]

    def __init__(
        self, name: str, args: GpuNodeGroupArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("berth:index:GpuNodeGroup", name, None, opts)
        pool = args.plan
        capacity = capacity_arguments(pool, tuple(args.subnet_ids), args.as_of)
        tags = {
            **args.tags,
            **naming.tier_tags(pool.tier),
            **naming.name_tag(args.stack, pool.tier),
        }
        template = declare_launch_template(name, self._template(name, args, capacity, tags), self)
        group = aws.eks.NodeGroup(
            name,
            cluster_name=args.cluster.name,
            node_role_arn=args.cluster.node_role_arn,
            subnet_ids=[args.subnet_ids[zone] for zone in capacity.zones],
            ami_type=None if pool.ami_id else pool.ami_type,
            release_version=pool.ami_release,
            capacity_type=capacity.capacity_type,
            instance_types=capacity.node_group_instance_types,
            launch_template=template_reference(template),
            labels=naming.node_labels("gpu", pool.tier, pool.accelerator, pool.mig_profile),
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
                # The autoscaler changes it, and EKS itself before a block ends.
                ignore_changes=["scalingConfig.desiredSize"],
            ),
        )
        if capacity.min_nodes == 0:
            declare_scale_from_zero_tags(name, pool, group, parent=self)
        self.node_group_name = group.node_group_name
        self.register_outputs({"node_group_name": self.node_group_name})

    def _template(
        self, name: str, args: GpuNodeGroupArgs, capacity: CapacityArguments, tags: dict[str, str]
    ) -> NodeTemplate:
        pool = args.plan
        interfaces: Sequence[aws.ec2.LaunchTemplateNetworkInterfaceArgs] = ()
        if pool.efa_interfaces:
            group = declare_efa_security_group(
                naming.resource_name(name, "efa"), args.cluster.vpc_id, tags, parent=self
            )
            interfaces = launch_template_interfaces(
                efa_layout(pool.efa_interfaces, pool.efa_on_first_card),
                [args.cluster.security_group_id, group.id],
            )
        return NodeTemplate(
            root_disk_gib=_root_disk_gib(pool),
            root_disk_throughput_mib_per_s=pool.root_disk_throughput_mib_per_s,
            image_id=pool.ami_id,
            user_data=_user_data(pool, args.cluster),
            capacity=capacity,
            interfaces=interfaces,
            placement_group=self._placement_group(name, pool, tags),
            reservation_id=self._bought_block(name, pool, tags),
            tags=tags,
        )

    def _placement_group(
        self, name: str, pool: PoolPlan, tags: dict[str, str]
    ) -> pulumi.Output[str] | None:
        """Nodes of one replica are next to each other.

        A block places its instances together by itself, and refuses a group.
        """
        if pool.nodes_per_replica == 1 or isinstance(pool.capacity, CapacityBlock):
            return None
        group = aws.ec2.PlacementGroup(
            name, strategy="cluster", tags=tags, opts=pulumi.ResourceOptions(parent=self)
        )
        group_name: pulumi.Output[str] = group.name
        return group_name

    def _bought_block(
        self, name: str, pool: PoolPlan, tags: dict[str, str]
    ) -> pulumi.Output[str] | None:
        """Pays for the block, once; deleting the resource would only forget it."""
        if not isinstance(pool.capacity, CapacityBlock) or pool.capacity.purchase is None:
            return None
        block = aws.ec2.CapacityBlockReservation(
            name,
            capacity_block_offering_id=pool.capacity.purchase.offering_id,
            instance_platform="Linux/UNIX",
            tags=tags,
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        reservation_id: pulumi.Output[str] = block.id
        return reservation_id


def _user_data(pool: PoolPlan, cluster: NodeHome) -> pulumi.Input[str]:
    """EKS adds the cluster itself, but not to an AMI of one's own."""
    if pool.ami_id is None:
        return gpu_node_user_data(pool)
    return pulumi.Output.all(
        name=cluster.name,
        endpoint=cluster.endpoint,
        certificate_authority=cluster.certificate_authority,
        service_cidr=cluster.service_cidr,
    ).apply(lambda values: gpu_node_user_data(pool, JoinedCluster(**values)))


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
