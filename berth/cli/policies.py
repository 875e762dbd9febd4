"""`berth policies`: pages and admission policies, both written from the rules."""

import argparse
import json
import sys
from pathlib import Path

PAGES = Path("docs") / "rules"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "policies",
        help="a page per rule, written from the rules",
        description="Writes what follows from the rules.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    docs = actions.add_parser(
        "docs",
        help=f"write a page per rule into {PAGES} of the project",
        description=f"Writes a page per rule and their index into {PAGES} of the project.",
    )
    docs.add_argument("--check", action="store_true", help="only say whether they are up to date")
    docs.add_argument("--json", action="store_true", help="print the pages, write nothing")


def run(args: argparse.Namespace) -> int:
    """Write, check or print; 1 if pages are not up to date."""
    return _docs(args)


def _docs(args: argparse.Namespace) -> int:
    from berth.engine.project import ProjectMissingError, find_project
    from berth.rules.page import index_text, page_data, page_text
    from berth.rules.registry import RULES

    if args.json:
        print(json.dumps([page_data(rule) for rule in RULES], indent=2))
        if not args.check:
            return 0
    pages = {f"{rule.id}.md": page_text(rule) for rule in RULES}
    pages["README.md"] = index_text(RULES)
    try:
        folder = find_project(Path.cwd()) / PAGES
    except ProjectMissingError as error:
        print(error, file=sys.stderr)
        return 2
    stale = {path.name for path in folder.glob("*.md")} - set(pages)
    if args.check:
        return _check(folder, pages, stale)
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (folder / name).unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    if not args.json:
        print(PAGES)
    return 0


def _check(folder: Path, pages: dict[str, str], stale: set[str]) -> int:
    wrong = sorted(stale)
    for name, text in pages.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            wrong.append(name)
    for name in wrong:
        fix = "run `berth policies docs`"
        print(f"{PAGES / name}: not what the rules say; {fix}", file=sys.stderr)
    return int(bool(wrong))
