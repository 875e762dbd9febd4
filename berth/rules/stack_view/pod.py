"""Pod templates and their containers: what each container is, runs and asks for."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Literal, Protocol

from berth.rules.resource import Resource
from berth.rules.stack_view.accelerators import MIG_PREFIX, is_accelerator_key, parse_quantity
from berth.rules.stack_view.command_line import literal_env, read_commands
from berth.rules.stack_view.config_maps import (
    ConfigMaps,
    mounted_file,
    namespace_of,
    with_config_maps,
)
from berth.rules.stack_view.engine_arguments import Engine, EngineArguments, find_engine
from berth.rules.stack_view.engine_file import options_of_file
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.image import Image, parse_image

Role = Literal["", "leader", "worker"]


class Owner(Protocol):
    """The workload that a pod template is in."""

    @property
    def resource(self) -> Resource:
        """The resource itself."""

    @property
    def kind(self) -> str:
        """Its kind."""

    @property
    def config_maps(self) -> ConfigMaps:
        """Those of the stack."""

    @property
    def serve_words(self) -> tuple[str, ...]:
        """Engine options in the application of a RayService."""

    @property
    def pods(self) -> "tuple[Pod, ...]":
        """Its pod templates."""

    @property
    def group_size(self) -> int:
        """Pods of one group."""


@dataclass(frozen=True, eq=False)
class Pod:
    """One pod template of a workload."""

    workload: Owner
    spec: Field
    role: Role = ""
    """In a group: whether it leads or follows."""
    metadata: Field = field(default_factory=lambda: Field(None))
    pods_per_replica: Field = field(default_factory=lambda: Field(1))
    replicas: Field = field(default_factory=lambda: Field(1))
    default_engine: Engine | None = None
    """What containers run whose image the owner of the resource chooses."""

    @property
    def resource(self) -> Resource:
        """The resource that it is written in."""
        return self.workload.resource

    @property
    def namespace(self) -> str:
        """Where its pods run."""
        return namespace_of(self.resource)

    @cached_property
    def containers(self) -> tuple["Container", ...]:
        """Its containers, without init containers; one unknown where the list is unknown."""
        return tuple(self._containers("containers", init=False))

    @cached_property
    def init_containers(self) -> tuple["Container", ...]:
        """Its init containers; none where the list is known after apply."""
        return tuple(self._containers("initContainers", init=True))

    @property
    def count(self) -> int:
        """How many of it run; a count that is not stated is 1.

        Raises:
            KnownAfterApplyError: if it is known after apply.
        """
        counts = [self.replicas.integer(), self.pods_per_replica.integer()]
        replicas, each = (1 if count is None else max(0, count) for count in counts)
        return replicas * each

    @cached_property
    def asks_for_gpus(self) -> bool:
        """One of its containers asks for accelerators, by quantity or claim.

        Raises:
            KnownAfterApplyError: if that is known after apply.
        """
        return any(c.asked_keys or c.claims for c in self.containers)

    @cached_property
    def is_gpu_workload(self) -> bool:
        """It uses GPUs to compute: it asks for some or serves a model, and is no GPU agent.

        Raises:
            KnownAfterApplyError: if that is known after apply.
        """
        if any(container.is_gpu_agent for container in self.containers):
            return False
        return self.asks_for_gpus or any(c.is_model_server for c in self.containers)

    @cached_property
    def gpus_by_key(self) -> dict[str, int] | None:
        """Accelerators of one pod by resource name; None if that cannot be counted.

        Raises:
            KnownAfterApplyError: if it is known after apply.
        """
        total: dict[str, int] = {}
        for container in self.containers:
            if container.claims:
                return None
            for key in container.asked_keys:
                stated = {**container.quantities("requests"), **container.quantities("limits")}
                quantity = parse_quantity(stated[key].known())
                if quantity is None or quantity != quantity.to_integral_value() or quantity < 0:
                    return None
                total[key] = total.get(key, 0) + int(quantity)
        return total

    def label(self, key: str) -> object:
        """A label of its pods as stated."""
        return self.metadata.at("labels", key).value

    def _containers(self, key: str, *, init: bool) -> Iterator["Container"]:
        listed = self.spec.at(key)
        if listed.is_unknown:
            if not init:
                yield Container(self, listed, init)
            return
        for item in listed.items():
            yield Container(self, item, init)


@dataclass(frozen=True, eq=False)
class Container:
    """One container of a pod template."""

    pod: Pod
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
    def _env(self) -> Field:
        return with_config_maps(self.body, self.pod.namespace, self.pod.workload.config_maps)

    @cached_property
    def commands(self) -> list[list[str]]:
        """The commands that it runs, as far as the stack states any."""
        body = self.body
        return read_commands(body.at("command"), body.at("args"), self._env, self._mounted_file)

    @cached_property
    def engine_arguments(self) -> EngineArguments | None:
        """The engine's arguments; None where it does not run one, or with arguments kept elsewhere.

        Raises:
            KnownAfterApplyError: if they are known after apply.
        """
        path = self.body.at("args" if not self.body.at("args").is_absent else "command").path
        for command in self.commands:
            found = find_engine(command)
            if found is not None:
                return self._with_config_file(EngineArguments(tuple(found[1]), path, found[0]))
        served = self.pod.workload.serve_words
        if served and self.asked_keys:
            return EngineArguments(served, "spec.serveConfigV2", "vllm")
        image = self.image
        engine = image.engine if image and not image.is_for_cpu else None
        engine = engine or self.pod.default_engine
        if self.body.at("command").is_absent and engine:
            words = tuple(word for words in self.commands for word in words)
            is_partial = not words and not (image and image.is_called("vllm/vllm-openai"))
            return self._with_config_file(EngineArguments(words, path, engine, is_partial))
        return None

    def _with_config_file(self, arguments: EngineArguments) -> EngineArguments:
        """The arguments and, before them, those of the file that `--config` names."""
        if arguments.engine not in ("vllm", "sglang") or not arguments.has("--config"):
            return arguments
        text = self._mounted_file(arguments.value("--config") or "")
        options = options_of_file(text) if text else None
        words = (*(options or ()), *arguments.words)
        return EngineArguments(words, arguments.path, arguments.engine, options is None)

    def _mounted_file(self, path: str) -> str | None:
        config_maps = self.pod.workload.config_maps
        return mounted_file(path, self.body, self.pod.spec, self.pod.namespace, config_maps)

    @cached_property
    def engine(self) -> Engine | None:
        """The inference engine that it runs.

        Raises:
            KnownAfterApplyError: if neither the image nor the arguments are known yet.
        """
        if not self.is_model_server:
            return None
        arguments = self.engine_arguments
        if arguments and arguments.engine:
            return arguments.engine
        return self.image.engine if self.image else None

    @cached_property
    def model(self) -> str | None:
        """The model that its engine loads, as the stack spells it."""
        arguments = self.engine_arguments
        return arguments.model(self.literal_env) if arguments else None

    @cached_property
    def is_model_server(self) -> bool:
        """It runs an inference engine on a GPU, or an image made for that.

        Raises:
            KnownAfterApplyError: if neither the image nor the arguments are known yet.
        """
        if self.init:
            return False
        starts = any(find_engine(command) is not None for command in self.commands)
        image = self.image
        if image and (image.is_gpu_agent or image.is_for_cpu):
            return False
        if self._asks_for_cpu():
            return False
        if starts or bool(image and (image.is_engine or image.is_gpu_base)):
            return True
        return image is None and self.pod.default_engine is not None and bool(self.asked_keys)

    @cached_property
    def is_gpu_agent(self) -> bool:
        """Part of what makes GPUs usable on a node."""
        return self.image is not None and self.image.is_gpu_agent

    @cached_property
    def literal_env(self) -> dict[str, str]:
        """Variables with a value that the stack states."""
        return literal_env(self._env)

    def has_variable(self, name: str) -> bool:
        """Whether a variable is set at all, from wherever its value comes."""
        env = self.body.at("env")
        if name in self.literal_env or env.is_unknown:
            return True
        return any(item.at("name").value == name for item in env.items())

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

    @cached_property
    def asked_keys(self) -> list[str]:
        """Accelerators that it asks for; a quantity that is not a number counts as asked for.

        Raises:
            KnownAfterApplyError: if they are known after apply.
        """
        asked = {**self.quantities("requests"), **self.quantities("limits")}
        return [key for key, field in asked.items() if parse_quantity(field.known()) != Decimal(0)]

    @cached_property
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

    @cached_property
    def has_mig_devices(self) -> bool:
        """It asks for parts of a GPU by MIG profile."""
        return any(key.startswith(MIG_PREFIX) for key in self.asked_keys)

    @cached_property
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


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
