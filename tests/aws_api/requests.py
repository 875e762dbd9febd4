"""Which request of AWS each of our resources becomes, and under which names.

The names of a Pulumi resource are those of the request but for case; what differs stands here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Properties = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One operation of one service, and what sets its parameters apart from the inputs."""

    service: str
    operation: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    """Inputs that another request carries, or that only the provider reads."""
    shaped: Callable[[Properties], Properties] = dict


EC2_TAGS: Final = frozenset({"tags"})


def _launch_template(inputs: Properties) -> Properties:
    data = {key: value for key, value in inputs.items() if key not in ("name", "tags")}
    return {"name": inputs["name"], "launchTemplateData": data}


def _cluster(inputs: Properties) -> Properties:
    kinds = inputs.get("enabledClusterLogTypes", [])
    logging = {"clusterLogging": [{"types": kinds, "enabled": True}]}
    rest = {key: value for key, value in inputs.items() if key != "enabledClusterLogTypes"}
    return {**rest, "logging": logging}


def _security_group_rule(inputs: Properties) -> Properties:
    permission = {key: inputs[key] for key in ("ipProtocol", "fromPort", "toPort") if key in inputs}
    if "cidrIpv4" in inputs:
        permission["ipRanges"] = [{"cidrIp": inputs["cidrIpv4"]}]
    if "referencedSecurityGroupId" in inputs:
        permission["userIdGroupPairs"] = [{"groupId": inputs["referencedSecurityGroupId"]}]
    return {"groupId": inputs["securityGroupId"], "ipPermissions": [permission]}


def _group_tag(inputs: Properties) -> Properties:
    group = {"resourceId": inputs["autoscalingGroupName"], "resourceType": "auto-scaling-group"}
    return {"tags": [{**group, **inputs["tag"]}]}


def _ec2(operation: str, *left_out: str, **others: Any) -> Request:
    return Request(
        service="ec2", operation=operation, left_out=EC2_TAGS | frozenset(left_out), **others
    )


REQUESTS: Final[Mapping[str, Request]] = {
    "aws:autoscaling/tag:Tag": Request(
        service="autoscaling", operation="CreateOrUpdateTags", shaped=_group_tag
    ),
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": _ec2("PurchaseCapacityBlock"),
    "aws:ec2/eip:Eip": _ec2("AllocateAddress"),
    "aws:ec2/internetGateway:InternetGateway": _ec2("CreateInternetGateway", "vpcId"),
    "aws:ec2/launchTemplate:LaunchTemplate": _ec2(
        "CreateLaunchTemplate",
        "updateDefaultVersion",
        renamed={"name": "launchTemplateName", "securityGroups": "groups"},
        shaped=_launch_template,
    ),
    "aws:ec2/natGateway:NatGateway": _ec2("CreateNatGateway"),
    "aws:ec2/placementGroup:PlacementGroup": _ec2(
        "CreatePlacementGroup", renamed={"name": "groupName"}
    ),
    "aws:ec2/route:Route": _ec2("CreateRoute"),
    "aws:ec2/routeTable:RouteTable": _ec2("CreateRouteTable"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _ec2("AssociateRouteTable"),
    "aws:ec2/securityGroup:SecurityGroup": _ec2(
        "CreateSecurityGroup", "revokeRulesOnDelete", renamed={"name": "groupName"}
    ),
    "aws:ec2/subnet:Subnet": _ec2(
        "CreateSubnet",
        "assignIpv6AddressOnCreation",
        "enableDns64",
        "enableResourceNameDnsARecordOnLaunch",
        "enableResourceNameDnsAaaaRecordOnLaunch",
        "mapPublicIpOnLaunch",
    ),
    "aws:ec2/vpc:Vpc": _ec2("CreateVpc", "enableDnsHostnames", "enableDnsSupport"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _ec2("CreateVpcEndpoint"),
    "aws:eks/accessEntry:AccessEntry": Request(service="eks", operation="CreateAccessEntry"),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Request(
        service="eks", operation="AssociateAccessPolicy"
    ),
    "aws:eks/addon:Addon": Request(
        service="eks",
        operation="CreateAddon",
        renamed={"resolveConflictsOnCreate": "resolveConflicts"},
        left_out=frozenset({"resolveConflictsOnUpdate"}),
    ),
    "aws:eks/cluster:Cluster": Request(
        service="eks",
        operation="CreateCluster",
        renamed={"vpcConfig": "resourcesVpcConfig"},
        shaped=_cluster,
    ),
    "aws:eks/nodeGroup:NodeGroup": Request(
        service="eks",
        operation="CreateNodegroup",
        renamed={"nodeRoleArn": "nodeRole", "subnetIds": "subnets"},
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Request(
        service="eks", operation="CreatePodIdentityAssociation"
    ),
    "aws:iam/role:Role": Request(
        service="iam",
        operation="CreateRole",
        renamed={"name": "roleName", "assumeRolePolicy": "assumeRolePolicyDocument"},
        left_out=frozenset({"forceDetachPolicies"}),
    ),
    "aws:iam/rolePolicy:RolePolicy": Request(
        service="iam",
        operation="PutRolePolicy",
        renamed={"name": "policyName", "policy": "policyDocument", "role": "roleName"},
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Request(
        service="iam", operation="AttachRolePolicy", renamed={"role": "roleName"}
    ),
    "aws:kms/key:Key": Request(
        service="kms",
        operation="CreateKey",
        renamed={"customerMasterKeySpec": "keySpec"},
        left_out=frozenset({"deletionWindowInDays", "enableKeyRotation", "isEnabled"}),
    ),
    "aws:rolesanywhere/profile:Profile": Request(
        service="rolesanywhere", operation="CreateProfile"
    ),
    "aws:rolesanywhere/trustAnchor:TrustAnchor": Request(
        service="rolesanywhere", operation="CreateTrustAnchor"
    ),
    "aws:ssm/activation:Activation": Request(
        service="ssm", operation="CreateActivation", renamed={"name": "defaultInstanceName"}
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _ec2(
        "AuthorizeSecurityGroupEgress", shaped=_security_group_rule
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _ec2(
        "AuthorizeSecurityGroupIngress", shaped=_security_group_rule
    ),
}
"""By the type token of the resource."""
