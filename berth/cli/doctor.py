"""`berth doctor`: what is there, what an interrupted `up` left, and the command that mends it."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pulumi.automation.errors import CommandError

from berth.cli.engine_error import engine_lines
from berth.engine.environment import engine_environment
from berth.engine.interrupted import (
    Interrupted,
    backend_folder,
    read_interrupted,
    shell_line,
)
from berth.engine.interruptible import InterruptibleCommand
from berth.engine.project import ProjectMissingError, find_project
from berth.engine.tools import Program, ToolError, look_for, program_names
from berth.offline.cloud import Cloud
from berth.rehearsal.control_plane import rehearsals_folder
from berth.rehearsal.leftovers import found_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    check: str
    ok: bool
    found: str
    fix: str = ""
    """The command that mends it; empty where nothing is to do."""


def add_parser(subparsers: Any) -> None:
    """Add `doctor` and its flags."""
    parser = subparsers.add_parser(
        "doctor",
        help="what is there, and what mends an interrupted `up`",
        description="Looks only; each line that is not ok names the command that mends it.",
    )
    parser.add_argument("--stack", help="look at this stack in the backend too")
    parser.add_argument(
        "--write-state",
        type=Path,
        metavar="FILE",
        help="with --stack: write its state with nothing unfinished, for `pulumi stack import`",
    )
    parser.add_argument("--json", action="store_true", help="a list of findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Look at everything; 0 fine, 1 something is to mend, 2 it could not be looked at."""
    if args.write_state is not None and args.stack is None:
        return _fail("--write-state: of which stack; add --stack")
    try:
        left = _looked_at(args.stack) if args.stack is not None else None
    except (ProjectMissingError, ToolError) as error:
        return _fail(str(error))
    except CommandError as error:
        return _fail(*engine_lines(error))
    if left is not None and args.write_state is not None:
        text = json.dumps(left.mended_state(), indent=2)
        args.write_state.write_text(text, "utf-8")
        return 0
    findings = [*_programs(), *_rehearsals(), *(_stack(left) if left is not None else ())]
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings)
    return 0 if all(finding.ok for finding in findings) else 1


def _programs() -> Iterator[Finding]:
    for name in program_names():
        program = look_for(name)
        if program is None:
            fix = f"berth tools {name}"
            yield Finding(check=name, ok=False, found="not there", fix=fix)
        else:
            yield Finding(check=name, ok=True, found=_described(program))


def _described(program: Program) -> str:
    return f"{program.version}, {program.origin}, {program.path}"


def _rehearsals() -> Iterator[Finding]:
    for each in found_in(rehearsals_folder()):
        check = f"rehearsal {each.folder.name}"
        if each.kept:
            kubeconfig = each.folder / "kubeconfig"
            found = f"kept, KUBECONFIG={kubeconfig}; `kill {each.keeper}` ends it"
            yield Finding(check=check, ok=True, found=found)
        elif each.alive:
            yield Finding(check=check, ok=True, found="running")
        else:
            fix = f"rm -r {each.folder}"
            yield Finding(check=check, ok=False, found="left by a run that was killed", fix=fix)


def _looked_at(stack: str) -> Interrupted:
    """The stack in the backend that this shell is logged in to.

    Raises:
        ProjectMissingError, ToolError, CommandError: if it cannot be looked at.
    """
    work_dir = find_project(Path.cwd())
    program = look_for("pulumi")
    if program is None:
        raise ToolError("pulumi: not there; run `berth tools pulumi`")
    command, environment = InterruptibleCommand(program), engine_environment(program)
    return read_interrupted(command, stack, work_dir, environment, _find_id)


def _stack(left: Interrupted) -> Iterator[Finding]:
    """The lock and the steps that nobody knows the end of."""
    where = f"stack {left.stack}"
    commands = [shell_line(words) for words in left.commands(f"{left.stack}-mended.json")]
    files, rest = commands[: len(left.torn)], commands[len(left.torn) :]
    if files:
        yield Finding(
            check=f"{where}: state",
            ok=False,
            found="being written when the update was killed",
            fix=f"{' && '.join(files)}; then run this again",
        )
    for lock in left.locks:
        state = "still runs" if lock.alive else "has ended"
        found = f"locked since {lock.since} by process {lock.process} on {lock.host}, which {state}"
        fix = rest[0] if rest else "wait until it has ended"
        yield Finding(check=f"{where}: lock", ok=False, found=found, fix=fix)
    if left.pending and rest:
        names = ", ".join(f"{p.operation} {p.urn.rsplit('::', 1)[-1]}" for p in left.pending)
        fix = " && ".join(rest[1:] if left.locks else rest)
        if left.unknown:
            unknown = ", ".join(urn.rsplit("::", 1)[-1] for urn in left.unknown)
            fix += f"; afterwards look in the cloud for {unknown}: delete what is there"
        yield Finding(check=f"{where}: unfinished", ok=False, found=names, fix=fix)
    if not (left.locks or left.pending or left.torn):
        yield Finding(check=where, ok=True, found="no lock, nothing unfinished")


def _find_id(urn: str) -> str | None:
    """The id of a resource in the pretended cloud, where the backend is one of an offline run."""
    return pretended_id(urn, os.environ.get("PULUMI_BACKEND_URL", ""))


def pretended_id(urn: str, backend_url: str) -> str | None:
    """The id of a resource in the pretended cloud beside a backend of files; empty: not there."""
    folder = backend_folder(backend_url)
    if folder is None or not (folder.parent / "cloud.json").is_file():
        return None
    records = Cloud(folder.parent).records()
    return next((record.id for record in records if record.urn == urn), "")


def _print(findings: list[Finding]) -> None:
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        mark = "ok  " if finding.ok else "mend"
        print(f"{mark}  {finding.check.ljust(width)}  {finding.found}")
        if finding.fix:
            print(f"      {'':{width}}  run: {finding.fix}")


def _fail(*lines: str) -> int:
    for line in lines:
        print(line, file=sys.stderr)
    return 2
