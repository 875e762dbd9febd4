"""One `pulumi preview` through the Automation API, reduced to what a report needs."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulumi.automation import LocalWorkspace, PulumiCommand, Stack
from pulumi.automation.errors import CommandError, StackNotFoundError
from pulumi.automation.events import EngineEvent, StepEventMetadata

from berth.rules.exceptions import EXCEPTIONS_POLICY
from berth.rules.finding import split_message

_MARKUP = re.compile(r"<\{%.*?%\}>")
_OPERATION = {
    "create-replacement": "replace",
    "delete-replaced": "replace",
    "read-replacement": "read",
    "import-replacement": "import",
    "discard-replaced": "discard",
}
"""A replacement comes as several steps of one resource; it counts as one."""


class StackMissingError(LookupError):
    """The backend has no stack of this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which stack to preview, and with what."""

    stack: str
    work_dir: Path
    """Holds Pulumi.yaml."""
    environment: Mapping[str, str]
    command: PulumiCommand
    policy_packs: tuple[Path, ...]
    policy_pack_configs: tuple[Path, ...] = ()
    """One per pack, or none."""
    create: bool = False
    """Make the stack if the backend lacks it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedResource:
    """What would happen to one resource."""

    urn: str
    type: str
    name: str
    op: str
    parent: str
    """URN of the component that holds it; empty at the top."""
    changed: tuple[str, ...]
    """Properties that differ."""
    inputs: Mapping[str, Any]
    """As the engine shows them: camelCase, secrets and unknowns as marker strings."""
    before: Mapping[str, Any] = field(default_factory=dict)
    """Outputs that the state has; empty for a resource that is new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFinding:
    """What a policy reported, as the engine tells it."""

    kind: str
    enforcement_level: str
    urn: str
    message: str

    @property
    def resource(self) -> str:
        """Name of the resource; the stack's for a finding about the whole stack."""
        return self.urn.rsplit("::", 1)[-1]


@dataclass(slots=True, kw_only=True)
class EnginePreview:
    """All that one preview said."""

    resources: list[PreviewedResource] = field(default_factory=list)
    policies: list[PolicyFinding] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    ok: bool = True
    outputs: Mapping[str, Any] = field(default_factory=dict)
    """Of the stack, as far as a preview knows them."""

    @property
    def refused(self) -> bool:
        """A mandatory policy was broken."""
        return any(finding.enforcement_level == "mandatory" for finding in self.policies)


def open_stack(target: Target) -> Stack:
    """The stack, made if it may be.

    Raises:
        StackMissingError: if the backend has no such stack and may not make one.
    """
    workspace = LocalWorkspace(
        work_dir=str(target.work_dir),
        pulumi_command=target.command,
        env_vars=dict(target.environment),
    )
    take = Stack.create_or_select if target.create else Stack.select
    try:
        return take(target.stack, workspace)
    except StackNotFoundError as error:
        raise StackMissingError(target.stack) from error


def run_preview(target: Target, on_progress: Callable[[EnginePreview], None]) -> EnginePreview:
    """Preview the stack; `on_progress` sees the result grow.

    Raises:
        StackMissingError: if the backend has no such stack and may not make one.
        CommandError: if the CLI fails without saying why in its events.
    """
    stack = open_stack(target)
    result = EnginePreview()

    def on_event(event: EngineEvent) -> None:
        collect(event, result)
        on_progress(result)

    try:
        stack.preview(
            on_event=on_event,
            policy_packs=[str(pack) for pack in target.policy_packs],
            policy_pack_configs=[str(config) for config in target.policy_pack_configs],
            color="never",
        )
    except CommandError:
        result.ok = False
        if not result.errors and not result.refused:
            raise
    # The engine registers in parallel, so its order differs from run to run.
    result.resources.sort(key=lambda resource: (resource.type, resource.name, resource.urn))
    return result


def network_zones(resources: Sequence[PreviewedResource]) -> tuple[str, ...]:
    """Zones of the subnets that the stack makes, in order; what goes away is left out."""
    zones = {
        str(resource.inputs.get("availabilityZone"))
        for resource in resources
        if resource.type == "aws:ec2/subnet:Subnet" and resource.op != "delete"
    }
    return tuple(sorted(zones - {"None"}))


def collect(event: EngineEvent, result: EnginePreview) -> None:
    """Take from one event of the engine what a report needs."""
    if event.resource_pre_event:
        _add_resource(event.resource_pre_event.metadata, result.resources)
    if event.policy_event:
        policy = event.policy_event
        if policy.policy_name == EXCEPTIONS_POLICY and policy.enforcement_level == "advisory":
            result.warnings.append(split_message(_plain(policy.message))[0])
            return
        result.policies.append(
            PolicyFinding(
                kind=policy.policy_name,
                enforcement_level=policy.enforcement_level,
                urn=policy.resource_urn or "",
                message=_plain(policy.message),
            )
        )
    if event.res_outputs_event:
        made = event.res_outputs_event.metadata
        if made.type == "pulumi:pulumi:Stack" and made.new is not None:
            result.outputs = made.new.outputs or {}
    diagnostic = event.diagnostic_event
    if diagnostic and not diagnostic.ephemeral:
        lines = [line for line in _plain(diagnostic.message).splitlines() if line.strip()]
        if diagnostic.severity == "error":
            result.errors.extend(lines)
        elif diagnostic.severity == "warning":
            result.warnings.extend(lines)


def _add_resource(metadata: StepEventMetadata, resources: list[PreviewedResource]) -> None:
    if metadata.type == "pulumi:pulumi:Stack" or any(r.urn == metadata.urn for r in resources):
        return
    state = metadata.new or metadata.old
    op = metadata.op.value if hasattr(metadata.op, "value") else str(metadata.op)
    resources.append(
        PreviewedResource(
            urn=metadata.urn,
            type=metadata.type,
            name=metadata.urn.rsplit("::", 1)[-1],
            op=_OPERATION.get(op, op),
            parent=state.parent if state and "pulumi:pulumi:Stack" not in state.parent else "",
            changed=_changed(metadata.diffs or ()),
            inputs=(state.inputs if state else None) or {},
            before=(metadata.old.outputs if metadata.old else None) or {},
        )
    )


def _changed(properties: Sequence[str]) -> tuple[str, ...]:
    """What differs; `tagsAll`, which the provider works out from `tags`, only by itself."""
    return tuple(each for each in properties if each != "tagsAll") or tuple(properties)


def _plain(text: str) -> str:
    """Engine text without its colour tags."""
    return _MARKUP.sub("", text).strip()
