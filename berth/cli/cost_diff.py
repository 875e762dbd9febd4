"""`berth cost diff`: what a change costs, from two documents, one preview, or a revision of git."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from berth.catalog.load import load_catalog
from berth.catalog.price import PriceBook
from berth.cli.cost import day_of
from berth.cli.cost_inputs import (
    Asked,
    Priced,
    content,
    own_prices,
    price_both_sides,
    price_document,
    price_stack,
    shown_name,
    unknown_region,
)
from berth.cli.limits import (
    Verdict,
    add_limit_options,
    repository_limits,
    say_breaches,
    verdict,
    verdict_document,
)
from berth.cli.revisions import RevisionError, merge_base, project_at
from berth.comment.content import change_words, content_of
from berth.comment.report import StackReport, Totals
from berth.comment.text import text_page
from berth.config.budget import Guardrails
from berth.config.nearest import did_you_mean
from berth.config.problems import ConfigError
from berth.costs.diff import NO_ESTIMATE, CostDiff, cost_diff
from berth.costs.diff_document import diff_document, diffs_document
from berth.costs.reprice import list_prices
from berth.costs.resources.documents import DocumentError
from berth.engine.project import ProjectMissingError, find_project
from berth.planner.errors import PlanError

_PRICES = Path("berth", "catalog", "prices")
"""Where a checkout of Berth itself keeps its price lists."""


Sides = tuple[Priced | None, Priced | None]
"""Before and after; a side that is None costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackDiff:
    """The difference of one stack."""

    stack: str
    diff: CostDiff
    verdict: Verdict


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "cost diff",
        help="what a change costs, and why each line moved",
        description="Prices a stack before and after a change: two documents, the two sides of one "
        "preview, or the stack files here against those of a revision of git.",
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="BEFORE and AFTER, or one preview: stack files, `pulumi preview --json --show-sames`, "
        "`pulumi stack export`, `berth cost --json` or `berth preview --json`; - reads standard "
        "input",
    )
    parser.add_argument(
        "--base", metavar="REV", help="compare with where the work here left this revision of git"
    )
    parser.add_argument(
        "--stack",
        action="append",
        default=[],
        metavar="NAME",
        help="with --base: this stack, may be repeated; every stack when left out",
    )
    parser.add_argument("--region", help="where a file does not say")
    parser.add_argument(
        "--as-of", type=day_of, metavar="DAY", help="prices of this day; today when left out"
    )
    add_limit_options(parser)
    parser.add_argument("--json", action="store_true", help="the difference as JSON")


def run(args: argparse.Namespace) -> int:
    """Compare and print; 1 above a limit, 2 if a side cannot be read."""
    problem = _usage(args)
    if problem is None and args.region is not None:
        problem = (text := unknown_region(args.region)) and f"--region: {text}"
    if problem is not None:
        print(f"berth cost diff: {problem}", file=sys.stderr)
        return 2
    try:
        guardrails = repository_limits(args.guardrails)
        sides = list(_of_base(args) if args.base is not None else [_of_files(args)])
    except (DocumentError, ProjectMissingError, RevisionError) as error:
        print(error, file=sys.stderr)
        return 2
    found = [_difference(*each, guardrails, args.override) for each in sides]
    if args.json:
        json.dump(differences_document(found), sys.stdout, indent=2)
        print()
    else:
        print(_page(found), end="")
    return say_breaches([each.verdict for each in found])


def differences_document(found: Sequence[StackDiff]) -> dict[str, object]:
    """One stack as it is, several with their sum."""
    if len(found) == 1:
        return _document(found[0])
    return diffs_document([each.diff for each in found], [_document(each) for each in found])


def _page(found: Sequence[StackDiff]) -> str:
    reports = [msgspec.convert(_document(each), StackReport) for each in found]
    page = text_page([content_of(each) for each in reports])
    if len(found) == 1:
        return page
    total = differences_document(found)
    past, diff = (msgspec.convert(total[name], Totals) for name in ("past", "diff"))
    words = change_words(past, diff, at_least=bool(total["at_least"]))
    return f"{len(found)} stacks: {words}\n\n{page}"


def _document(found: StackDiff) -> dict[str, object]:
    return {
        "stack": found.stack,
        **diff_document(found.diff),
        "guardrails": verdict_document(found.verdict),
    }


def _usage(args: argparse.Namespace) -> str | None:
    if args.base is not None and args.files:
        return "give files or --base, not both"
    if args.base is None and len(args.files) not in (1, 2):
        return "give BEFORE and AFTER, one preview, or --base REV"
    if args.base is None and args.stack:
        return "--stack goes with --base; of two stacks give the files"
    if args.files.count("-") > 1:
        return "standard input holds one document; give a file for the other"
    return None


def _of_files(args: argparse.Namespace) -> Sides:
    asked = Asked(region=args.region, day=args.as_of, prices=own_prices(None))
    if len(args.files) == 1:
        (name,) = args.files
        before, after = price_both_sides(content(name), shown_name(name), asked)
    else:
        before, after = (_side(name, asked) for name in args.files)
    return before, after


def _side(name: str, asked: Asked) -> Priced:
    if name.endswith((".yaml", ".yml")):
        return price_stack(Path(name))
    return price_document(content(name), shown_name(name), asked)


def _difference(
    before: Priced | None, after: Priced | None, guardrails: Guardrails, override: str | None
) -> StackDiff:
    newer = after or before
    assert newer is not None
    if after is None:
        after = replace(newer, estimate=NO_ESTIMATE, plan=None)
    diff = cost_diff(
        before.estimate if before else NO_ESTIMATE,
        after.estimate,
        list_prices(load_catalog().prices, after.day),
    )
    return StackDiff(
        stack=after.stack, diff=diff, verdict=verdict(after, diff, guardrails, override)
    )


def _of_base(args: argparse.Namespace) -> Iterator[Sides]:
    """Every stack asked for, as its file is here and as it was where the work began."""
    project = find_project(Path.cwd())
    commit = merge_base(project, args.base)
    with project_at(project, commit) as past:
        here, there = _stack_files(project), _stack_files(past)
        known = sorted({*here, *there})
        for name in args.stack:
            if name not in known:
                raise DocumentError(
                    f"{name}: no such stack here or at {args.base}; "
                    f"{did_you_mean(name, known, 'name another')}"
                )
        book = PriceBook(past / _PRICES) if (past / _PRICES).is_dir() else None
        for name in args.stack or known:
            before = None
            if name in there:
                try:
                    before = price_stack(there[name], book)
                except (ConfigError, PlanError) as error:
                    raise DocumentError(_moved(error.lines, past, args.base)) from None
            yield before, price_stack(here[name]) if name in here else None


def _stack_files(project: Path) -> dict[str, Path]:
    return {
        path.name.removeprefix("Pulumi.").removesuffix(".yaml"): path
        for path in sorted((project / "stacks").glob("Pulumi.*.yaml"))
    }


def _moved(lines: Sequence[str], past: Path, base: str) -> str:
    """Messages about the files of the revision, named as git would."""
    return "\n".join(f"{base}:{line.removeprefix(f'{past}/')}" for line in lines)
