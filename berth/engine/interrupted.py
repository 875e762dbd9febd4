"""What an update that was killed has left in a stack's backend, and the commands that mend it."""

import json
import os
import shlex
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pulumi.automation import PulumiCommand
from pulumi.automation.errors import CommandError

RELEASE = "kubernetes:helm.sh/v3:Release"
ATTRIBUTES = ".attrs"
"""Ending of the file that a backend of files keeps beside each of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Who says to be changing the stack."""

    process: int
    host: str
    since: str
    alive: bool
    """It still runs; on another host nobody here can tell, so it is taken to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingOperation:
    """A step that was begun and of which no end is known."""

    operation: str
    """Such as `creating`."""
    urn: str
    id: str | None
    """What the resource is called where it lives; empty: it is not there; None: not known here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """What one stack was left with."""

    stack: str
    locks: Sequence[Lock]
    pending: Sequence[PendingOperation]

    state: Mapping[str, Any]
    """The stack as its backend exports it; empty where that is torn."""
    torn: Sequence[Path] = ()
    """Files of the state that were being written when the update was killed."""

    def commands(self, state_file: str) -> list[list[str]]:
        """What mends it, in order; nothing where an update still runs.

        Args:
            state_file: where the second command puts the state that the third one takes.
        """
        if any(lock.alive for lock in self.locks):
            return []
        found = []
        for file in self.torn:
            if file.suffix == ATTRIBUTES:  # what the file has without them is right
                found.append(["rm", str(file)])
            else:
                found.append(["cp", f"{file}.bak", str(file)])
        if self.locks:
            found.append(["pulumi", "cancel", self.stack, "--yes"])
        if self.pending:
            of_stack = ["--stack", self.stack]
            found += [
                ["berth", "doctor", *of_stack, "--write-state", state_file],
                ["pulumi", "stack", "import", *of_stack, "--file", state_file],
                ["pulumi", "refresh", *of_stack, "--yes", "--skip-preview"],
            ]
        return found

    def mended_state(self) -> dict[str, Any]:
        """The state with what was made and not noted as resources, and nothing unfinished.

        `pulumi refresh --import-pending-creates` forgets such resources instead (tried with
        v3.274.1), so that the next `up` would make them a second time.
        """
        deployment = dict(self.state["deployment"])
        ids = {each.urn: each.id for each in self.pending if each.operation == "creating"}
        made = [
            {**operation["resource"], "id": ids[urn], "outputs": operation["resource"]["inputs"]}
            for operation in deployment.get("pending_operations") or ()
            for urn in [operation["resource"]["urn"]]
            if ids.get(urn)
        ]
        deployment["resources"] = [*(deployment.get("resources") or ()), *made]
        deployment.pop("pending_operations", None)
        return {**self.state, "deployment": deployment}

    @property
    def unknown(self) -> list[str]:
        """Resources that may exist though nobody here can tell: they must be looked for."""
        return [
            each.urn for each in self.pending if each.operation == "creating" and each.id is None
        ]


def read_interrupted(
    command: PulumiCommand,
    stack: str,
    work_dir: Path,
    environment: Mapping[str, str],
    find_id: Callable[[str], str | None],
) -> Interrupted:
    """Look at the backend of a stack.

    Args:
        command: the CLI.
        stack: its name.
        work_dir: holds Pulumi.yaml.
        environment: of the CLI.
        find_id: what the resource of a URN is called in the cloud; empty if it is not there; None
            where that cannot be asked.

    Raises:
        CommandError: if the backend has no such stack, or does not answer.
    """
    folder = backend_folder(_backend(command, work_dir, environment))
    locks, torn = _locks(folder, stack), _torn(folder, stack)
    if torn:
        return Interrupted(stack=stack, locks=locks, pending=(), state={}, torn=torn)
    said = command.run(["stack", "export", "--stack", stack], str(work_dir), environment)
    state = json.loads(said.stdout)
    operations = (state.get("deployment") or {}).get("pending_operations") or ()
    return Interrupted(
        stack=stack,
        locks=locks,
        pending=[_pending(each, find_id) for each in operations],
        state=state,
    )


def shell_line(words: Sequence[str]) -> str:
    """A command as a person types it."""
    return shlex.join(words)


def _backend(command: PulumiCommand, work_dir: Path, environment: Mapping[str, str]) -> str:
    try:
        said = command.run(["whoami", "--json"], str(work_dir), environment)
        return str(json.loads(said.stdout).get("url", ""))
    except (CommandError, ValueError):
        return ""


def backend_folder(url: str) -> Path | None:
    """The folder of a backend of files; None for any other."""
    parts = urlsplit(url)
    if parts.scheme != "file":
        return None
    return Path(unquote(parts.netloc + parts.path)).expanduser()


def _torn(folder: Path | None, stack: str) -> list[Path]:
    """A state that is no document while the one before it is still there; torn attributes."""
    if folder is None:
        return []
    files = sorted(folder.glob(f".pulumi/stacks/**/{_short(stack)}.json"))
    states = [f for f in files if not _is_document(f) and _is_document(Path(f"{f}.bak"))]
    beside = [Path(f"{file}{ATTRIBUTES}") for file in files]
    return [*states, *(file for file in beside if file.is_file() and not _is_document(file))]


def _is_document(file: Path) -> bool:
    try:
        json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return True


def _short(stack: str) -> str:
    """The name of a stack without organization and project."""
    return stack.rsplit("/", 1)[-1]


def _locks(folder: Path | None, stack: str) -> list[Lock]:
    """Of a backend of files; a service keeps its own, which `pulumi cancel` ends as well."""
    if folder is None:
        return []
    files = folder.glob(f".pulumi/locks/**/{_short(stack)}/*.json")
    return [_lock(json.loads(file.read_text("utf-8"))) for file in sorted(files)]


def _lock(content: Mapping[str, Any]) -> Lock:
    process, host = int(content.get("pid", 0)), str(content.get("hostname", ""))
    return Lock(
        process=process,
        host=host,
        since=str(content.get("timestamp", "")),
        alive=host != socket.gethostname() or _is_alive(process),
    )


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _pending(
    operation: Mapping[str, Any], find_id: Callable[[str], str | None]
) -> PendingOperation:
    resource = operation["resource"]
    urn = str(resource["urn"])
    return PendingOperation(
        operation=str(operation["type"]),
        urn=urn,
        id=resource.get("id") or _kubernetes_id(resource) or find_id(urn),
    )


def _kubernetes_id(resource: Mapping[str, Any]) -> str:
    """Namespace and name, which a Kubernetes object is called by; empty for anything else."""
    kind = str(resource["type"])
    if not kind.startswith("kubernetes:"):
        return ""
    inputs = resource.get("inputs") or {}
    holder = inputs if kind == RELEASE else inputs.get("metadata") or {}
    name, namespace = holder.get("name"), holder.get("namespace")
    if not isinstance(name, str):
        return ""
    return f"{namespace}/{name}" if isinstance(namespace, str) and namespace else name
