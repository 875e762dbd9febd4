"""Previews and exports as the engine writes them, with only what costs need."""

import json
from typing import Any

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def state(kind: str, name: str, inputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One resource."""
    urn = f"urn:pulumi:prod::team::{kind}::{name}"
    return {"urn": urn, "type": kind, "custom": True, "inputs": inputs, **more}


def node_group(name: str = "pool", **changes: Any) -> dict[str, Any]:
    """A node group of 2 (0 to 4) p5.48xlarge on demand with 200 GiB."""
    inputs = {
        "instanceTypes": ["p5.48xlarge"],
        "scalingConfig": {"minSize": 0, "desiredSize": 2, "maxSize": 4},
        "diskSize": 200,
        **changes,
    }
    return state(NODE_GROUP, name, {key: each for key, each in inputs.items() if each is not None})


def step(op: str, after: dict[str, Any] | None, before: dict[str, Any] | None = None) -> Any:
    """One step of a preview."""
    shown = after or before or {}
    return {"op": op, "urn": shown.get("urn"), "newState": after, "oldState": before}


def preview(*steps: Any, **more: Any) -> bytes:
    """Output of `pulumi preview --json` in us-east-1."""
    config = {"aws:region": "us-east-1"}
    return json.dumps({"config": config, "steps": list(steps), **more}).encode()


def export(*states: dict[str, Any]) -> bytes:
    """Output of `pulumi stack export`."""
    return json.dumps({"version": 3, "deployment": {"resources": list(states)}}).encode()
