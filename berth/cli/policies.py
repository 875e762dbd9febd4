"""`berth policies`: pages and admission policies, written from the rules, and the pack's folder."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from berth.cli.policy_folder import write_pack
from berth.engine.project import ProjectMissingError, find_project
from berth.rules.admission.objects import (
    Action,
    Parameters,
    admission_objects,
    exported_rules,
)
from berth.rules.environment import ENVIRONMENTS
from berth.rules.page import index_text, page_data, page_text
from berth.rules.registry import RULES

PAGES = Path("docs") / "rules"
_ACTIONS: Final[Mapping[str, Action]] = {"deny": "Deny", "warn": "Warn", "audit": "Audit"}
_WIDTH: Final = 100_000
"""No line of an expression is folded."""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "policies",
        help="admission policies and pages, written from the rules; the folder of the pack",
        description="Writes what follows from the rules.",
    )
    actions = parser.add_subparsers(dest="action_name", metavar="ACTION", required=True)
    docs = actions.add_parser(
        "docs",
        help=f"write a page per rule into {PAGES} of the project",
        description=f"Writes a page per rule and their index into {PAGES} of the project.",
    )
    docs.add_argument("--check", action="store_true", help="only say whether they are up to date")
    docs.add_argument("--json", action="store_true", help="print the pages, write nothing")
    _add_export(actions)
    pack = actions.add_parser(
        "pack",
        help="write the folder of the policy pack, for another repository or to publish",
        description="Writes the folder that `--policy-pack` and `pulumi policy publish` take. The "
        "rules are installed into it from the distribution that its requirements name.",
    )
    pack.add_argument("folder", type=Path, metavar="DIR", help="new, or empty")
    pack.add_argument(
        "--requirement",
        metavar="TEXT",
        help="what pip installs instead of this release: a path of a wheel, `NAME @ git+URL`",
    )
    pack.add_argument("--json", action="store_true", help="print what was written")


def _add_export(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    export = actions.add_parser(
        "export",
        help="ValidatingAdmissionPolicy objects for `kubectl apply`",
        description="Writes ValidatingAdmissionPolicy and -Binding objects of the rules that one "
        "object decides.",
    )
    export.add_argument(
        "to", nargs="?", default="-", metavar="DIR|-", help="a file per rule, or all to stdout"
    )
    export.add_argument(
        "--environment", choices=ENVIRONMENTS, help="some rules deny in prod and warn elsewhere"
    )
    export.add_argument(
        "--action",
        action="append",
        choices=tuple(_ACTIONS),
        help="of every policy, instead of deny for mandatory rules and warn and audit for advice",
    )
    export.add_argument(
        "--namespace", action="append", metavar="NAME", help="only there; may be repeated"
    )
    export.add_argument(
        "--exclude-namespace",
        action="append",
        metavar="NAME",
        help="not there; may be repeated; kube-system where none is named",
    )
    export.add_argument("--json", action="store_true", help="one List in JSON instead of YAML")


def run(args: argparse.Namespace) -> int:
    """Write, check or print; 1 if pages are not up to date."""
    if args.action_name == "pack":
        return write_pack(args.folder, args.requirement, as_json=args.json)
    return _export(args) if args.action_name == "export" else _docs(args)


def _export(args: argparse.Namespace) -> int:
    actions = tuple(_ACTIONS[name] for name in dict.fromkeys(args.action or ()))
    if {"Deny", "Warn"} <= set(actions):
        problem = "--action: deny and warn exclude each other; leave one of them out"
        print(f"berth policies export: {problem}", file=sys.stderr)
        return 2
    parameters = Parameters(
        environment=args.environment,
        actions=actions,
        namespaces=tuple(args.namespace or ()),
        excluded_namespaces=tuple(args.exclude_namespace or ("kube-system",)),
    )
    if args.to == "-":
        sys.stdout.write(_as_text(admission_objects(parameters), args))
        return 0
    folder = Path(args.to)
    folder.mkdir(parents=True, exist_ok=True)
    ending = "json" if args.json else "yaml"
    for rule in exported_rules():
        path = folder / f"{rule.id}.{ending}"
        path.write_text(_as_text(admission_objects(parameters, [rule]), args), encoding="utf-8")
        print(path)
    return 0


def _as_text(objects: list[dict[str, Any]], args: argparse.Namespace) -> str:
    if args.json:
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=2) + "\n"
    text: str = yaml.safe_dump_all(objects, sort_keys=False, width=_WIDTH)
    return text


def _docs(args: argparse.Namespace) -> int:
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
