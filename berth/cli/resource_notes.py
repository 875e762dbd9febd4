"""What to say beside a resource in a report: the one or two inputs a reviewer looks for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""How the engine writes a value that is known only after `up`."""

Inputs = Mapping[str, Any]


def note(resource_type: str, inputs: Inputs) -> str:
    """A few words, or nothing for a type that needs none."""
    describe = _NOTES.get(resource_type)
    return describe(inputs) if describe else ""


def _at(inputs: Any, *path: str | int) -> Any:
    """The value below `path`; None where a step is missing, unknown or of another shape."""
    for step in path:
        if isinstance(inputs, Mapping) and isinstance(step, str):
            inputs = inputs.get(step)
        elif isinstance(inputs, Sequence) and not isinstance(inputs, str) and isinstance(step, int):
            inputs = inputs[step] if step < len(inputs) else None
        else:
            return None
    return None if inputs == UNKNOWN else inputs


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else "?"


def _joined(*parts: Any) -> str:
    return ", ".join(str(part) for part in parts if part)


def _subnet(inputs: Inputs) -> str:
    return _joined(_at(inputs, "availabilityZone"), _at(inputs, "cidrBlock"))


def _node_group(inputs: Inputs) -> str:
    sizes = [_number(_at(inputs, "scalingConfig", key)) for key in _SIZES]
    types = _at(inputs, "instanceTypes")
    return _joined(
        _at(inputs, "capacityType"),
        " ".join(types) if isinstance(types, Sequence) else None,
        "min {}, desired {}, max {}".format(*sizes),
    )


_SIZES = ("minSize", "desiredSize", "maxSize")


def _launch_template(inputs: Inputs) -> str:
    target = ("capacityReservationSpecification", "capacityReservationTarget")
    reservation = _at(inputs, *target, "capacityReservationId")
    return _joined(
        _at(inputs, "instanceType"),
        _at(inputs, "instanceMarketOptions", "marketType"),
        f"targets {reservation}" if reservation else None,
    )


def _workload(inputs: Inputs) -> str:
    pod = ("spec", "template", "spec")
    containers = _at(inputs, *pod, "containers") or ()
    secrets = sorted({s for c in containers for s in _secret_references(c)})
    replicas = _number(_at(inputs, "spec", "replicas"))
    return _joined(
        "1 replica" if replicas == "1" else f"{replicas} replicas",
        *(_gpus(container) for container in containers),
        *(_at(container, "image") for container in containers),
        *(f"reads Secret {secret}" for secret in secrets),
    )


def _group(inputs: Inputs) -> str:
    template = ("spec", "leaderWorkerTemplate")
    containers = _at(inputs, *template, "workerTemplate", "spec", "containers") or ()
    replicas, size = _at(inputs, "spec", "replicas"), _at(inputs, *template, "size")
    return _joined(
        f"{_number(replicas)} x {_number(size)} pods",
        *(_gpus(container) for container in containers),
        *(_at(container, "image") for container in containers),
    )


def _gpus(container: Any) -> str:
    limits = _at(container, "resources", "limits") or {}
    asked = [f"{key} {limits[key]}" for key in limits if key in ("nvidia.com/gpu", "amd.com/gpu")]
    return " ".join(asked)


def _secret_references(container: Any) -> list[str]:
    """`name (key)` of every Secret key that the container takes a variable from."""
    found = []
    for variable in _at(container, "env") or ():
        reference = _at(variable, "valueFrom", "secretKeyRef")
        if reference:
            found.append(f"{_at(reference, 'name')} ({_at(reference, 'key')})")
    return found


def _service(inputs: Inputs) -> str:
    port = _at(inputs, "spec", "ports", 0, "port")
    return _joined(_at(inputs, "spec", "type"), f"port {_number(port)}" if port else None)


def _release(inputs: Inputs) -> str:
    return _joined(f"{_at(inputs, 'chart')} {_at(inputs, 'version') or 'unpinned'}")


_NOTES: Mapping[str, Callable[[Inputs], str]] = {
    "aws:ec2/vpc:Vpc": lambda inputs: _joined(_at(inputs, "cidrBlock")),
    "aws:ec2/subnet:Subnet": _subnet,
    "aws:ec2/vpcEndpoint:VpcEndpoint": lambda inputs: _joined(_at(inputs, "serviceName")),
    "aws:ec2/launchTemplate:LaunchTemplate": _launch_template,
    "aws:eks/cluster:Cluster": lambda inputs: _joined(_at(inputs, "version")),
    "aws:eks/accessEntry:AccessEntry": lambda inputs: _joined(_at(inputs, "principalArn")),
    "aws:eks/addon:Addon": lambda inputs: _joined(_at(inputs, "addonName")),
    "aws:eks/nodeGroup:NodeGroup": _node_group,
    "kubernetes:apps/v1:Deployment": _workload,
    "kubernetes:core/v1:Service": _service,
    "kubernetes:helm.sh/v3:Release": _release,
    "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet": _group,
}
