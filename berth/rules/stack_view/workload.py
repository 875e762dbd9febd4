"""Workloads: the pods that a resource makes, and what each of their containers is."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Literal

from berth.rules.resource import Resource
from berth.rules.stack_view.accelerators import MIG_PREFIX, is_accelerator_key, parse_quantity
from berth.rules.stack_view.command_line import literal_env, read_commands
from berth.rules.stack_view.engine_arguments import EngineArguments, engine_options
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.image import Image, parse_image

Role = Literal["", "leader", "worker"]

_TEMPLATE = "spec.template.spec"
_POD_SPECS = {
    ("", "Pod"): "spec",
    ("apps", "DaemonSet"): _TEMPLATE,
    ("apps", "Deployment"): _TEMPLATE,
    ("apps", "ReplicaSet"): _TEMPLATE,
    ("apps", "StatefulSet"): _TEMPLATE,
    ("batch", "CronJob"): "spec.jobTemplate.spec.template.spec",
    ("batch", "Job"): _TEMPLATE,
}
_RAY_CLUSTERS = {
    "RayCluster": "spec",
    "RayJob": "spec.rayClusterSpec",
    "RayService": "spec.rayClusterConfig",
}


@dataclass(frozen=True, eq=False)
class Container:
    """One container of a pod template."""

    pod: "Pod"
    body: Field
    init: bool

    @property
    def resource(self) -> Resource:
        """The resource that it is written in."""
        return self.pod.resource

    @property
    def name(self) -> str:
        """How a message calls it."""
        name = self.body.at("name").value
        return f"container {name}" if isinstance(name, str) and name else self.body.path

    @cached_property
    def image(self) -> Image | None:
        """Its image; None where none is stated.

        Raises:
            KnownAfterApplyError: if it is known after apply.
        """
        reference = self.body.at("image").text()
        return parse_image(reference) if reference else None

    @cached_property
    def commands(self) -> list[list[str]]:
        """The commands that it runs, as far as the stack states any."""
        body = self.body
        return read_commands(body.at("command"), body.at("args"), body.at("env"))

    @cached_property
    def engine_arguments(self) -> EngineArguments | None:
        """The engine's arguments; None where it does not run one, or with arguments kept elsewhere.

        Raises:
            KnownAfterApplyError: if they are known after apply.
        """
        path = self.body.at("args" if not self.body.at("args").is_absent else "command").path
        for command in self.commands:
            options = engine_options(command)
            if options is not None:
                return EngineArguments(tuple(options), path)
        image = self.image
        runs_entry_point = self.body.at("command").is_absent
        if runs_entry_point and image and image.is_engine and not image.is_for_cpu:
            return EngineArguments(tuple(word for words in self.commands for word in words), path)
        return None

    @property
    def is_model_server(self) -> bool:
        """It runs an inference engine on a GPU, or an image made for that.

        Raises:
            KnownAfterApplyError: if neither the image nor the arguments are known yet.
        """
        if self.init:
            return False
        starts = any(engine_options(command) is not None for command in self.commands)
        image = self.image
        if image and (image.is_gpu_agent or image.is_for_cpu):
            return False
        if self._asks_for_cpu():
            return False
        return starts or bool(image and (image.is_engine or image.is_gpu_base))

    @property
    def is_gpu_agent(self) -> bool:
        """Part of what makes GPUs usable on a node."""
        return self.image is not None and self.image.is_gpu_agent

    @property
    def literal_env(self) -> dict[str, str]:
        """Variables with a value that the stack states."""
        return literal_env(self.body.at("env"))

    def quantities(self, kind: Literal["limits", "requests"]) -> dict[str, Field]:
        """Accelerators under limits or requests, zero included.

        Raises:
            KnownAfterApplyError: if the keys are known after apply.
        """
        entries = self.body.at("resources", kind).entries()
        return {
            key: entry
            for key, entry in entries.items()
            if is_accelerator_key(key) and (entry.is_unknown or _is_scalar(entry.value))
        }

    @property
    def asked_keys(self) -> list[str]:
        """Accelerators that it asks for; a quantity that is not a number counts as asked for.

        Raises:
            KnownAfterApplyError: if they are known after apply.
        """
        asked = {**self.quantities("requests"), **self.quantities("limits")}
        return [key for key, field in asked.items() if parse_quantity(field.known()) != Decimal(0)]

    @property
    def gpus(self) -> int | None:
        """Sum of its accelerators, from limits, else from requests; None if that is not whole.

        Raises:
            KnownAfterApplyError: if it is known after apply.
        """
        if self.claims:
            return None
        for kind in ("limits", "requests"):
            counts = [parse_quantity(field.known()) for field in self.quantities(kind).values()]
            total = sum((count for count in counts if count is not None), Decimal(0))
            if None in counts or total != total.to_integral_value() or total < 0:
                return None
            if total:
                return int(total)
        return None

    @property
    def has_mig_devices(self) -> bool:
        """It asks for parts of a GPU by MIG profile."""
        return any(key.startswith(MIG_PREFIX) for key in self.asked_keys)

    @property
    def claims(self) -> list[Field]:
        """Devices that it takes from claims of the pod (dynamic resource allocation)."""
        if not self.pod.spec.at("resourceClaims").items():
            return []
        return self.body.at("resources", "claims").items()

    def _asks_for_cpu(self) -> bool:
        for words in self.commands:
            for index, word in enumerate(words):
                following = words[index + 1] if index + 1 < len(words) else ""
                if word == "--device=cpu" or (word, following) == ("--device", "cpu"):
                    return True
        return False


@dataclass(frozen=True, eq=False)
class Pod:
    """One pod template of a workload."""

    workload: "Workload"
    spec: Field
    role: Role = ""
    """In a group: whether it leads or follows."""

    @property
    def resource(self) -> Resource:
        """The resource that it is written in."""
        return self.workload.resource

    @cached_property
    def containers(self) -> tuple[Container, ...]:
        """Its containers, without init containers; one unknown where the list is unknown."""
        return tuple(self._containers("containers", init=False))

    @cached_property
    def init_containers(self) -> tuple[Container, ...]:
        """Its init containers; none where the list is known after apply."""
        return tuple(self._containers("initContainers", init=True))

    def _containers(self, key: str, *, init: bool) -> Iterator[Container]:
        listed = self.spec.at(key)
        if listed.is_unknown:
            if not init:
                yield Container(self, listed, init)
            return
        for item in listed.items():
            yield Container(self, item, init)


@dataclass(frozen=True, eq=False)
class Workload:
    """One resource that makes pods."""

    resource: Resource
    kind: str

    @property
    def body(self) -> Field:
        """All its properties."""
        return Field(self.resource.props)

    @property
    def is_group(self) -> bool:
        """Its pods work as one: a LeaderWorkerSet or a Ray cluster."""
        return self.kind == "LeaderWorkerSet" or self.kind in _RAY_CLUSTERS

    @property
    def group_size(self) -> int:
        """Pods of one group.

        Raises:
            KnownAfterApplyError: if it is known after apply.
        """
        return self.body.at("spec", "leaderWorkerTemplate", "size").integer() or 1

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """Its pod templates."""
        if self.kind == "LeaderWorkerSet":
            return tuple(self._leader_and_workers())
        if self.kind in _RAY_CLUSTERS:
            return tuple(self._ray_pods())
        path = next(path for (_, kind), path in _POD_SPECS.items() if kind == self.kind)
        return (Pod(self, self.body.at(*path.split("."))),)

    def _leader_and_workers(self) -> Iterator[Pod]:
        template = self.body.at("spec", "leaderWorkerTemplate")
        leader = template.at("leaderTemplate")
        if not leader.is_absent:
            yield Pod(self, leader.at("spec"), "leader")
        yield Pod(self, template.at("workerTemplate", "spec"), "worker")

    def _ray_pods(self) -> Iterator[Pod]:
        cluster = self.body.at(*_RAY_CLUSTERS[self.kind].split("."))
        yield Pod(self, cluster.at("headGroupSpec", "template", "spec"), "leader")
        groups = cluster.at("workerGroupSpecs")
        for group in [] if groups.is_unknown else groups.items():
            yield Pod(self, group.at("template", "spec"), "worker")


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def as_workload(resource: Resource) -> Workload | None:
    """The resource as a workload, if it is one of Kubernetes' or of a group that is known here."""
    owner, _, kind = resource.type.rpartition(":")
    provider, _, group_version = owner.partition(":")
    if provider != "kubernetes":
        return None
    group = group_version.partition("/")[0]
    is_workload = (
        ("" if group == "core" else group, kind) in _POD_SPECS
        or (group == "leaderworkerset.x-k8s.io" and kind == "LeaderWorkerSet")
        or (group == "ray.io" and kind in _RAY_CLUSTERS)
    )
    return Workload(resource, kind) if is_workload else None
