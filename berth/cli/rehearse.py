"""`berth rehearse`: the whole `up` of a stack on a private control plane."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pulumi.automation.errors import CommandError
from rich.console import Console

from berth.cli.engine_error import engine_lines
from berth.cli.rehearse_page import page
from berth.cli.stack_plan import planned_stack
from berth.config.read import stack_file
from berth.engine.project import ProjectMissingError, find_project
from berth.engine.tools import ToolError
from berth.planner.plan import Plan
from berth.planner.startup import plan_startup
from berth.rehearsal.charts import ChartMissingError
from berth.rehearsal.control_plane import ControlPlane, RehearsalError
from berth.rehearsal.rehearse import Tell, rehearse
from berth.rehearsal.report import Rehearsed, rehearsed_document
from berth.rehearsal.stack_setup import Wish
from berth.rehearsal.world import NODE_START_S

SPEED: Final = 60.0
ENGINE_LIMIT_S: Final = 240.0
"""For the engine and the cluster themselves; nodes and loading come on top."""


def add_parser(subparsers: Any) -> None:
    """Add `rehearse` and its flags."""
    parser = subparsers.add_parser(
        "rehearse",
        help="the whole `up` of a stack on a private control plane",
        description="Brings a stack up with the real engine, API server and scheduler on "
        "simulated GPU nodes, again, and down. Needs no account, no GPU and no container engine.",
    )
    parser.add_argument(
        "--stack", required=True, help="name of the stack, such as h100-prod, or its file"
    )
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write the report too, as JSON where it ends so"
    )
    parser.add_argument("--keep", action="store_true", help="leave the cluster up; no destroy")
    parser.add_argument(
        "--charts", type=Path, metavar="DIR", help="real Helm charts, as `helm pull` leaves them"
    )
    parser.add_argument(
        "--speed",
        type=_factor,
        default=SPEED,
        metavar="FACTOR",
        help="how much faster than in life nodes come and models load (default: %(default)g)",
    )
    parser.add_argument(
        "--limit",
        type=_factor,
        metavar="SECONDS",
        help="after which `up` is given up (default: by the stack's own start-up times)",
    )


def run(args: argparse.Namespace) -> int:
    """Rehearse and report; 0 fine, 1 a replica does not run where planned, 2 could not be held."""
    try:
        project_dir = find_project(Path.cwd())
    except ProjectMissingError as error:
        return _fail(str(error))
    if args.charts is not None and not args.charts.is_dir():
        return _fail(f"--charts {args.charts}: no such folder; name one that holds charts")
    if args.report is not None and not args.report.absolute().parent.is_dir():
        return _fail(f"--report {args.report}: its folder does not exist; make it first")
    path = stack_file(args.stack, project_dir / "stacks")
    plan = planned_stack(path).plan
    wish = Wish(
        stack=path.name.removeprefix("Pulumi.").removesuffix(".yaml"),
        project_dir=project_dir,
        stack_file=path,
        plan=plan,
        speed=args.speed,
        charts=args.charts,
    )
    limit_s = args.limit or default_limit_s(plan, args.speed)
    try:
        with _progress(wish.stack) as tell:
            result, setup = rehearse(wish, limit_s=limit_s, keep=args.keep, tell=tell)
    except (RehearsalError, ToolError, ChartMissingError) as error:
        return _fail(str(error))
    except CommandError as error:
        return _fail(*engine_lines(error))
    _write(args, result)
    if args.keep:
        _say_kept(setup.plane, to_stdout=not args.json)
    for line in result.refusals:
        print(line, file=sys.stderr)
    return 1 if result.refusals else 0


def default_limit_s(plan: Plan, speed: float) -> float:
    """Time for the slowest model twice, a node, and the engine."""
    loads = [plan_startup(server.weights_bytes).total_s for server in plan.servers.values()]
    return ENGINE_LIMIT_S + (NODE_START_S + 2 * max(loads, default=0)) / speed


def _write(args: argparse.Namespace, result: Rehearsed) -> None:
    document = json.dumps(rehearsed_document(result), indent=2) + "\n"
    text = page(result)
    sys.stdout.write(document if args.json else text)
    if args.report is not None:
        args.report.write_text(document if args.report.suffix == ".json" else text, "utf-8")


def _say_kept(plane: ControlPlane, *, to_stdout: bool) -> None:
    stream = sys.stdout if to_stdout else sys.stderr
    print(f"export KUBECONFIG={plane.kubeconfig}", file=stream)
    print(f"the cluster stays until you run: kill {plane.noted()['keeper']}", file=sys.stderr)


@contextmanager
def _progress(stack: str) -> Iterator[Tell]:
    """One line that says what is being done, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _line: None
        return
    with Console(stderr=True).status(f"rehearsing {stack}") as status:
        yield lambda line: status.update(f"rehearsing {stack}: {line}")


def _factor(text: str) -> float:
    number = float(text)
    if not 0 < number <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return number


def _fail(*lines: str) -> int:
    for line in lines:
        print(line, file=sys.stderr)
    return 2
