"""The `berth` command: finds the subcommand, runs it, and turns every end into an exit code."""

import argparse
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from berth.config.nearest import nearest
from berth.config.problems import ConfigError, one_line
from berth.planner.errors import PlanError

COMMANDS: Final = {
    "calibrate": "two benchmarks of a live server to a calibration file",
    "catalog": "GPUs, instance types, models, software and prices",
    "catalog pin": "the newest EKS AMI releases, written into the catalog",
    "check": "the policy rules on manifests, Pulumi states or lists",
    "comment": "what a change costs, posted to its pull or merge request",
    "cost": "what a stack costs, from its file, a preview or an export",
    "cost diff": "what a change costs, and why each line moved",
    "doctor": "what is there, and what mends an interrupted `up`",
    "explain": "a rule, a GPU or an error text: what it means and what to do",
    "plan": "where one model fits, with which flags, and why not elsewhere",
    "policies": "admission policies and pages, written from the rules",
    "preview": "resources, plan, policies and cost of a stack in one report",
    "rehearse": "the whole `up` of a stack on a private control plane",
    "schema": "write the JSON schema of a stack file",
    "tools": "find or build the programs",
}
"""Subcommands in alphabetical order, each a module here with `add_parser` and `run`; one of two
words is a module with an underscore."""

REFUSED: Final = 1
UNUSABLE: Final = 2
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
"""128 and the number of SIGPIPE, as a shell reports it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand.

    Returns:
        0 fine, 1 the stack is refused, 2 wrong usage or unreadable input.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:  # a cancelled job cleans up as after Ctrl-C
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)
    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  open to the end, as any stdout
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may not fit the locale
    debug = "--debug" in words
    try:
        code = _run([word for word in words if word != "--debug"])
        sys.stdout.flush()
        return code
    except SystemExit as end:  # how argparse ends after --help and wrong usage
        return end.code if isinstance(end.code, int) else UNUSABLE
    except KeyboardInterrupt:
        return _say(INTERRUPTED, "berth: interrupted")
    except BrokenPipeError:
        _leave_the_pipe()
        return PIPE_CLOSED
    except Exception as error:
        if debug:
            raise
        return _say(*_explained(error))


def _run(words: list[str]) -> int:
    if words == ["--version"]:
        print(f"berth {_version()}")
        return 0
    words = _joined(words)
    chosen = next((word for word in words if not word.startswith("-")), None)
    if chosen is not None and chosen not in COMMANDS:
        close = nearest(chosen, COMMANDS)
        fix = f"did you mean {close}" if close else f"use one of {', '.join(COMMANDS)}"
        return _say(UNUSABLE, f"berth: {one_line(chosen)} is no command; {fix}")
    module = importlib.import_module(f"berth.cli.{chosen.replace(' ', '_')}") if chosen else None
    parser = _OneLineParser(
        prog="berth",
        description="Plan, price, check and build GPU inference stacks.",
        formatter_class=_OnOneLine,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("--debug", action="store_true", help="show where an internal error arose")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, text in COMMANDS.items():
        if module is not None and name == chosen:
            module.add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=text, add_help=False)
    arguments = parser.parse_args(words)
    if module is None:
        parser.error("no command given")
    return int(module.run(arguments))


def _joined(words: list[str]) -> list[str]:
    """The words with a command of two words as one."""
    at = next((at for at, word in enumerate(words) if not word.startswith("-")), 0)
    command = " ".join(words[at : at + 2])
    return [*words[:at], command, *words[at + 2 :]] if command in COMMANDS else words


class _OnOneLine(argparse.HelpFormatter):
    """Help with room for the longest command beside its text."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=40)
        self._action_max_length = max(map(len, COMMANDS)) + 4


class _OneLineParser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        self.exit(UNUSABLE, f"{self.prog}: {one_line(message)}; see `{self.prog} --help`\n")


def _explained(error: Exception) -> tuple[int, str]:
    """Exit code and lines of an error that no subcommand has handled."""
    if isinstance(error, ConfigError):
        return UNUSABLE, "\n".join(error.lines)
    if isinstance(error, PlanError):
        return REFUSED, "\n".join(error.lines)
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        package = error.name.partition(".")[0]
        if package != "berth":
            fix = f"install berth-gpu[{'aws' if package == 'botocore' else 'pulumi'}]"
            return UNUSABLE, f"berth: needs the Python package {package}, not installed here; {fix}"
    if isinstance(error, OSError) and error.filename is None and error.strerror:
        return UNUSABLE, f"berth: {error.strerror.lower()}; write the output somewhere else"
    if isinstance(error, OSError) and error.filename is not None:
        reason = (error.strerror or type(error).__name__).lower()
        fix = "make it usable, or name another"
        return UNUSABLE, f"{one_line(str(error.filename))}: cannot be used ({reason}); {fix}"
    what = one_line(" ".join(f"{type(error).__name__}: {error}".split()))
    return UNUSABLE, f"berth: internal error: {what}; run again with --debug"


def _say(code: int, text: str) -> int:
    print(text, file=sys.stderr)
    return code


def _version() -> str:
    from importlib.metadata import version

    return version("berth-gpu")


def _leave_the_pipe() -> None:
    """Point standard output to nowhere, so that Python's own flush at exit stays quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
