"""Small files around the programs: our language host beside a CLI without one, and `bin/`."""

import secrets
import shlex
import sys
from pathlib import Path

from berth.engine.tools.folders import berth_home
from berth.engine.tools.program import Program

LANGUAGE_HOST = "pulumi-language-python"


def bin_folder() -> Path:
    """The folder that a person can put on the PATH."""
    return berth_home() / "bin"


def prepare(program: Program) -> None:
    """Link a program into `bin/`; give a Pulumi CLI without a language host ours.

    The host lies beside the CLI, where Pulumi's own would: the engine takes it without the warning
    that it has for one from the PATH.
    """
    link(bin_folder() / program.name, program.path)
    if program.name != "pulumi":
        return
    host = program.path.resolve().parent / LANGUAGE_HOST
    if not program.language_host:
        write_executable(host, shim_text(sys.executable))
    if host.is_file():
        link(bin_folder() / LANGUAGE_HOST, host)
    else:
        (bin_folder() / LANGUAGE_HOST).unlink(missing_ok=True)


def shim_text(python: str) -> str:
    """A script that becomes the language host, with the interpreter that runs now.

    `-P` keeps the program's own folder, in which the engine starts it, off the import path.
    """
    return f'#!/bin/sh\nexec {shlex.quote(python)} -P -m berth.engine.language_host "$@"\n'


def write_executable(path: Path, text: str) -> None:
    """Write a script unless it is there already; never half of one."""
    if path.is_file() and path.read_text("utf-8") == text:
        return
    partial = unused_name(path)
    partial.write_text(text, "utf-8")
    partial.chmod(0o755)
    partial.replace(path)


def link(path: Path, target: Path) -> None:
    """Point a symbolic link at a file, whatever it pointed at before."""
    if path.is_symlink() and path.readlink() == target:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = unused_name(path)
    partial.symlink_to(target)
    partial.replace(path)


def unused_name(path: Path) -> Path:
    """A name beside a path that no other run or thread uses."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}")
