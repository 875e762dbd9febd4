"""Disks and file systems that stand for themselves: EBS volumes, FSx for Lustre."""

from collections.abc import Iterator
from typing import Final

from berth.costs import kinds
from berth.costs.bought import Bought
from berth.costs.estimate import Unpriced
from berth.costs.resources.resource import Declared
from berth.costs.resources.values import NotShownError, count, text

VOLUME: Final = "aws:ebs/volume:Volume"
LUSTRE: Final = "aws:fsx/lustreFileSystem:LustreFileSystem"
STORAGE_TYPES: Final = frozenset({VOLUME, LUSTRE})


def storage(resource: Declared) -> Iterator[Bought | Unpriced]:
    """What a volume or a file system costs, or why that is not known.

    Raises:
        ImpossibleValueError: if its size cannot be.
    """
    read = _volume if resource.type == VOLUME else _lustre
    yield from read(resource)


def _volume(resource: Declared) -> Iterator[Bought | Unpriced]:
    own, name = resource.inputs, resource.name
    kind = text(own, "type") or "gp2"
    gib = count(own, "size")
    if gib is None:
        raise NotShownError("its size is that of a snapshot, which the document does not show")
    if kind != "gp3":
        yield Unpriced(resource=name, reason=f"{kinds.VOLUMES}: no price of {kind} is kept")
        return
    yield kinds.volume(name, gib)
    yield from kinds.disk_extras(
        name, (1, 1, 1), iops=count(own, "iops"), mib_per_s=count(own, "throughput")
    )


def _lustre(resource: Declared) -> Iterator[Bought | Unpriced]:
    own, name = resource.inputs, resource.name
    gib = count(own, "storageCapacity")
    if gib is None:
        raise NotShownError("its size is not in the document")
    deployment = (text(own, "deploymentType") or "SCRATCH_1").partition("_")[0].lower()
    if deployment == "persistent":
        deployment += f"-{count(own, 'perUnitStorageThroughput') or 'of the day'}"
    if (text(own, "storageType") or "SSD") != "SSD":
        reason = "no price of a Lustre file system on other storage than SSD is kept"
        yield Unpriced(resource=name, reason=reason)
        return
    yield kinds.file_system(deployment, name, gib)
