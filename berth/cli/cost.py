"""`berth cost`: what a stack costs, from its file or from what the engine shows."""

import argparse
import json
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from berth.catalog.load import load_catalog
from berth.cli.cost_page import cost_lines
from berth.cli.stack_plan import plan_of_settings, planned_stack
from berth.config.nearest import did_you_mean
from berth.config.read import stack_file
from berth.costs.bought import PriceList
from berth.costs.document import estimate_document
from berth.costs.estimate import Estimate
from berth.costs.from_plan import estimate
from berth.costs.resources.documents import DocumentError, EngineDocument, read_engine_document
from berth.costs.resources.estimate_resources import estimate_resources
from berth.costs.resources.settings import region_of, settings_of
from berth.engine.project import ProjectMissingError, find_project
from berth.planner.plan import Plan


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "cost",
        help="what a stack costs, from its file, a preview or an export",
        description="Prices a stack of Berth by its file, and any stack by what the engine shows.",
    )
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="output of `pulumi preview --json --show-sames` or `pulumi stack export`; - reads "
        "standard input",
    )
    parser.add_argument("--stack", metavar="NAME", help="a stack of Berth, or its file")
    parser.add_argument("--region", help="where FILE does not say")
    parser.add_argument(
        "--as-of", type=_day, metavar="DAY", help="prices of this day; today when left out"
    )
    parser.add_argument("--json", action="store_true", help="the estimate as JSON")


def run(args: argparse.Namespace) -> int:
    """Price and print; 2 if the input cannot be read."""
    if (args.file is None) == (args.stack is None):
        print("berth cost: give FILE or --stack NAME, one of them", file=sys.stderr)
        return 2
    if args.region is not None and (problem := _unknown_region(args.region)):
        print(f"berth cost: --region: {problem}", file=sys.stderr)
        return 2
    try:
        priced = _of_stack(args.stack) if args.stack is not None else _of_file(args)
    except (DocumentError, ProjectMissingError) as error:
        print(error, file=sys.stderr)
        return 2
    if args.json:
        json.dump(estimate_document(priced), sys.stdout, indent=2)
        print()
    else:
        print("\n".join(cost_lines(priced)))
    return 0


def _of_stack(name: str) -> Estimate:
    path = Path(name) if name.endswith(".yaml") else None
    path = path or stack_file(name, find_project(Path.cwd()) / "stacks")
    return estimate(planned_stack(path).plan, load_catalog())


def _of_file(args: argparse.Namespace) -> Estimate:
    where = "<stdin>" if args.file == "-" else args.file
    document = read_engine_document(_content(args.file), where)
    if document.errors:
        first = " ".join(document.errors[0].split())[:200]
        raise DocumentError(
            f"{where}: the preview failed ({first}); mend the stack and preview it again"
        )
    settings = settings_of(document)
    plan = plan_of_settings(settings, where)
    return estimate_resources(
        document.after, load_catalog(), _prices(args, document, settings, plan, where), plan
    )


def _prices(
    args: argparse.Namespace,
    document: EngineDocument,
    settings: Mapping[str, Any],
    plan: Plan | None,
    where: str,
) -> PriceList:
    stated = settings.get("aws:region")
    region = args.region or (stated if isinstance(stated, str) else region_of(document.after))
    if region is None and any(r.type.startswith("aws:") for r in document.after.resources.values()):
        raise DocumentError(f"{where}: names no AWS region; give --region")
    if region is not None and (problem := _unknown_region(region)):
        raise DocumentError(f"{where}: {problem}")
    day = args.as_of or (plan.as_of if plan is not None else date.today())
    return PriceList(book=load_catalog().prices, region=region, day=day)


def _unknown_region(region: str) -> str | None:
    known = load_catalog().prices.regions
    if region in known:
        return None
    return f"{region} has no prices; {did_you_mean(region, known, 'name another region')}"


def _content(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise DocumentError(f"{name}: {reason}; name another file") from None


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no day; write it as 2026-12-31") from None
