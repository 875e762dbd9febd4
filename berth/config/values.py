"""The kinds of single values in a stack file: how each is spelled and what it is called."""

import ipaddress
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from berth.config.wanted import Wanted

MOST_NETWORKS = 40
"""CIDR ranges of one public EKS endpoint.

Source: https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html
"""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(T00:00:00Z)?")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)? ?(Z|z|[+-]\d{2}:?\d{2})?")


_NumberOrItsText = (
    Annotated[float, Field(gt=0, le=1_000_000_000)]
    | Annotated[str, StringConstraints(pattern=r"^\d+(\.\d+)?$")]
)


def _only_as_a_day(value: object) -> object:
    """Keep days; refuse numbers, which would be read as seconds since 1970."""
    if isinstance(value, date) or (isinstance(value, str) and _DAY.fullmatch(value)):
        return value
    raise ValueError("not a day")


def _only_as_a_moment(value: object) -> object:
    """Keep points in time; refuse numbers, which would be read as seconds since 1970."""
    if isinstance(value, datetime) or (isinstance(value, str) and _MOMENT.fullmatch(value)):
        return value
    raise ValueError("not a point in time")


def _only_as_a_number(value: object) -> object:
    """Keep numbers and their plain text, so that `1_000` or `1e99` is no surprise."""
    if isinstance(value, str) and not re.fullmatch(r"\d+(\.\d+)?", value):
        raise ValueError("not a plain number")
    return value


def _only_as_a_network(value: str) -> str:
    """Keep networks in CIDR form; an address in a network is refused, with that network named."""
    meant = str(ipaddress.ip_network(value, strict=False))
    if value.lower() != meant:
        raise PydanticCustomError("network", "not in CIDR form", {"meant": meant})
    return value


Text = Annotated[str, StringConstraints(pattern=r"^\S(.*\S)?$", max_length=300)]
"""One line without blanks around it."""

Name = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$"),
    Wanted("a name of 1 to 30 lower-case letters, digits and hyphens, a letter first", "chat"),
]
"""A tier or a model server: part of resource names, labels and DNS names."""

Region = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$"),
    Wanted("an AWS region", "us-east-1"),
]
AvailabilityZone = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z]{2}(-[a-z]+)+-\d[a-z]$"),
    Wanted("an availability zone", "us-east-1b"),
]
ReservationId = Annotated[
    str,
    StringConstraints(pattern=r"^cr-[0-9a-f]{17}$"),
    Wanted("the id of a Capacity Block", "cr-0123456789abcdef0"),
]
OfferingId = Annotated[
    str,
    StringConstraints(pattern=r"^cb-[0-9a-z]{5,32}$"),
    Wanted("the id of a block offering", "cb-0123456789abcdef0"),
]
ResourceGroupArn = Annotated[
    str,
    StringConstraints(pattern=r"^arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:\d{12}:group/\S+$"),
    Wanted(
        "the ARN of a resource group",
        "arn:aws:resource-groups:us-east-1:123456789012:group/h100-reservations",
    ),
]
VpcId = Annotated[
    str,
    StringConstraints(pattern=r"^vpc-[0-9a-f]{8,17}$"),
    Wanted("the id of a VPC", "vpc-0123456789abcdef0"),
]
SubnetId = Annotated[
    str,
    StringConstraints(pattern=r"^subnet-[0-9a-f]{8,17}$"),
    Wanted("the id of a subnet", "subnet-0123456789abcdef0"),
]
AmiId = Annotated[
    str,
    StringConstraints(pattern=r"^ami-[0-9a-f]{8,17}$"),
    Wanted("the id of an AMI", "ami-0123456789abcdef0"),
]
MigProfileName = Annotated[
    str,
    StringConstraints(pattern=r"^[1-7]g\.\d{1,3}gb$"),
    Wanted("a MIG profile", "3g.40gb"),
]
ClusterName = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$"),
    Wanted("the name of an EKS cluster", "inference-prod"),
]
Registry = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)*$", max_length=200),
    Wanted("a registry, with a path if it has one, without https://", "mirror.example.com/hub"),
]
Image = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9][A-Za-z0-9._:/-]*[:@][A-Za-z0-9._:-]+$", max_length=300),
    Wanted("an image with its tag or digest", "registry.example.com/vllm-efa:v0.32.0"),
]
SecretName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$"),
    Wanted("the name of a Secret", "mirror-pull"),
]
PrincipalArn = Annotated[
    str,
    StringConstraints(pattern=r"^arn:aws[a-z-]*:iam::\d{12}:(role|user)/\S+$"),
    Wanted("the ARN of an IAM role or user", "arn:aws:iam::123456789012:role/platform-admin"),
]
KubernetesVersion = Annotated[
    str,
    StringConstraints(pattern=r"^1\.\d{2}$"),
    Wanted("a Kubernetes minor version", "1.35"),
]
Network = Annotated[
    str,
    AfterValidator(_only_as_a_network),
    Wanted("a network in CIDR form", "203.0.113.0/24"),
]

Day = Annotated[
    date,
    BeforeValidator(_only_as_a_day, json_schema_input_type=date),
    Wanted("a day", "2026-11-30"),
]
Moment = Annotated[
    AwareDatetime,
    BeforeValidator(_only_as_a_moment, json_schema_input_type=datetime),
    Wanted("a point in time with its zone", "2026-11-20T11:30:00Z"),
]

Usd = Annotated[
    Decimal,
    Field(gt=0, le=1_000_000_000, decimal_places=6),
    BeforeValidator(_only_as_a_number, json_schema_input_type=_NumberOrItsText),
    Wanted("an amount in USD", "1.85"),
]
Share = Annotated[float, Field(strict=True, gt=0, le=1), Wanted("a share of 1", 0.92)]

CachedShare = Annotated[float, Field(strict=True, ge=0, lt=1), Wanted("a share below 1", 0.5)]
Rate = Annotated[
    float, Field(strict=True, gt=0, le=1_000_000), Wanted("requests per second, above 0", 12)
]
Milliseconds = Annotated[
    float, Field(strict=True, gt=0, le=10_000_000), Wanted("milliseconds, above 0", 1500)
]

Flag = Annotated[bool, Field(strict=True), Wanted("true or false", True)]

NodeCount = Annotated[int, Field(strict=True, ge=1, le=1000), Wanted("a whole number", 1)]
NodeCountOrNone = Annotated[int, Field(strict=True, ge=0, le=1000), Wanted("a whole number", 0)]
GpuCount = Annotated[int, Field(strict=True, ge=1, le=16), Wanted("a whole number", 8)]
VcpuCount = Annotated[int, Field(strict=True, ge=1, le=4096), Wanted("a number of vCPUs", 384)]
TokenCount = Annotated[
    int, Field(strict=True, ge=1, le=100_000_000), Wanted("a number of tokens", 8192)
]
RequestCount = Annotated[
    int, Field(strict=True, ge=1, le=100_000), Wanted("a number of requests", 256)
]
DiskGib = Annotated[int, Field(strict=True, ge=100, le=16_384), Wanted("a size in GiB", 200)]
