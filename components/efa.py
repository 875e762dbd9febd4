"""Elastic Fabric Adapters, for servers that span nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from berth.planner.images import ChartImages
from components import naming
from components.chart_images import with_images

PLUGIN_REPOSITORY: Final = "https://aws.github.io/eks-charts"


@dataclass(frozen=True, slots=True)
class NetworkInterface:
    """One interface of an instance, by its place."""

    card: int
    device: int
    kind: Literal["interface", "efa-only"]


def efa_layout(efa_interfaces: int, on_first_card: bool) -> tuple[NetworkInterface, ...]:
    """The interfaces of an instance with so many EFA interfaces.

    The first one carries all addresses and no EFA. Where its card has an EFA interface too, that
    is a second device; every other card has one device. `efa-only` takes no IP address.

    Source:
        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html and
        https://github.com/aws/aws-parallelcluster/issues/7143 (types without EFA on card 0).
    """
    first = NetworkInterface(card=0, device=0, kind="interface")
    cards = range(0 if on_first_card else 1, efa_interfaces + (0 if on_first_card else 1))
    return (
        first,
        *(NetworkInterface(card, 1 if card == 0 else 0, "efa-only") for card in cards),
    )


def launch_template_interfaces(
    layout: Sequence[NetworkInterface], security_group_ids: Sequence[pulumi.Input[str]]
) -> list[aws.ec2.LaunchTemplateNetworkInterfaceArgs]:
    """As a launch template has them: no subnet, which EKS chooses, and no public address."""
    return [
        aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=each.card,
            device_index=each.device,
            interface_type=each.kind,
            security_groups=list(security_group_ids),
            delete_on_termination="true",
        )
        for each in layout
    ]


def declare_efa_security_group(
    name: str, vpc_id: pulumi.Input[str], tags: dict[str, str], parent: pulumi.Resource
) -> aws.ec2.SecurityGroup:
    """A security group that allows all traffic from and to itself, as EFA needs it."""
    options = pulumi.ResourceOptions(parent=parent)
    group = aws.ec2.SecurityGroup(
        name,
        vpc_id=vpc_id,
        description="EFA traffic between the nodes of a tier",
        tags=tags,
        opts=options,
    )
    aws.vpc.SecurityGroupIngressRule(
        name,
        security_group_id=group.id,
        referenced_security_group_id=group.id,
        ip_protocol="-1",
        opts=options,
    )
    aws.vpc.SecurityGroupEgressRule(
        name,
        security_group_id=group.id,
        referenced_security_group_id=group.id,
        ip_protocol="-1",
        opts=options,
    )
    return group


def declare_efa_plugin(
    name: str, version: str, images: ChartImages | None, options: pulumi.ResourceOptions
) -> kubernetes.helm.v3.Release:
    """The device plugin that hands EFA interfaces out to pods; it tolerates the GPU taint."""
    return kubernetes.helm.v3.Release(
        name,
        name="aws-efa-k8s-device-plugin",
        chart="aws-efa-k8s-device-plugin",
        version=version,
        repository_opts=kubernetes.helm.v3.RepositoryOptsArgs(repo=PLUGIN_REPOSITORY),
        namespace=naming.SYSTEM_NAMESPACE,
        values=with_images({"tolerations": [naming.gpu_toleration("nvidia")]}, images),
        opts=options,
    )
