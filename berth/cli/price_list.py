"""The AWS Price List as its files have it: rows to the items of the price book."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from berth.catalog.price import Unit

METADATA_ROWS: Final = 5
"""Before the names of the columns.
Source: https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file-for-services.html"""
_PREFIX: Final = r"(?:EU-|[A-Z]+\d-)?"
"""Of a region, before the usage types of all but the oldest."""


class PriceListError(ValueError):
    """A file is no price list; the text says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One price of the list."""

    item: str
    unit: Unit
    usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class _Usage:
    """A service of the price book by its usage type."""

    pattern: str
    item: str
    unit: Unit
    family: str = ""
    """Product family, where one usage type is of several."""


USAGES: Final[Mapping[str, tuple[_Usage, ...]]] = {
    "AmazonEC2": (
        _Usage(pattern="NatGateway-Hours", item="nat-gateway", unit="gateway-hour"),
        _Usage(pattern="NatGateway-Bytes", item="nat-gateway-traffic", unit="GB"),
        _Usage(pattern=r"EBS:VolumeUsage\.gp3", item="gp3", unit="GB-month"),
        _Usage(pattern=r"EBS:VolumeP-IOPS\.gp3", item="gp3-iops", unit="IOPS-month"),
        _Usage(pattern=r"EBS:VolumeP-Throughput\.gp3", item="gp3-throughput", unit="MiBps-month"),
    ),
    "AmazonEKS": (
        _Usage(pattern="AmazonEKS-Hours:perCluster", item="eks-control-plane", unit="cluster-hour"),
        _Usage(
            pattern="AmazonEKS-Hours:extendedSupport",
            item="eks-control-plane-extended",
            unit="cluster-hour",
        ),
    ),
    "AmazonVPC": (
        _Usage(pattern="VpcEndpoint-Hours", item="interface-endpoint", unit="endpoint-hour"),
        _Usage(pattern="PublicIPv4:InUseAddress", item="public-ipv4", unit="address-hour"),
    ),
    "AWSELB": (
        _Usage(
            pattern="LoadBalancerUsage",
            item="application-load-balancer",
            unit="load-balancer-hour",
            family="Load Balancer-Application",
        ),
        _Usage(
            pattern="LCUUsage",
            item="application-load-balancer-capacity",
            unit="LCU-hour",
            family="Load Balancer-Application",
        ),
        _Usage(
            pattern="LoadBalancerUsage",
            item="network-load-balancer",
            unit="load-balancer-hour",
            family="Load Balancer-Network",
        ),
        _Usage(
            pattern="LCUUsage",
            item="network-load-balancer-capacity",
            unit="NLCU-hour",
            family="Load Balancer-Network",
        ),
    ),
}
"""Offers of the list with what is read of each; of EC2 instances besides."""
_INSTANCE: Final = {
    "tenancy": "Shared",
    "operatingsystem": "Linux",
    "preinstalledsw": "NA",
    "capacitystatus": "Used",
    "operation": "RunInstances",
    "unit": "Hrs",
}
"""What distinguishes the plain Linux price from the other prices of an instance type."""
_NEEDED: Final = ("termtype", "priceperunit", "currency", "unit", "usagetype", "productfamily")
_MIB_PER_GIB: Final = 1024
EXTENDED: Final = "eks-control-plane-extended"


def read_price_list(lines: Iterable[str], offer: str) -> tuple[list[Listed], list[str]]:
    """The prices of a region's file of one offer, and the items that have several.

    The file is read line by line; that of EC2 is some hundred MB.

    Raises:
        PriceListError: if the lines are no price list.
    """
    found: dict[str, set[Listed]] = {}
    for row in _rows(lines):
        listed = _listed(row, offer)
        if listed is not None:
            found.setdefault(listed.item, set()).add(listed)
    several = sorted(item for item, prices in found.items() if len(prices) > 1)
    single = {item: next(iter(prices)) for item, prices in found.items() if len(prices) == 1}
    if EXTENDED in single:  # the list has what extended support adds
        standard = single.get("eks-control-plane")
        surcharge = single.pop(EXTENDED)
        if standard is not None:
            usd = standard.usd + surcharge.usd
            single[EXTENDED] = Listed(item=EXTENDED, unit=surcharge.unit, usd=usd)
    return sorted(single.values(), key=lambda each: each.item), several


def _rows(lines: Iterable[str]) -> Iterator[Mapping[str, str]]:
    """Rows on demand in USD, by the names of columns in small letters without anything else."""
    reader = csv.reader(lines)
    try:
        for _ in range(METADATA_ROWS):
            next(reader)
        names = [re.sub(r"[^a-z]", "", name.lower()) for name in next(reader)]
    except StopIteration:
        raise PriceListError("ends before its columns are named") from None
    except csv.Error as error:
        raise PriceListError(f"is no table ({error})") from None
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise PriceListError(f"has no column {', '.join(missing)}")
    try:
        for values in reader:
            row = dict(zip(names, values, strict=False))
            is_first = row.get("startingrange", "") in ("", "0")
            if row["termtype"] == "OnDemand" and row.get("currency") == "USD" and is_first:
                yield row
    except (csv.Error, KeyError) as error:
        raise PriceListError(f"breaks off or is no table ({error})") from None


def _listed(row: Mapping[str, str], offer: str) -> Listed | None:
    item, unit = _known_as(row, offer)
    if item is None or unit is None:
        return None
    try:
        usd = Decimal(row["priceperunit"])
    except InvalidOperation:
        return None
    if not usd.is_finite() or usd <= 0:
        return None
    if unit == "MiBps-month" and row["unit"].startswith("GiBps"):
        usd /= _MIB_PER_GIB
    return Listed(item=item, unit=unit, usd=usd.normalize())


def _known_as(row: Mapping[str, str], offer: str) -> tuple[str | None, Unit | None]:
    if offer == "AmazonEC2" and row["productfamily"].startswith("Compute Instance"):
        is_plain = all(row.get(key) == value for key, value in _INSTANCE.items())
        return (row.get("instancetype") or None, "instance-hour") if is_plain else (None, None)
    for usage in USAGES[offer]:
        if usage.family in ("", row["productfamily"]) and re.fullmatch(
            _PREFIX + usage.pattern, row.get("usagetype", "")
        ):
            return usage.item, usage.unit
    return None, None
