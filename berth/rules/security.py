"""Rules about secrets and about walls between containers."""

import re
from collections.abc import Iterator
from typing import Final

from berth.rules.resource import Resource
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.chart import Chart
from berth.rules.stack_view.command_line import ELSEWHERE_MARK
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.pod import Container

SECRET_ENDINGS: Final = ("TOKEN", "SECRET", "PASSWORD", "API_KEY", "ACCESS_KEY")
REFERENCE: Final = re.compile(r"\$\(.*\)|\$\{?[A-Za-z_].*|\s*")


class _ConfigMap:
    """A ConfigMap as a subject."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource


def _find_plain_secret(
    subject: Container | Chart | _ConfigMap, context: Context
) -> Iterator[Breach]:
    if isinstance(subject, Container):
        places = _in_container(subject)
    elif isinstance(subject, Chart):
        places = _in_chart(subject)
    else:
        places = _in_config_map(subject.resource)
    for place, name in places:
        yield Breach(
            where=subject.resource.name,
            what=f"{place.path} holds {name} as plain text, which everyone who can read the "
            "namespace can read",
            change="take it from a Secret",
            fix=f"replace {place.path} by a reference to a Secret",
        )


def _subjects(view: StackView) -> Iterator[Container | Chart | _ConfigMap]:
    yield from view.all_containers()
    yield from view.charts_named("vllm-stack")
    yield from map(_ConfigMap, view.of_kind("ConfigMap"))


def _in_container(container: Container) -> Iterator[tuple[Field, str]]:
    for item in container.body.at("env").items():
        name, value = item.at("name").known(), item.at("value")
        if is_secret_name(name) and _is_literal(value):
            yield value, str(name)
    arguments = None if container.init else container.engine_arguments
    key = arguments.text("--api-key") if arguments else None
    if key and ELSEWHERE_MARK not in key and not REFERENCE.fullmatch(key):
        is_from_env = key in container.literal_env.values()
        if not is_from_env and arguments:
            yield Field(key, arguments.path), "--api-key"


def is_secret_name(name: object) -> bool:
    """Whether a variable is called as secrets are."""
    return isinstance(name, str) and name.upper().replace("-", "_").endswith(SECRET_ENDINGS)


def _is_literal(value: Field) -> bool:
    stated = value.known()
    if isinstance(stated, bool) or not isinstance(stated, str | int | float):
        return False
    return not REFERENCE.fullmatch(str(stated))


def _in_chart(chart: Chart) -> Iterator[tuple[Field, str]]:
    engine = chart.values.at("servingEngineSpec")
    key = engine.at("vllmApiKey")
    if _is_literal(key):
        yield key, "vllmApiKey"
    for spec in engine.at("modelSpec").items():
        token = spec.at("hf_token")
        if _is_literal(token):
            yield token, "hf_token"
        for item in spec.at("env").items():
            if is_secret_name(item.at("name").known()) and _is_literal(item.at("value")):
                yield item.at("value"), str(item.at("name").value)


def _in_config_map(resource: Resource) -> Iterator[tuple[Field, str]]:
    for key, value in Field(resource.props).at("data").entries().items():
        if is_secret_name(key) and _is_literal(value):
            yield value, key


SECRET_PLAIN_ENV = Rule(
    id="secret-plain-env",
    title="Tokens and keys come from Secrets.",
    severity="high",
    level="mandatory",
    scope="resource",
    reads="names of variables and whether they have a value, --api-key, ConfigMaps, values of "
    "vllm-stack; values are never shown",
    why="who may read a pod or a ConfigMap can read the token",
    source="https://kubernetes.io/docs/concepts/configuration/secret/",
    subjects=_subjects,
    judge=_find_plain_secret,
)


def _find_bypass(container: Container, context: Context) -> Iterator[Breach]:
    if container.is_gpu_agent:
        return
    visible = container.literal_env.get("NVIDIA_VISIBLE_DEVICES", "").strip()
    names = context.options.get("runtimeSharing")
    is_agreed = isinstance(names, list) and container.resource.name in names
    if visible not in ("", "void", "none") and not is_agreed:
        yield Breach(
            where=container.resource.name,
            what=f"{container.name} sets NVIDIA_VISIBLE_DEVICES to {visible} and so takes GPUs "
            "that it was not given",
            change="let the device plugin choose",
            fix=f"remove NVIDIA_VISIBLE_DEVICES from {container.body.at('env').path}",
        )
    privileged = container.body.at("securityContext", "privileged")
    if privileged.boolean() is True and container.pod.is_gpu_workload:
        yield Breach(
            where=container.resource.name,
            what=f"{container.name} is privileged and sees every GPU of its node",
            change="give it only the capabilities that it needs",
            fix=f"set {privileged.path} to false",
        )


GPU_ISOLATION_BYPASS = Rule(
    id="gpu-isolation-bypass",
    title="A container sees only the GPUs that it was given.",
    severity="high",
    level="mandatory",
    scope="resource",
    reads="security context, NVIDIA_VISIBLE_DEVICES and resources of each container",
    why="it computes on GPUs of others, and reads their memory",
    source="https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html",
    subjects=StackView.containers,
    judge=_find_bypass,
    options={
        "runtimeSharing": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Resources that share GPUs by the runtime on purpose.",
        }
    },
)

RULES = (SECRET_PLAIN_ENV, GPU_ISOLATION_BYPASS)
