"""Resources of the `aws-native` provider as those of `aws`: other names for the same things."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from berth.costs.resources.around import (
    CLUSTER,
    ELASTIC_IP,
    KMS_KEY,
    LOAD_BALANCER,
    NAT_GATEWAY,
    VPC_ENDPOINT,
)
from berth.costs.resources.node_pool import (
    AUTO_SCALING_GROUP,
    INSTANCE,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
)
from berth.costs.resources.reservations import RESERVATION
from berth.costs.resources.resource import Declared
from berth.costs.resources.storage import LUSTRE, VOLUME

PREFIX: Final = "aws-native:"
Properties = Mapping[str, Any]


def as_classic(resource: Declared) -> Declared:
    """The same resource in the words of the `aws` provider, where a line prices its kind."""
    found = _TYPES.get(resource.type)
    if found is None:
        return resource
    if resource.type == _FILE_SYSTEM and resource.inputs.get("fileSystemType") != "LUSTRE":
        return resource
    rewrite = _REWRITES.get(resource.type)
    if rewrite is None:
        return replace(resource, type=found)
    raw = msgspec.Raw(msgspec.json.encode(rewrite(resource.inputs)))
    return replace(resource, type=found, raw_inputs=raw)


def _template(inputs: Properties) -> Properties:
    data = inputs.get("launchTemplateData")
    name = {"name": inputs["launchTemplateName"]} if "launchTemplateName" in inputs else {}
    return {**(data if isinstance(data, Mapping) else {}), **name}


def _volume(inputs: Properties) -> Properties:
    return {**inputs, "type": inputs.get("volumeType")}


def _balancer(inputs: Properties) -> Properties:
    return {**inputs, "loadBalancerType": inputs.get("type")}


def _file_system(inputs: Properties) -> Properties:
    own = inputs.get("lustreConfiguration")
    return {**inputs, **(own if isinstance(own, Mapping) else {})}


_FILE_SYSTEM: Final = "aws-native:fsx:FileSystem"
_TEMPLATE: Final = "aws-native:ec2:LaunchTemplate"
_VOLUME: Final = "aws-native:ec2:Volume"
_BALANCER: Final = "aws-native:elasticloadbalancingv2:LoadBalancer"
_TYPES: Final = {
    "aws-native:autoscaling:AutoScalingGroup": AUTO_SCALING_GROUP,
    "aws-native:ec2:CapacityReservation": RESERVATION,
    "aws-native:ec2:Eip": ELASTIC_IP,
    "aws-native:ec2:Instance": INSTANCE,
    "aws-native:ec2:NatGateway": NAT_GATEWAY,
    "aws-native:ec2:VpcEndpoint": VPC_ENDPOINT,
    "aws-native:eks:Cluster": CLUSTER,
    "aws-native:eks:Nodegroup": NODE_GROUP,
    "aws-native:kms:Key": KMS_KEY,
    _BALANCER: LOAD_BALANCER,
    _FILE_SYSTEM: LUSTRE,
    _TEMPLATE: LAUNCH_TEMPLATE,
    _VOLUME: VOLUME,
}
_REWRITES: Final[Mapping[str, Callable[[Properties], Properties]]] = {
    _BALANCER: _balancer,
    _FILE_SYSTEM: _file_system,
    _TEMPLATE: _template,
    _VOLUME: _volume,
}
"""Where properties, too, are called otherwise."""
