"""Pools of nodes: EKS node groups, Auto Scaling groups and Karpenter node pools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Literal

from berth.rules.resource import Resource
from berth.rules.stack_view.accelerators import GPU_KEY, Accelerator, Vendor
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.instances import Accelerators, is_cpu_only
from berth.rules.stack_view.requirements import Requirements
from berth.rules.stack_view.tolerations import Taint, read_taints
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError, Unknown

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
AUTO_SCALING_GROUP = "aws:autoscaling/group:Group"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"

_KINDS: Mapping[str, Literal["node group", "Auto Scaling group"]] = {
    NODE_GROUP: "node group",
    AUTO_SCALING_GROUP: "Auto Scaling group",
}
AL2_GPU = "AL2_x86_64_GPU"
"""The one image with NVIDIA's driver whose name does not end in `_NVIDIA`; Neuron uses it too."""
_RUN_TIME_PREFIXES = (
    "amd.com/",
    "eks.amazonaws.com/instance-",
    "eks.amazonaws.com/nodegroup-image",
    "eks.amazonaws.com/source",
    "feature.node.kubernetes.io/",
    "karpenter.k8s.aws/",
    "kubernetes.io/hostname",
    "nvidia.com/",
    "topology.",
    "failure-domain.beta.kubernetes.io/",
)
"""Labels that nodes get when they run: a pool that does not state another value may have any."""


INSTANCE_TYPE_KEYS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")


class Open(Enum):
    """Why nobody can say from the stack what a node label's value is."""

    NOT_SHOWN = "the stack does not show it, or not before it is applied"
    AT_RUN_TIME = "nodes get it when they run"


@dataclass(frozen=True, eq=False)
class Pool:
    """One pool of nodes that start alike."""

    resource: Resource
    kind: Literal["node group", "Auto Scaling group", "node pool"]
    accelerators: Accelerators
    launch_template: Resource | Unknown | None
    """`UNKNOWN`: it has one, and which is known after apply."""

    @property
    def body(self) -> Field:
        """All its properties."""
        return Field(self.resource.props)

    @property
    def name(self) -> str:
        """How a message calls it."""
        return self.resource.name

    @cached_property
    def instance_types(self) -> tuple[str, ...]:
        """The instance types that it may start; empty where the stack does not show them.

        Raises:
            KnownAfterApplyError: if they are known after apply.
        """
        if self.kind == "node pool":
            return self._required_types()
        stated = self.body.at("instanceTypes").items()
        overrides = self.body.at("mixedInstancesPolicy", "launchTemplate", "overrides").items()
        stated += [override.at("instanceType") for override in overrides]
        if stated:
            return tuple(name for item in stated if (name := item.text()))
        if self.launch_template is UNKNOWN:
            raise KnownAfterApplyError("launchTemplate.id")
        if isinstance(self.launch_template, Resource):
            in_template = Field(self.launch_template.props).at("instanceType").text()
            return (in_template,) if in_template else ()
        return ()

    def _required_types(self) -> tuple[str, ...]:
        return self.requirements.instance_types(self.accelerators)

    @cached_property
    def requirements(self) -> Requirements:
        """What a Karpenter node pool asks of its nodes."""
        return Requirements(self.body.at("spec", "template", "spec", "requirements"))

    @property
    def names_its_gpus(self) -> bool:
        """What its nodes have follows from what it states; too wide a choice says nothing."""
        return self.kind != "node pool" or self.requirements.names_its_gpus

    @property
    def gpu_types(self) -> tuple[str, ...]:
        """Those of its instance types that have an accelerator."""
        return tuple(name for name in self.instance_types if name in self.accelerators)

    @property
    def nodes(self) -> tuple[Accelerator, ...]:
        """What its nodes may have, one for each of its instance types with an accelerator."""
        return tuple(self.accelerators[name] for name in self.gpu_types)

    @property
    def has_no_gpus(self) -> bool | None:
        """Whether it is sure to have no accelerator; None: nobody can say.

        Raises:
            KnownAfterApplyError: if its instance types are known after apply.
        """
        if self.kind == "node pool" and not self.instance_types:
            return self.requirements.are_for_cpu_only
        if self.instance_types:
            return not self.gpu_types and all(map(is_cpu_only, self.instance_types))
        if self._image_vendor() or isinstance(self.launch_template, Resource):
            return None
        if self.kind == "Auto Scaling group" or not self.body.at("launchTemplate").is_absent:
            return None
        return True  # EKS starts t3.medium

    def node_bound(self, edge: Literal["minSize", "maxSize"]) -> int | None:
        """Fewest or most nodes; None where there is no bound or it is not shown.

        Raises:
            KnownAfterApplyError: if it is known after apply.
        """
        if self.kind == "node group":
            return self.body.at("scalingConfig", edge).integer()
        return self.body.at(edge).integer() if self.kind == "Auto Scaling group" else None

    @property
    def ami_type(self) -> str | None:
        """EKS's AMI type; `CUSTOM` where the launch template names an image.

        Raises:
            KnownAfterApplyError: if it is known after apply.
        """
        stated = self.body.at("amiType").text()
        template = self.launch_template
        if stated is None and self.kind == "node group" and isinstance(template, Resource):
            return None if Field(template.props).at("imageId").is_absent else "CUSTOM"
        return stated

    @cached_property
    def vendor(self) -> Vendor | None:
        """Who makes its accelerators; None for a pool without any.

        Raises:
            KnownAfterApplyError: if the stack does not know yet.
        """
        by_image = self._image_vendor()
        try:
            types = self.gpu_types
        except KnownAfterApplyError:
            if by_image is None:
                raise
            return by_image
        if not self.instance_types:
            return by_image
        makers = {self.accelerators[name].vendor for name in types}
        return next((maker for maker in GPU_KEY if maker in makers), None)

    def _image_vendor(self) -> Vendor | None:
        ami_type = self.body.at("amiType").value
        if not isinstance(ami_type, str):
            return None
        if ami_type.endswith("_NVIDIA") or ami_type == AL2_GPU:
            return "nvidia"
        return "neuron" if ami_type.endswith("_NEURON") else None

    @property
    def has_driver_image(self) -> bool:
        """Its EKS image brings the NVIDIA driver.

        Raises:
            KnownAfterApplyError: if the AMI type is known after apply.
        """
        stated = self.body.at("amiType").text() or ""
        return stated.endswith("_NVIDIA") or stated == AL2_GPU

    @property
    def is_of_auto_mode(self) -> bool:
        """One of the pools that EKS Auto Mode brings itself."""
        return self.kind == "node pool" and self.name in ("general-purpose", "system")

    @cached_property
    def taints(self) -> tuple[Taint, ...] | None:
        """Its lasting taints; None where the stack does not show them.

        Raises:
            KnownAfterApplyError: if they are known after apply.
        """
        if self.kind == "Auto Scaling group":
            return None
        return read_taints(self.body.at(*self.taints_path))

    @property
    def taints_path(self) -> tuple[str, ...]:
        """Where its taints are written."""
        return ("spec", "template", "spec", "taints") if self.kind == "node pool" else ("taints",)

    def label(self, key: str) -> str | Open | None:
        """Value of a label on its nodes; None: they lack it."""
        if self.kind == "Auto Scaling group":
            return Open.NOT_SHOWN
        own = self.labels.at(key)
        return self._built_in_label(key) if own.is_absent else _text_or_open(own)

    @property
    def labels(self) -> Field:
        """The labels that it states for its nodes."""
        if self.kind == "node pool":
            return self.body.at("spec", "template", "metadata", "labels")
        return self.body.at("labels")

    def label_choices(self, key: str) -> tuple[str, ...]:
        """Values that a Karpenter requirement leaves for a label; empty: it says nothing."""
        return self.requirements.choices(key) if self.kind == "node pool" else ()

    def _built_in_label(self, key: str) -> str | Open | None:
        if key.startswith(_RUN_TIME_PREFIXES):
            return Open.AT_RUN_TIME
        if key in INSTANCE_TYPE_KEYS:
            return Open.NOT_SHOWN
        if key in ("kubernetes.io/os", "beta.kubernetes.io/os"):
            return "linux"
        if key in ("kubernetes.io/arch", "beta.kubernetes.io/arch"):
            return self._architecture()
        if self.kind == "node pool":
            if key == "karpenter.sh/nodepool":
                return _text_or_open(self.body.at("metadata", "name"))
            is_asked = key == "karpenter.sh/capacity-type" or self.requirements.mentions(key)
            return Open.AT_RUN_TIME if is_asked else None
        if key == "eks.amazonaws.com/nodegroup":
            return _text_or_open(self.body.at("nodeGroupName"))
        if key == "eks.amazonaws.com/capacityType":
            capacity = self.body.at("capacityType")
            return "ON_DEMAND" if capacity.is_absent else _text_or_open(capacity)
        return None

    def _architecture(self) -> str | Open:
        ami_type = self.body.at("amiType").value
        if isinstance(ami_type, str) and ami_type != "CUSTOM":
            return "arm64" if "ARM_64" in ami_type or "arm64" in ami_type else "amd64"
        try:
            found = {node.cpu_arch for node in self.nodes}
        except KnownAfterApplyError:
            found = set()
        known = {"x86_64": "amd64", "arm64": "arm64"}
        return known[found.pop()] if len(found) == 1 else Open.AT_RUN_TIME


def _text_or_open(field: Field) -> str | Open:
    return field.value if isinstance(field.value, str) else Open.NOT_SHOWN


def read_pools(resources: Sequence[Resource], accelerators: Accelerators) -> tuple[Pool, ...]:
    """The pools among the resources of a stack."""
    templates = [resource for resource in resources if resource.type == LAUNCH_TEMPLATE]
    pools = []
    for resource in resources:
        kind = _KINDS.get(resource.type)
        if kind:
            template = _template_of(resource, templates)
            pools.append(Pool(resource, kind, accelerators, template))
        elif resource.type.startswith("kubernetes:karpenter.sh/") and resource.type.endswith(
            ":NodePool"
        ):
            pools.append(Pool(resource, "node pool", accelerators, None))
    return tuple(pools)


def _template_of(pool: Resource, templates: Sequence[Resource]) -> Resource | Unknown | None:
    """The launch template that a pool names, by what it was made of, by id or by name."""
    body = Field(pool.props)
    mixed = body.at("mixedInstancesPolicy", "launchTemplate", "launchTemplateSpecification")
    reference = mixed if body.at("launchTemplate").is_absent else body.at("launchTemplate")
    if reference.is_absent:
        return None
    urns = {
        urn
        for key in ("launchTemplate", "mixedInstancesPolicy")
        for urn in pool.property_dependencies.get(key, ())
    }
    linked = [template for template in templates if template.urn and template.urn in urns]
    if len(linked) == 1:
        return linked[0]
    ids = [reference.at(key) for key in ("id", "launchTemplateId")]
    names = [reference.at(key) for key in ("name", "launchTemplateName")]
    for template in templates:
        own = Field(template.props)
        if any(isinstance(i.value, str) and i.value == own.at("id").value for i in ids):
            return template
        if any(isinstance(n.value, str) and n.value == own.at("name").value for n in names):
            return template
    is_open = any(reference_part.is_unknown for reference_part in (*ids, *names))
    return UNKNOWN if is_open else None
