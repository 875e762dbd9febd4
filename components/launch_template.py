"""The launch template of a node group: disk, metadata service, tags and what a block needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.capacity import CapacityArguments


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeTemplate:
    """What the nodes of a group have in common."""

    root_disk_gib: int
    tags: Mapping[str, str]
    """Of instances and volumes, which do not inherit the tags of the provider."""
    root_disk_throughput_mib_per_s: int | None = None
    """None: what every gp3 volume has."""
    user_data: pulumi.Input[str] | None = None
    """In base64."""
    image_id: str | None = None
    """An AMI of one's own."""
    interfaces: Sequence[aws.ec2.LaunchTemplateNetworkInterfaceArgs] = ()
    """Empty: one, as EKS makes it."""
    placement_group: pulumi.Input[str] | None = None
    """Name of the group whose instances are close to each other."""
    reservation_id: pulumi.Input[str] | None = None
    """Of a block that the stack itself buys."""
    capacity: CapacityArguments | None = None
    """None: the node group alone names the instance type."""


def declare_launch_template(
    name: str, template: NodeTemplate, parent: pulumi.Resource
) -> aws.ec2.LaunchTemplate:
    """A launch template with an encrypted gp3 root disk and session tokens for the metadata."""
    capacity = template.capacity
    return aws.ec2.LaunchTemplate(
        name,
        image_id=template.image_id,
        instance_type=capacity.template_instance_type if capacity else None,
        instance_market_options=_market(capacity),
        capacity_reservation_specification=_reservation(capacity, template.reservation_id),
        network_interfaces=list(template.interfaces) or None,
        placement=_placement(template.placement_group),
        block_device_mappings=[
            aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
                device_name="/dev/xvda",
                ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                    volume_type="gp3",
                    volume_size=template.root_disk_gib,
                    throughput=template.root_disk_throughput_mib_per_s,
                    encrypted="true",
                    delete_on_termination="true",
                ),
            )
        ],
        metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
            http_endpoint="enabled",
            http_tokens="required",
            http_put_response_hop_limit=2,  # pods reach the service through one more hop
        ),
        tag_specifications=[
            aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=dict(template.tags))
            for kind in ("instance", "volume")
        ],
        user_data=template.user_data,
        update_default_version=True,
        tags=dict(template.tags),
        opts=pulumi.ResourceOptions(parent=parent),
    )


def template_reference(
    template: aws.ec2.LaunchTemplate,
) -> aws.eks.NodeGroupLaunchTemplateArgs:
    """The newest version by number: EKS compares numbers, so `$Latest` would never update."""
    return aws.eks.NodeGroupLaunchTemplateArgs(
        id=template.id, version=template.latest_version.apply(str)
    )


def _market(
    capacity: CapacityArguments | None,
) -> aws.ec2.LaunchTemplateInstanceMarketOptionsArgs | None:
    if capacity is None or capacity.market_type is None:
        return None
    return aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type=capacity.market_type)


def _reservation(
    capacity: CapacityArguments | None, bought: pulumi.Input[str] | None
) -> aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    """A preference or a target; EC2 refuses both together."""
    if capacity is None:
        return None
    if capacity.reservation_preference is not None:
        return aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(
            capacity_reservation_preference=capacity.reservation_preference
        )
    reservation_id = bought if bought is not None else capacity.reservation_id
    if reservation_id is None and capacity.resource_group_arn is None:
        return None
    return aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(
        capacity_reservation_target=(
            aws.ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
                capacity_reservation_id=reservation_id,
                capacity_reservation_resource_group_arn=capacity.resource_group_arn,
            )
        )
    )


def _placement(
    group_name: pulumi.Input[str] | None,
) -> aws.ec2.LaunchTemplatePlacementArgs | None:
    if group_name is None:
        return None
    return aws.ec2.LaunchTemplatePlacementArgs(group_name=group_name)
