"""Resources that no line prices: named, unless they are known to cost nothing by the hour."""

from collections.abc import Iterator
from typing import Final

from berth.costs.estimate import Unpriced
from berth.costs.resources.around import AROUND_TYPES, ByType
from berth.costs.resources.blocks import BLOCK_PURCHASE
from berth.costs.resources.node_pool import LAUNCH_TEMPLATE, POOL_TYPES
from berth.costs.resources.reservations import RESERVATION
from berth.costs.resources.storage import STORAGE_TYPES

BERTH_PREFIX: Final = "berth:index:"

_WITHOUT_HOURS: Final = (
    "aws-native:autoscaling:LaunchConfiguration",
    "aws-native:autoscaling:LifecycleHook",
    "aws-native:autoscaling:ScalingPolicy",
    "aws-native:ec2:EgressOnlyInternetGateway",
    "aws-native:ec2:EipAssociation",
    "aws-native:ec2:InternetGateway",
    "aws-native:ec2:NetworkAcl",
    "aws-native:ec2:NetworkInterface",
    "aws-native:ec2:PlacementGroup",
    "aws-native:ec2:Route",
    "aws-native:ec2:SecurityGroup",
    "aws-native:ec2:Subnet",
    "aws-native:ec2:VolumeAttachment",
    "aws-native:ec2:VpcGatewayAttachment",
    "aws-native:ecr:",
    "aws-native:eks:AccessEntry",
    "aws-native:eks:Addon",
    "aws-native:eks:PodIdentityAssociation",
    "aws-native:elasticloadbalancingv2:Listener",
    "aws-native:elasticloadbalancingv2:TargetGroup",
    "aws-native:iam:",
    "aws-native:kms:Alias",
    "aws-native:s3:",
    "aws-native:ssm:Parameter",
    "aws:autoscaling/",
    "aws:cloudwatch/",
    "aws:dynamodb/",
    "aws:ec2/defaultRouteTable:",
    "aws:ec2/defaultSecurityGroup:",
    "aws:ec2/eipAssociation:",
    "aws:ec2/egressOnlyInternetGateway:",
    "aws:ec2/flowLog:",
    "aws:ec2/internetGateway:",
    "aws:ec2/keyPair:",
    "aws:ec2/mainRouteTableAssociation:",
    "aws:ec2/networkAcl",
    "aws:ec2/networkInterface:",
    "aws:ec2/placementGroup:",
    "aws:ec2/route",
    "aws:ec2/securityGroup",
    "aws:ec2/subnet",
    "aws:ec2/tag:",
    "aws:ec2/volumeAttachment:",
    "aws:ec2/vpc:",
    "aws:ec2/vpcDhcpOptions",
    "aws:ec2/vpcEndpointPolicy:",
    "aws:ec2/vpcEndpointRouteTableAssociation:",
    "aws:ec2/vpcEndpointSubnetAssociation:",
    "aws:ec2/vpcIpv4CidrBlockAssociation:",
    "aws:ec2transitgateway/route",
    "aws:ecr/",
    "aws:eks/accessEntry:",
    "aws:eks/accessPolicyAssociation:",
    "aws:eks/addon:",
    "aws:eks/identityProviderConfig:",
    "aws:eks/podIdentityAssociation:",
    "aws:iam/",
    "aws:kms/alias:",
    "aws:kms/grant:",
    "aws:kms/keyPolicy:",
    "aws:lambda/function:",
    "aws:lambda/permission:",
    "aws:lb/listener",
    "aws:lb/targetGroup",
    "aws:resourcegroups/",
    "aws:s3/",
    "aws:sns/",
    "aws:sqs/",
    "aws:ssm/activation:",
    "aws:ssm/parameter:",
    "aws:vpc/securityGroup",
)
"""Starts of types that cost nothing, or by use alone, as AWS's pages of prices have it; what
depends on use is in no estimate. A type that is missing here is named, never left out."""


def others(by_type: ByType, *, with_settings: bool) -> Iterator[Unpriced]:
    """What costs money, or may, and stands in no line.

    Args:
        by_type: the resources of one side.
        with_settings: the stack's settings are known, which say what a bought block costs.
    """
    for kind, resources in by_type.items():
        reason = _reason(kind)
        if reason is not None:
            yield from (Unpriced(resource=each.name, reason=reason) for each in resources)
    if not with_settings and any(kind.startswith(BERTH_PREFIX) for kind in by_type):
        yield Unpriced(
            resource="the stack",
            reason="its settings, with fees and the owner's prices, are not in the document; "
            "price it by `berth cost --stack`",
        )


def _reason(kind: str) -> str | None:
    if not kind.startswith(("aws:", "aws-native:")) or kind in _PRICED:
        return None
    if kind.startswith(_WITHOUT_HOURS) or kind == "aws-native:ec2:Vpc":
        return None
    return f"no price of {kind} is kept"


_PRICED: Final = (
    POOL_TYPES | AROUND_TYPES | STORAGE_TYPES | {BLOCK_PURCHASE, LAUNCH_TEMPLATE, RESERVATION}
)
