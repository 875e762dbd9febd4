"""`berth schema`: the JSON schema of a stack file, which editors complete from."""

import argparse
import sys
from pathlib import Path

SCHEMA_FILE = Path("stacks") / "schema.json"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "schema",
        help="write the JSON schema of a stack file",
        description=f"Writes {SCHEMA_FILE} of the project, which stack files name for editors.",
    )
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    parser.add_argument("--json", action="store_true", help="print the schema, write nothing")


def run(args: argparse.Namespace) -> int:
    """Write, check or print the schema; 1 if it is not up to date."""
    from berth.config.schema import schema_text
    from berth.engine.project import ProjectMissingError, find_project

    wanted = schema_text()
    if args.json:
        print(wanted, end="")
        if not args.check:
            return 0
    try:
        path = find_project(Path.cwd()) / SCHEMA_FILE
    except ProjectMissingError as error:
        print(error, file=sys.stderr)
        return 2
    if args.check:
        return _check(path, wanted)
    path.parent.mkdir(exist_ok=True)
    path.write_text(wanted, encoding="utf-8")
    print(SCHEMA_FILE)
    return 0


def _check(path: Path, wanted: str) -> int:
    written = path.read_text(encoding="utf-8") if path.is_file() else None
    if written == wanted:
        return 0
    what = "missing" if written is None else "not what the vocabulary of berth/config says"
    print(f"{SCHEMA_FILE}: {what}; run `berth schema`", file=sys.stderr)
    return 1
