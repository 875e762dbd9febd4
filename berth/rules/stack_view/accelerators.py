"""Accelerators as Kubernetes counts them: resource names, quantities and who makes them."""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

from berth.catalog.gpu import Gpu

Vendor = Literal["nvidia", "amd", "neuron"]

GPU_KEY: dict[Vendor, str] = {
    "nvidia": "nvidia.com/gpu",
    "amd": "amd.com/gpu",
    "neuron": "aws.amazon.com/neuron",
}
"""Resource name of a whole device, and key of the taint that keeps other pods away."""

ACCELERATOR_KEYS = frozenset({*GPU_KEY.values(), "nvidia.com/gpu.shared"})
MIG_PREFIX = "nvidia.com/mig-"

_BEYOND_ANY = Decimal(10**24)
_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)([a-zA-Z]{0,2})"
)
_SUFFIX = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "T": Decimal(10**12),
    "Ti": Decimal(2**40),
    "P": Decimal(10**15),
    "Pi": Decimal(2**50),
}
"""As far as counts, memory and disks need them.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """What one node of an instance type has."""

    vendor: Vendor
    count: int
    gpu: Gpu | None = None
    """Its GPU model, where one is known."""
    cpu_arch: Literal["x86_64", "arm64"] = "x86_64"


def is_accelerator_key(key: str) -> bool:
    """Whether a resource name counts GPUs, shares of one, MIG devices or Neuron devices."""
    return key in ACCELERATOR_KEYS or key.startswith(MIG_PREFIX)


def vendor_of_key(key: str) -> Vendor:
    """Who makes what an accelerator's resource name counts."""
    if key.startswith("amd.com/"):
        return "amd"
    return "neuron" if key.startswith("aws.amazon.com/") else "nvidia"


def parse_quantity(value: object) -> Decimal | None:
    """A Kubernetes quantity as a number; None where it is not one."""
    match = _QUANTITY.fullmatch(str(value).strip())
    if not match or match[2] not in _SUFFIX:
        return None
    try:
        quantity = Decimal(match[1]) * _SUFFIX[match[2]]
    except InvalidOperation:
        return None
    return quantity if abs(quantity) < _BEYOND_ANY else None


def is_whole(quantity: Decimal) -> bool:
    """Whether a quantity counts whole devices."""
    return quantity >= 0 and quantity == quantity.to_integral_value()


def quantity_gib(value: object) -> float | None:
    """A quantity of bytes in GiB; None where it is not one."""
    quantity = parse_quantity(value)
    return None if quantity is None else float(quantity / 2**30)


def mig_profile(key: str) -> str | None:
    """`1g.10gb` of `nvidia.com/mig-1g.10gb`; None for what counts no MIG device."""
    if not key.startswith(MIG_PREFIX):
        return None
    return re.sub(r"[.+]me.*$", "", key.removeprefix(MIG_PREFIX))
