"""The stages of nodes and pods as KWOK reads them, with the start-up times of model servers."""

import copy
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml

MODEL_SERVER: Final = ("app.kubernetes.io/name", "vllm")
SERVER_LABEL: Final = "app.kubernetes.io/instance"
"""Which model server a pod belongs to."""


def stages_document(ready_after_ms: Mapping[str, int], speed: float = 1.0) -> str:
    """All stages as YAML documents.

    Args:
        ready_after_ms: by model server, from the start of a pod until it is ready. Other pods are
            ready at once.
        speed: how many times faster than in life that is. A pod whose start-up probe gives up
            before, in life, is killed instead and begins anew.
    """
    stages = dict(_templates())
    killed = stages.pop("pod-killed")
    label, value = MODEL_SERVER
    for server, delay_ms in ready_after_ms.items():
        own = copy.deepcopy(stages["pod-ready"])
        own["selector"]["matchLabels"] = {label: value, SERVER_LABEL: server}
        own["delay"] = {"durationMilliseconds": delay_ms}
        stages[f"pod-killed-{server}"] = _killed(killed, own, delay_ms * speed / 1000)
        own["selector"]["matchExpressions"].append(
            _gives_up_before(delay_ms * speed / 1000, "NotIn")
        )
        stages[f"pod-ready-{server}"] = own
    if ready_after_ms:
        others = copy.deepcopy(stages["pod-ready"])
        others["selector"]["matchExpressions"].append(
            {"key": f'.metadata.labels["{label}"]', "operator": "NotIn", "values": [value]}
        )
        stages["pod-ready"] = others
    return yaml.safe_dump_all(_stage(name, spec) for name, spec in stages.items())


def _killed(template: Any, ready: Any, load_s: float) -> dict[str, Any]:
    """As long as a start takes, and then it was in vain."""
    stage = copy.deepcopy({**ready, "next": template["next"]})
    stage["selector"]["matchExpressions"].append(_gives_up_before(load_s, "In"))
    return stage


def _gives_up_before(load_s: float, operator: str) -> Mapping[str, Any]:
    """Whether the start-up probe fails so often that the kubelet kills the container."""
    budget = ".failureThreshold * (.periodSeconds // 10)"
    key = f".spec.containers[0].startupProbe | values | ({budget}) < {load_s:.0f} | tostring"
    return {"key": key, "operator": operator, "values": ["true"]}


def _stage(name: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": dict(spec),
    }


@cache
def _templates() -> Mapping[str, Any]:
    text = files("berth.rehearsal").joinpath("stages.yaml").read_text("utf-8")
    templates: Mapping[str, Any] = yaml.safe_load(text)
    return templates
