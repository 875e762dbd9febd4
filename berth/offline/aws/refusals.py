"""Requests that EC2 and EKS refuse for what two fields, or two resources, say together."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from berth.catalog.instance import load_instances
from berth.offline.cloud import Cloud
from berth.offline.values import Properties, is_unknown

Refusals = Callable[[Properties, Cloud, str], Iterator[str]]

MOST_TAINTS = 50
"""Source: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html"""
_LABEL_PART = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


def refusals(resource_type: str, inputs: Properties, cloud: Cloud, scope: str) -> list[str]:
    """Every rule that the request breaks, with the service's name for it and the field."""
    check = _CHECKS.get(resource_type)
    return list(check(inputs, cloud, scope)) if check is not None else []


def _node_group(inputs: Properties, cloud: Cloud, scope: str) -> Iterator[str]:
    types, subnets = inputs.get("instanceTypes") or [], inputs.get("subnetIds") or []
    template = _template_of(inputs, cloud, scope)
    named = template.get("instanceType")
    if types and named:
        yield (
            "InvalidRequestException: instanceTypes: the launch template names the instance type "
            f"{named} too; set it in one of them only"
        )
    for index, each in enumerate(types):
        yield from _unknown_type(f"instanceTypes[{index}]", each)
    if inputs.get("capacityType") == "CAPACITY_BLOCK":
        yield from _block(types, subnets, template)
    if template.get("imageId") and inputs.get("amiType") not in (None, "CUSTOM"):
        yield (
            "InvalidParameterException: amiType: the launch template names an image, so the type "
            "must be left out"
        )
    if inputs.get("diskSize") and template:
        yield "InvalidParameterException: diskSize: a launch template states the disk instead"
    yield from _sizes(inputs.get("scalingConfig") or {})
    taints = inputs.get("taints") or []
    if len(taints) > MOST_TAINTS:
        yield (
            f"InvalidParameterException: taints: {len(taints)} are more than the "
            f"{MOST_TAINTS} that a node group may have"
        )
    for key, value in (inputs.get("labels") or {}).items():
        yield from _label(str(key), value)


def _block(types: Any, subnets: Any, template: Mapping[str, Any]) -> Iterator[str]:
    if types:
        yield (
            "InvalidParameterException: instanceTypes: with capacityType CAPACITY_BLOCK the launch "
            "template names the instance type"
        )
    if len(subnets) > 1:
        yield (
            f"InvalidParameterException: subnetIds: {len(subnets)} are given, and a capacity block "
            "is in one zone"
        )
    market = (template.get("instanceMarketOptions") or {}).get("marketType")
    if template and market != "capacity-block":
        yield (
            "InvalidParameterException: launchTemplate: its instanceMarketOptions.marketType must "
            "be capacity-block"
        )


def _sizes(scaling: Mapping[str, Any]) -> Iterator[str]:
    least, wanted, most = (scaling.get(key) for key in ("minSize", "desiredSize", "maxSize"))
    if any(not isinstance(each, int | float) for each in (least, wanted, most)):
        return
    if least > wanted:  # type: ignore[operator]  # numbers, as seen above
        yield (
            f"InvalidParameterException: scalingConfig.minSize: {least:g} is above desiredSize "
            f"{wanted:g}"
        )
    if wanted > most:  # type: ignore[operator]
        yield (
            f"InvalidParameterException: scalingConfig.desiredSize: {wanted:g} is above maxSize "
            f"{most:g}"
        )


def _label(key: str, value: Any) -> Iterator[str]:
    """By the rules of Kubernetes, which EKS applies."""
    prefix, slash, name = key.rpartition("/")
    if not _LABEL_PART.fullmatch(name) or (slash and not 0 < len(prefix) <= 253):
        yield f"InvalidParameterException: labels: {key} is no label key"
    stated = isinstance(value, str) and not is_unknown(value) and value
    if stated and not _LABEL_PART.fullmatch(value):
        yield f"InvalidParameterException: labels.{key}: {value} is no label value"


def _launch_template(inputs: Properties, cloud: Cloud, scope: str) -> Iterator[str]:
    named = inputs.get("instanceType")
    if named is not None:
        yield from _unknown_type("instanceType", named)
    interfaces = inputs.get("networkInterfaces") or []
    public = [each for each in interfaces if _is_true(each.get("associatePublicIpAddress"))]
    if len(interfaces) > 1 and public:
        yield (
            "InvalidParameterCombination: networkInterfaces: associatePublicIpAddress cannot be "
            "set with several interfaces"
        )
    places = [(each.get("networkCardIndex"), each.get("deviceIndex")) for each in interfaces]
    if len(set(places)) < len(places):
        yield (
            "InvalidParameterCombination: networkInterfaces: two have the same card and device "
            "index"
        )
    reservation = inputs.get("capacityReservationSpecification") or {}
    if reservation.get("capacityReservationTarget") and reservation.get(
        "capacityReservationPreference"
    ) in ("open", "none"):
        yield (
            "InvalidParameterCombination: capacityReservationSpecification: a target excludes the "
            f"preference {reservation['capacityReservationPreference']}"
        )


def _unknown_type(field: str, given: Any) -> Iterator[str]:
    """A size that the family lacks, where the catalog has the family."""
    known = load_instances()
    if not isinstance(given, str) or is_unknown(given) or given in known:
        return
    sizes = [each for each in known if each.partition(".")[0] == given.partition(".")[0]]
    if sizes and sizes[0].partition(".")[0][0] in "gp":
        yield (
            f"InvalidInstanceType: {field}: {given} does not exist; its family has "
            f"{', '.join(sizes)}"
        )


def _template_of(inputs: Properties, cloud: Cloud, scope: str) -> Mapping[str, Any]:
    reference = inputs.get("launchTemplate") or {}
    template_id = reference.get("id")
    record = cloud.find(_TEMPLATE, scope, template_id) if isinstance(template_id, str) else None
    return record.properties if record is not None else {}


def _is_true(value: Any) -> bool:
    return value is True or value == "true"


_CHECKS: Mapping[str, Refusals] = {
    "aws:eks/nodeGroup:NodeGroup": _node_group,
    _TEMPLATE: _launch_template,
}
