"""Pools of EC2 instances as resources declare them: node groups, Auto Scaling groups, instances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from berth.costs.bought import Quantities
from berth.costs.resources.resource import Declared
from berth.costs.resources.values import (
    ImpossibleValueError,
    NotShownError,
    at,
    count,
    items,
    known,
    text,
)
from berth.planner.plan import NOBODY, Ownership

NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
AUTO_SCALING_GROUP: Final = "aws:autoscaling/group:Group"
INSTANCE: Final = "aws:ec2/instance:Instance"
LAUNCH_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
POOL_TYPES: Final = frozenset({NODE_GROUP, AUTO_SCALING_GROUP, INSTANCE})

EKS_DISK_GIB: Final = 20
"""Root disk of a node of which nothing is said.
Source: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html (diskSize)"""
EKS_INSTANCE_TYPE: Final = "t3.medium"
"""What EKS starts when neither node group nor template names a type; the same page."""

Option = Literal["on_demand", "spot", "block", "reserved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A volume of each node."""

    kind: str
    """Volume type, such as gp3."""
    gib: int
    iops: int | None = None
    throughput_mib_per_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePool:
    """Instances that start alike."""

    name: str
    """Its tier, where it is labelled as one, else the name of the resource."""
    is_system: bool
    instance_types: tuple[str, ...]
    option: Option
    reservation: str | None
    nodes: Quantities
    """Fewest, desired and most."""
    disks: tuple[Disk, ...]
    has_unknown_disk: bool = False
    """Its root disk is as large as its image says, which no property does."""
    reservation_links: frozenset[str] = frozenset()
    """URNs that its reservation is made of."""
    ownership: Ownership = NOBODY
    paid_nodes: Quantities | None = None
    """Of `nodes`, those that no reservation of the stack pays; None: all."""


Templates = Mapping[str, Declared]
"""Launch templates by URN, by id and by name."""


def templates_of(by_type: Mapping[str, Sequence[Declared]]) -> Templates:
    """All launch templates, by everything that a pool may call them."""
    found: dict[str, Declared] = {}
    for resource in by_type.get(LAUNCH_TEMPLATE, ()):
        for key in (resource.urn, resource.id, resource.inputs.get("name")):
            if isinstance(key, str) and key:
                found[key] = resource
    return found


def read_pool(resource: Declared, templates: Templates) -> NodePool:
    """The pool that `resource` declares.

    Raises:
        NotShownError: if its instance type or its size is not in the document.
    """
    own = resource.inputs
    declared = _template(resource, templates)
    template = {} if declared is None else declared.inputs
    disks = _disks(resource, template)
    return NodePool(
        name=_name(resource),
        is_system=_label(own, "berth-gpu/role") == "system",
        instance_types=_instance_types(resource, template),
        option=_option(own, template),
        reservation=_reservation(own, template),
        nodes=_nodes(resource),
        disks=disks,
        has_unknown_disk=not disks,
        reservation_links=frozenset(
            urn
            for each in (resource, declared)
            if each is not None
            for urn in each.links.get("capacityReservationSpecification", ())
        ),
    )


def _name(resource: Declared) -> str:
    own = resource.inputs
    tier = _label(own, "berth-gpu/tier") or _label(own, "berth:tier", "tags")
    role = _label(own, "berth-gpu/role")
    return tier or (role if role == "system" else None) or resource.name


def _label(own: Mapping[str, Any], label: str, where: str = "labels") -> str | None:
    labels = own.get(where)
    value = labels.get(label) if isinstance(labels, Mapping) else None
    return value if isinstance(value, str) else None


def _template(resource: Declared, templates: Templates) -> Declared | None:
    """Its launch template; None where it has none.

    Raises:
        NotShownError: if it has one that the document does not show.
    """
    found, step = _template_reference(resource.inputs)
    if found is None:
        return None
    names = [found.get(key) for key in ("id", "launchTemplateId", "name", "launchTemplateName")]
    for key in (*resource.links.get(step, ()), *names):
        if isinstance(key, str) and key in templates:
            return templates[key]
    raise NotShownError("its launch template is not in the document")


def _template_reference(own: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
    for path in (
        ("launchTemplate",),
        ("mixedInstancesPolicy", "launchTemplate", "launchTemplateSpecification"),
    ):
        found = at(own, *path)
        found = found[0] if isinstance(found, list) and found else found
        if isinstance(found, Mapping):
            return found, path[0]
    return None, ""


def _instance_types(resource: Declared, template: Mapping[str, Any]) -> tuple[str, ...]:
    own = resource.inputs
    overrides = items(own, "mixedInstancesPolicy", "launchTemplate", "overrides")
    stated = [
        *items(own, "instanceTypes"),
        *(at(each, "instanceType") for each in overrides),
        at(own, "instanceType"),
        at(template, "instanceType"),
    ]
    names = tuple(dict.fromkeys(str(known(each)) for each in stated if each))
    if names:
        return names
    if resource.type == NODE_GROUP:
        return (EKS_INSTANCE_TYPE,)
    raise NotShownError("it names no instance type")


def _option(own: Mapping[str, Any], template: Mapping[str, Any]) -> Option:
    capacity = text(own, "capacityType")
    market = text(template, "instanceMarketOptions", "marketType") or text(
        own, "instanceMarketOptions", "marketType"
    )
    if capacity == "CAPACITY_BLOCK" or market == "capacity-block":
        return "block"
    if capacity == "SPOT" or market == "spot":
        return "spot"
    return "on_demand" if _reservation(own, template) is None else "reserved"


def _reservation(own: Mapping[str, Any], template: Mapping[str, Any]) -> str | None:
    """The reservation or group of reservations that the instances target.

    One that is known after apply is a new one.
    """
    for values in (template, own):
        for key in ("capacityReservationId", "capacityReservationResourceGroupArn"):
            path = ("capacityReservationSpecification", "capacityReservationTarget", key)
            try:
                found = text(values, *path)
            except NotShownError:
                return "new reservation"
            if found is not None:
                return found
    return None


def _nodes(resource: Declared) -> Quantities:
    own = resource.inputs
    if resource.type == INSTANCE:
        return (1, 1, 1)
    if resource.type == NODE_GROUP:
        scaling = at(own, "scalingConfig")
        least, wanted, most = (count(scaling, f"{key}Size") for key in ("min", "desired", "max"))
    else:
        least, most = count(own, "minSize"), count(own, "maxSize")
        wanted = count(own, "desiredCapacity")
    fewest = least or 0
    if most is not None and fewest > most:
        raise ImpossibleValueError(f"its smallest size {fewest} is above its largest, {most}")
    desired = max(fewest, wanted or 0)  # below the smallest size only until the next `up`
    return fewest, desired, max(desired, most or 0)


def _disks(resource: Declared, template: Mapping[str, Any]) -> tuple[Disk, ...]:
    """The volumes of a node; what EKS gives where nothing is said."""
    own = resource.inputs
    mapped = items(template, "blockDeviceMappings")
    disks = [
        disk
        for each in (
            *(at(device, "ebs") for device in mapped),
            *(at(device, "ebs") for device in items(own, "blockDeviceMappings")),
            *(items(own, "rootBlockDevice") or _shown(resource.outputs, "rootBlockDevice")),
            *items(own, "ebsBlockDevices"),
        )
        if (disk := _disk(each)) is not None
    ]
    if disks:
        return tuple(disks)
    if resource.type == NODE_GROUP:
        return (Disk(kind="gp3", gib=count(own, "diskSize") or EKS_DISK_GIB),)
    return ()


def _shown(outputs: Mapping[str, Any], key: str) -> list[Any]:
    """What the cloud answered; nothing before it did."""
    try:
        return items(outputs, key)
    except NotShownError:
        return []


def _disk(ebs: Any) -> Disk | None:
    gib = count(ebs, "volumeSize")
    if gib is None:
        return None
    return Disk(
        kind=text(ebs, "volumeType") or "gp3",
        gib=gib,
        iops=count(ebs, "iops"),
        throughput_mib_per_s=count(ebs, "throughput"),
    )
