"""Clusters and subnets that a program names and did not make; they are pretended to exist."""

import hashlib
from collections.abc import Mapping
from typing import Any

from berth.offline.aws.lookups import Asked


def pretended_cluster(asked: Asked) -> Mapping[str, Any]:
    """An EKS cluster of that name, as its account would describe it."""
    name = asked.arguments["name"]
    digest = _digest(asked, name)
    return {
        "id": name,
        "arn": f"arn:aws:eks:{asked.region}:{asked.account}:cluster/{name}",
        "endpoint": f"https://{digest[:32].upper()}.gr7.{asked.region}.eks.amazonaws.com",
        "certificateAuthorities": [{"data": "cHJldGVuZGVk"}],
        "status": "ACTIVE",
        "version": "1.35",
        "vpcConfig": {
            "vpcId": f"vpc-{digest[:17]}",
            "clusterSecurityGroupId": f"sg-{digest[:17]}",
            "subnetIds": [],
        },
        "kubernetesNetworkConfigs": [{"serviceIpv4Cidr": "172.20.0.0/16"}],
        "region": asked.region,
    }


def pretended_subnet(asked: Asked, zones: list[str]) -> Mapping[str, Any]:
    """A large subnet; its zone follows from its id, so that several ids are in several zones."""
    subnet_id = asked.arguments["id"]
    return {
        "id": subnet_id,
        "availabilityZone": zones[int(subnet_id[-1], 16) % len(zones)],
        "availableIpAddressCount": 4091,
        "vpcId": f"vpc-{_digest(asked, 'vpc')[:17]}",
        "region": asked.region,
    }


def _digest(asked: Asked, text: str) -> str:
    return hashlib.sha256(f"{asked.region}{text}".encode()).hexdigest()
