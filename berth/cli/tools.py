"""`berth tools`: the programs that Berth drives, found or made."""

import argparse
import json
import shlex
import sys

from berth.engine.tools import Program, ToolError, find_or_make, program_names
from berth.engine.tools.shims import bin_folder


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "tools", help="find or build the programs", description=run.__doc__
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="all of them when left out")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.add_argument(
        "--env", action="store_true", help="print the line that puts them on a shell's PATH"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Find each program, or download or build it once; print name, version, origin and path."""
    found: list[Program] = []
    problems: list[ToolError] = []
    for name in dict.fromkeys(arguments.names or program_names()):
        try:
            found.append(find_or_make(name))
        except ToolError as error:
            problems.append(error)
    if arguments.json:
        print(json.dumps([as_json(program) for program in found], indent=2))
    elif arguments.env:
        print(f"export PATH={shlex.quote(str(bin_folder()))}:$PATH")
    else:
        print_table(found)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 2 if problems else 0


def as_json(program: Program) -> dict[str, str | bool]:
    """One program as `berth tools --json` lists it."""
    return {
        "program": program.name,
        "version": program.version,
        "origin": program.origin,
        "path": str(program.path),
        "language_host": program.language_host,
    }


def print_table(programs: list[Program]) -> None:
    """One line per program, in columns as wide as needed."""
    rows = [(p.name, p.version, p.origin, str(p.path)) for p in programs]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        fitted = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
        print("  ".join([*fitted, row[3]]))
