"""`berth cost`: what a stack costs, from its file or from what the engine shows."""

import argparse
import json
import sys
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

from berth.cli.cost_inputs import (
    Asked,
    Priced,
    content,
    own_prices,
    price_engine_document,
    price_stack,
    shown_name,
    unknown_region,
)
from berth.cli.cost_page import cost_lines
from berth.cli.limits import (
    add_limit_options,
    repository_limits,
    say_breaches,
    verdict,
    verdict_document,
)
from berth.config.prices import PRICES_FILE
from berth.config.read import stack_file
from berth.costs.document import estimate_document
from berth.costs.resources.documents import DocumentError
from berth.engine.project import ProjectMissingError, find_project


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
        "--as-of", type=day_of, metavar="DAY", help="prices of this day; today when left out"
    )
    parser.add_argument(
        "--prices",
        type=Path,
        metavar="FILE",
        help=f"what the owner of FILE pays; {PRICES_FILE} of the project when left out",
    )
    parser.add_argument(
        "--cold-start", action="store_true", help="what it takes to start the servers, in the text"
    )
    parser.add_argument(
        "--break-even",
        type=_usd,
        metavar="USD",
        help="price of a million output tokens that a server of unknown speed is held against; the "
        "budget's, else 1",
    )
    add_limit_options(parser)
    parser.add_argument("--json", action="store_true", help="the estimate as JSON")


def run(args: argparse.Namespace) -> int:
    """Price and print; 1 above a limit, 2 if the input cannot be read."""
    if (args.file is None) == (args.stack is None):
        print("berth cost: give FILE or --stack NAME, one of them", file=sys.stderr)
        return 2
    if args.region is not None and (problem := unknown_region(args.region)):
        print(f"berth cost: --region: {problem}", file=sys.stderr)
        return 2
    try:
        priced = _priced(args)
        if args.break_even is not None:
            better = replace(priced.estimate, break_even_usd=args.break_even)
            priced = replace(priced, estimate=better)
        found = verdict(priced, None, repository_limits(args.guardrails), args.override)
    except (DocumentError, ProjectMissingError) as error:
        print(error, file=sys.stderr)
        return 2
    if args.json:
        document = estimate_document(priced.estimate)
        json.dump(document | {"guardrails": verdict_document(found)}, sys.stdout, indent=2)
        print()
    else:
        print("\n".join(cost_lines(priced.estimate, cold_start=args.cold_start)))
    return say_breaches([found])


def _priced(args: argparse.Namespace) -> Priced:
    if args.stack is not None:
        prices = None if args.prices is None else own_prices(args.prices)
        return price_stack(_stack_path(args.stack), prices=prices)
    return price_engine_document(content(args.file), shown_name(args.file), _asked(args))


def _asked(args: argparse.Namespace) -> Asked:
    return Asked(region=args.region, day=args.as_of, prices=own_prices(args.prices))


def _stack_path(name: str) -> Path:
    if name.endswith(".yaml"):
        return Path(name)
    return stack_file(name, find_project(Path.cwd()) / "stacks")


def _usd(text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal(0)
    if not found.is_finite() or not 0 < found <= MOST_USD:
        raise argparse.ArgumentTypeError(f"{text} is no amount above 0; write it as 2.50")
    return found


MOST_USD: Final = 1_000_000


def day_of(text: str) -> date:
    """A day of the command line."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no day; write it as 2026-12-31") from None
