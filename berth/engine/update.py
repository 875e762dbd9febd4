"""One `pulumi up` or `pulumi destroy` through the Automation API, as far as a report needs it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pulumi.automation import Stack
from pulumi.automation.errors import CommandError
from pulumi.automation.events import EngineEvent

from berth.engine.preview import EnginePreview, PolicyFinding, Target, collect, open_stack

Operation = Literal["up", "destroy"]


@dataclass(slots=True, kw_only=True)
class EngineUpdate:
    """All that one update said."""

    seconds: float = 0.0
    ok: bool = True
    changes: Mapping[str, int] = field(default_factory=dict)
    """Resources by what was done to them, such as `create` or `same`."""
    errors: list[str] = field(default_factory=list)
    policies: list[PolicyFinding] = field(default_factory=list)
    done: int = 0
    """Steps that have ended."""
    latest: str = ""
    """Name of the resource that was begun last."""


def run_update(
    target: Target, operation: Operation, on_progress: Callable[[EngineUpdate], None]
) -> EngineUpdate:
    """Bring the stack up, or take it down with what is protected in it.

    Raises:
        StackMissingError: if the backend has no such stack and may not make one.
        CommandError: if the CLI fails without saying why in its events.
    """
    stack = open_stack(target)
    result = EngineUpdate()
    seen = EnginePreview()

    def on_event(event: EngineEvent) -> None:
        collect(event, seen)
        if event.res_outputs_event or event.res_op_failed_event:
            result.done += 1
        if event.resource_pre_event:
            result.latest = event.resource_pre_event.metadata.urn.rsplit("::", 1)[-1]
        if event.summary_event:
            changes = event.summary_event.resource_changes
            result.changes = {str(getattr(op, "value", op)): n for op, n in changes.items()}
        on_progress(result)

    started_s = time.monotonic()
    try:
        if operation == "up":
            packs = [str(pack) for pack in target.policy_packs]
            stack.up(on_event=on_event, policy_packs=packs, color="never", suppress_outputs=True)
        else:
            stack.destroy(on_event=on_event, color="never")
    except CommandError:
        result.ok = False
        if not seen.errors and not seen.policies:
            raise
    result.seconds = time.monotonic() - started_s
    result.errors, result.policies = seen.errors, seen.policies
    return result


def unprotect(target: Target) -> list[str]:
    """Take the protection from every resource of the state; returns their names."""
    stack = open_stack(target)
    names = [urn.rsplit("::", 1)[-1] for urn in _protected(stack)]
    if names:
        stack._run_pulumi_cmd_sync(["state", "unprotect", "--all", "--yes"])
    return names


def left_in_state(target: Target) -> list[str]:
    """Resources that the state still has."""
    deployment = open_stack(target).export_stack().deployment or {}
    return [resource["urn"] for resource in deployment.get("resources") or ()]


def _protected(stack: Stack) -> list[str]:
    deployment = stack.export_stack().deployment or {}
    return [r["urn"] for r in deployment.get("resources") or () if r.get("protect")]
