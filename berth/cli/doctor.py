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
from berth.engine.interrupted import backend_folder, read_interrupted, shell_line
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
        help="what is installed, what an interrupted `up` left, and what mends it",
        description="Looks only; each line that is not ok names the command that mends it.",
    )
    parser.add_argument("--stack", help="look at this stack in the backend too")
    parser.add_argument("--json", action="store_true", help="a list of findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Look at everything; 0 fine, 1 something is to mend, 2 it could not be looked at."""
    findings = [*_programs(), *_rehearsals()]
    if args.stack is not None:
        try:
            findings += _stack(args.stack)
        except (ProjectMissingError, ToolError) as error:
            return _fail(str(error))
        except CommandError as error:
            return _fail(*engine_lines(error))
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


def _stack(stack: str) -> Iterator[Finding]:
    """The lock and the steps that nobody knows the end of."""
    work_dir = find_project(Path.cwd())
    program = look_for("pulumi")
    if program is None:
        raise ToolError("pulumi: not there; run `berth tools pulumi`")
    left = read_interrupted(
        InterruptibleCommand(program), stack, work_dir, engine_environment(program), _find_id
    )
    alive = [lock for lock in left.locks if lock.alive]
    for lock in left.locks:
        state = "still runs" if lock.alive else "has ended"
        found = f"locked since {lock.since} by process {lock.process} on {lock.host}, which {state}"
        fix = "wait until it has ended" if lock.alive else shell_line(left.commands[0])
        yield Finding(check=f"stack {stack}: lock", ok=False, found=found, fix=fix)
    if left.pending and not alive:
        names = ", ".join(f"{p.operation} {p.urn.rsplit('::', 1)[-1]}" for p in left.pending)
        fix = shell_line(left.commands[-1])
        if left.unknown:
            unknown = ", ".join(urn.rsplit("::", 1)[-1] for urn in left.unknown)
            fix += (
                f" -- but first look in the cloud for {unknown}; what is there goes in as "
                "--import-pending-creates URN --import-pending-creates ID, or is deleted"
            )
        yield Finding(check=f"stack {stack}: unfinished", ok=False, found=names, fix=fix)
    if not left.locks and not left.pending:
        yield Finding(check=f"stack {stack}", ok=True, found="no lock, nothing unfinished")


def _find_id(urn: str) -> str | None:
    """The id of a resource in the pretended cloud, where the backend is one of an offline run."""
    return pretended_id(urn, os.environ.get("PULUMI_BACKEND_URL", ""))


def pretended_id(urn: str, backend_url: str) -> str | None:
    """The id of a resource in the pretended cloud beside a backend of files."""
    folder = backend_folder(backend_url)
    if folder is None or not (folder.parent / "cloud.json").is_file():
        return None
    records = Cloud(folder.parent).records()
    return next((record.id for record in records if record.urn == urn), None)


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
