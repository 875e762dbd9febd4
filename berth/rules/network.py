"""Rules about the names and the fabric that servers reach each other by."""

from collections.abc import Iterator
from typing import Any, Final

from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.config_maps import name_of, namespace_of
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.nodes import INSTANCE_TYPE_OPTION
from berth.rules.stack_view.pod import Pod
from berth.rules.stack_view.workload import Workload

_ENGINE_PORTS: Final = frozenset(
    {
        "VLLM_PORT",
        "VLLM_DP_MASTER_PORT",
        "VLLM_NIXL_SIDE_CHANNEL_PORT",
        "VLLM_MOONCAKE_BOOTSTRAP_PORT",
    }
)
"""Ports that vLLM reads from its environment (`vllm/envs.py`)."""
_EFA: Final = "vpc.amazonaws.com/efa"
_EFA_FAMILIES: Final = ("p4d", "p4de", "p5", "p6")


def _find_collision(pod: Pod, context: Context) -> Iterator[Breach]:
    servers = [container for container in pod.containers if container.engine == "vllm"]
    if not servers or pod.spec.at("enableServiceLinks").boolean() is False:
        return
    for service in context.view.of_kind("Service"):
        name, spec = name_of(service), Field(service.props).at("spec")
        variable = f"{(name or '').upper().replace('-', '_')}_PORT"
        if variable not in _ENGINE_PORTS or namespace_of(service) != pod.namespace:
            continue
        if spec.at("clusterIP").value == "None" or spec.at("type").value == "ExternalName":
            continue
        if all(container.has_variable(variable) for container in servers):
            continue
        yield Breach(
            where=pod.resource.name,
            what=f"Service {name} makes Kubernetes set {variable} to tcp://..., which vLLM reads "
            "as a port",
            change="rename the Service, or keep its variables out of the pod",
            fix=f"set {pod.spec.at('enableServiceLinks').path} to false",
        )


SERVICE_ENV_COLLISION = Rule(
    id="service-env-collision",
    title="No Service of the namespace sets a variable that the engine reads.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="names of Services; enableServiceLinks and variables of vLLM pods",
    why="the engine cannot read an address as a port number and ends",
    source="https://docs.vllm.ai/en/latest/configuration/env_vars.html",
    subjects=StackView.pods,
    judge=_find_collision,
)


def _find_no_fabric(workload: Workload, context: Context) -> Iterator[Breach]:
    members = [pod for pod in workload.pods if _is_member(pod)]
    if sum(_members(workload, pod) for pod in members) < 2:
        return
    families = context.options.get("families")
    wanted = (*_EFA_FAMILIES, *(families if isinstance(families, list) else ()))
    for pod in members:
        if _asks_for_fabric(pod):
            continue
        types = [n for nodes in context.view.nodes_of(pod, context.options) for n, _ in nodes.kinds]
        if not types or not all(_has_fabric(name, wanted) for name in types):
            continue
        path = pod.containers[0].body.at("resources", "limits", _EFA).path
        yield Breach(
            where=workload.resource.name,
            what=f"a group of several nodes of {types[0]} does not ask for {_EFA}, so its traffic "
            "goes over TCP",
            change="ask for the fabric",
            fix=f"set {path} to {_interfaces(types[0])}",
        )
        return


def _is_member(pod: Pod) -> bool:
    return bool(pod.role) and pod.asks_for_gpus


def _members(workload: Workload, pod: Pod) -> int:
    """Pods of this template in one group; workers of a Ray cluster all belong to it."""
    each = pod.pods_per_replica.integer()
    count = 1 if each is None else each
    if workload.is_ray:
        replicas = pod.replicas.integer()
        return count * (1 if replicas is None else replicas)
    return count


def _asks_for_fabric(pod: Pod) -> bool:
    return any(
        not container.body.at("resources", kind, _EFA).is_absent
        for container in pod.containers
        for kind in ("limits", "requests")
    )


def _has_fabric(instance_type: str, families: tuple[Any, ...]) -> bool:
    family = instance_type.partition(".")[0]
    return any(
        family == name or (name in ("p5", "p6") and family.startswith(name)) for name in families
    )


def _interfaces(instance_type: str) -> int:
    known = {"p4d": 4, "p4de": 4, "p5": 32, "p5e": 32, "p5en": 16, "p6-b200": 8}
    return known.get(instance_type.partition(".")[0], 1)


EFA_MISSING = Rule(
    id="efa-missing",
    title="Groups of several nodes use the fabric that their instances have.",
    severity="medium",
    level="advisory",
    scope="stack",
    reads="size and resources of groups; instance types that their pods may get",
    why="NCCL falls back to TCP and every token waits for the network",
    source="https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html",
    subjects=lambda view: (workload for workload in view.workloads if workload.is_group),
    judge=_find_no_fabric,
    options={
        **INSTANCE_TYPE_OPTION,
        "families": {
            "type": "array",
            "items": {"type": "string"},
            "description": "More instance families that are to use the fabric, such as g6e.",
        },
    },
)

RULES = (SERVICE_ENV_COLLISION, EFA_MISSING)
