"""One function per look-up that the stand-in AWS provider answers."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from berth.catalog.region import load_regions
from berth.offline.aws.assigned import short_region
from berth.offline.aws.existing import pretended_cluster, pretended_subnet
from berth.offline.aws.lookups import FUNCTIONS_FILE, Answer, Asked, lookup_data, missing
from berth.offline.aws.policy_document import render_policy_document
from berth.offline.checks import nearest
from berth.offline.cloud import Record
from berth.offline.provider import UnsupportedError
from berth.offline.values import Properties, plain


def answer(asked: Asked) -> Properties:
    """The answer to a look-up.

    Raises:
        UnsupportedError: if it has none; the text names the function and the file to add it to.
    """
    function = ANSWERS.get(asked.token)
    if function is None:
        hint = nearest(asked.token, ANSWERS, close_enough=0.9)
        raise UnsupportedError(
            f"{asked.token}: no answer offline{hint}; write its function in {FUNCTIONS_FILE}"
        )
    return {**asked.arguments, **function(asked)}


def _zones(asked: Asked) -> Mapping[str, Any]:
    excluded_names = asked.arguments.get("excludeNames") or []
    excluded_ids = asked.arguments.get("excludeZoneIds") or []
    zones = [
        (name, zone_id)
        for name, zone_id in _all_zones(asked)
        if name not in excluded_names and zone_id not in excluded_ids
    ]
    for wanted in asked.arguments.get("filters") or []:
        zones = [zone for zone in zones if _passes(asked, wanted, zone)]
    return {
        "id": asked.region,
        "names": [name for name, _ in zones],
        "zoneIds": [zone_id for _, zone_id in zones],
        "groupNames": [f"{asked.region}-zg-1"],
        "region": asked.region,
    }


def _passes(asked: Asked, wanted: Mapping[str, Any], zone: tuple[str, str]) -> bool:
    values = {
        "zone-name": zone[0],
        "zone-id": zone[1],
        "opt-in-status": "opt-in-not-required",
        "zone-type": "availability-zone",
        "region-name": asked.region,
        "state": "available",
        "group-name": f"{asked.region}-zg-1",
    }
    if wanted["name"] not in values:
        raise missing(asked, f"filter {wanted['name']}")
    return values[wanted["name"]] in wanted["values"]


def _all_zones(asked: Asked) -> list[tuple[str, str]]:
    regions = load_regions()
    if asked.region not in regions:
        raise UnsupportedError(
            f"{asked.token}: region {asked.region} is not known{nearest(asked.region, regions)}; "
            "add it to berth/catalog/regions.yaml"
        )
    short = short_region(asked.region)
    letters = regions[asked.region].zones
    return [(f"{asked.region}{x}", f"{short}-az{'abcdef'.index(x) + 1}") for x in letters]


def _caller(asked: Asked) -> Mapping[str, Any]:
    account = lookup_data()["account"]
    arn = account["arn"].replace(account["id"], asked.account)
    return {
        "id": asked.account,
        "accountId": asked.account,
        "arn": arn,
        "userId": account["user_id"],
    }


def _region(asked: Asked) -> Mapping[str, Any]:
    return {
        "id": asked.region,
        "name": asked.region,
        "region": asked.region,
        "description": lookup_data()["region_names"].get(asked.region, asked.region),
        "endpoint": f"ec2.{asked.region}.amazonaws.com",
    }


def _partition(asked: Asked) -> Mapping[str, Any]:
    return {
        "id": "aws",
        "partition": "aws",
        "dnsSuffix": "amazonaws.com",
        "reverseDnsPrefix": "com.amazonaws",
    }


def _parameter(asked: Asked) -> Mapping[str, Any]:
    name = asked.arguments["name"]
    own = _own(asked, "aws:ssm/parameter:Parameter", "name")
    if own is not None:
        return {"id": name, **_pick(own, ("arn", "type", "value", "version")), "insecureValue": ""}
    for row in lookup_data()["parameters"]:
        if re.fullmatch(row["pattern"], name):
            digest = hashlib.sha256(f"{asked.region}{name}".encode()).hexdigest()
            value = row["value"].replace("{hex16}", digest[:16])
            return {
                "id": name,
                "arn": f"arn:aws:ssm:{asked.region}::parameter{name}",
                "type": "String",
                "value": value,
                "insecureValue": value,
                "version": 1,
                "region": asked.region,
            }
    raise missing(asked, f"parameter {name}")


def _addon_version(asked: Asked) -> Mapping[str, Any]:
    name = asked.arguments["addonName"]
    data = lookup_data()
    if name not in data["addons"]:
        raise missing(asked, f"add-on {name}{nearest(name, data['addons'])}:")
    return {"id": name, "version": data["addon_version"], "region": asked.region}


def _policy_document(asked: Asked) -> Mapping[str, Any]:
    document = render_policy_document(asked.arguments)
    text = json.dumps(document, indent=2)
    return {
        "id": str(int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)),
        "json": text,
        "minifiedJson": json.dumps(document, separators=(",", ":")),
        "version": document["Version"],
    }


def _offerings(asked: Asked) -> Mapping[str, Any]:
    """Offline everything is offered everywhere: each type asked for, in each place asked for."""
    kind = asked.arguments.get("locationType") or "region"
    filters = {f["name"]: f["values"] for f in asked.arguments.get("filters") or []}
    if "instance-type" not in filters:
        raise missing(asked, "a request without the filter instance-type")
    every = {
        "region": [asked.region],
        "availability-zone": [name for name, _ in _all_zones(asked)],
        "availability-zone-id": [zone_id for _, zone_id in _all_zones(asked)],
    }
    wanted = filters.get("location", every[kind])
    pairs = [
        (t, place) for t in filters["instance-type"] for place in every[kind] if place in wanted
    ]
    return {
        "id": asked.region,
        "instanceTypes": [instance_type for instance_type, _ in pairs],
        "locations": [place for _, place in pairs],
        "locationTypes": [kind for _ in pairs],
        "region": asked.region,
    }


def _cluster(asked: Asked) -> Mapping[str, Any]:
    own = _own(asked, "aws:eks/cluster:Cluster", "name")
    if own is None:
        return pretended_cluster(asked)
    names = ("arn", "createdAt", "endpoint", "roleArn", "status", "version", "tags")
    return {
        "id": asked.arguments["name"],
        **_pick(own, (*names, "identities", "vpcConfig", "platformVersion", "region")),
        "certificateAuthorities": [own["certificateAuthority"]],
        "accessConfigs": [own["accessConfig"]],
        "kubernetesNetworkConfigs": [own["kubernetesNetworkConfig"]],
    }


def _subnet(asked: Asked) -> Mapping[str, Any]:
    """A subnet of the pretended cloud, else one that is pretended to be there already."""
    if "id" not in asked.arguments:
        raise missing(asked, "a request without an id")
    wanted = asked.arguments["id"]
    for record in asked.cloud.of_type("aws:ec2/subnet:Subnet", asked.region):
        if record.id == wanted:
            own = plain(record.properties)
            return {"id": wanted, "availableIpAddressCount": 4091} | _pick(
                own, ("availabilityZone", "vpcId", "cidrBlock", "arn", "tags", "region")
            )
    return pretended_subnet(asked, [name for name, _ in _all_zones(asked)])


def _cluster_auth(asked: Asked) -> Mapping[str, Any]:
    return {"id": asked.arguments["name"], "token": "k8s-aws-v1.pretended"}


def _own(asked: Asked, resource_type: str, name_property: str) -> Properties | None:
    """The outputs of a resource that exists in the pretended cloud."""
    records: list[Record] = asked.cloud.of_type(resource_type, asked.region)
    wanted = asked.arguments[name_property]
    found = (plain(r.properties) for r in records)
    return next((properties for properties in found if properties[name_property] == wanted), None)


def _pick(properties: Properties, names: tuple[str, ...]) -> Properties:
    return {name: properties[name] for name in names if name in properties}


ANSWERS: Mapping[str, Answer] = {
    "aws:index/getAvailabilityZones:getAvailabilityZones": _zones,
    "aws:index/getCallerIdentity:getCallerIdentity": _caller,
    "aws:index/getRegion:getRegion": _region,
    "aws:index/getPartition:getPartition": _partition,
    "aws:ssm/getParameter:getParameter": _parameter,
    "aws:eks/getAddonVersion:getAddonVersion": _addon_version,
    "aws:eks/getCluster:getCluster": _cluster,
    "aws:eks/getClusterAuth:getClusterAuth": _cluster_auth,
    "aws:iam/getPolicyDocument:getPolicyDocument": _policy_document,
    "aws:ec2/getSubnet:getSubnet": _subnet,
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": _offerings,
}
