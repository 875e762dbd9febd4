"""`berth preview`: resources, plan, policies and cost of a stack in one report."""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pulumi.automation.errors import CommandError

from berth.catalog.load import load_catalog
from berth.cli.engine_error import engine_lines
from berth.cli.limits import repository_limits
from berth.cli.preview_page import print_page
from berth.cli.preview_report import Report, report_document
from berth.cli.progress import PreviewProgress
from berth.cli.stack_plan import planned_stack
from berth.config.read import stack_file
from berth.config.stack import ExistingCluster
from berth.costs.from_plan import estimate
from berth.engine.cluster_reach import unreachable
from berth.engine.environment import engine_environment
from berth.engine.interruptible import InterruptibleCommand
from berth.engine.preview import (
    EnginePreview,
    StackMissingError,
    Target,
    network_zones,
    run_preview,
)
from berth.engine.project import ProjectMissingError, find_project
from berth.engine.tools import Program, ToolError, berth_home, find_or_make
from berth.offline.environment import offline_environment
from berth.offline.providers import OfflineProviders
from berth.offline.workspace import copy_workspace
from berth.policy_pack.not_checked import VARIABLE, read_not_checked


def add_parser(subparsers: Any) -> None:
    """Add `preview` and its flags."""
    parser = subparsers.add_parser(
        "preview",
        help="resources, plan, policies and cost of a stack in one report",
        description="Runs `pulumi preview` with the policy pack; changes nothing.",
    )
    parser.add_argument(
        "--stack", required=True, help="name of the stack, such as h100-prod, or its file"
    )
    parser.add_argument(
        "--offline", action="store_true", help="without an account or a cluster, on stand-ins"
    )
    parser.add_argument(
        "--state",
        type=Path,
        help="with --offline: folder of the pretended cloud (default: a new one)",
    )
    parser.add_argument(
        "--policy-pack-config",
        type=Path,
        metavar="FILE",
        help="settings and exceptions of the policies, as `pulumi preview` takes them",
    )
    parser.add_argument("--json", action="store_true", help="the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Preview and report; 0 fine, 1 refused, 2 could not be run."""
    try:
        project_dir = find_project(Path.cwd())
    except ProjectMissingError as error:
        return _fail(str(error))
    if args.policy_pack_config is not None and not args.policy_pack_config.is_file():
        return _fail(f"{args.policy_pack_config}: no such file; name a JSON file of settings")
    path = stack_file(args.stack, project_dir / "stacks")
    if args.stack.endswith(".yaml"):
        args.stack = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
    guardrails = repository_limits(None)
    planned = planned_stack(path)
    plan = planned.plan
    if isinstance(plan.cluster, ExistingCluster) and not args.offline:
        silent = unreachable(plan.cluster.kubeconfig, plan.cluster.context)
        if silent is not None:
            return _fail(silent)
    try:
        program = find_or_make("pulumi")
    except ToolError as error:
        return _fail(str(error))
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            notes = Path(folder) / "not-checked"
            preview = _preview(args, project_dir, path, program, notes)
            not_checked = read_not_checked(notes)
    except StackMissingError:
        return _fail(
            f"{args.stack}: the Pulumi backend has no stack of this name; "
            f"run `pulumi stack init {args.stack}`, or preview it with --offline"
        )
    except CommandError as error:
        return _fail(*engine_lines(error))
    zones = network_zones(preview.resources)
    if plan.network is not None and zones and set(zones) != set(plan.network.zones):
        planned = planned_stack(path, zones=zones)  # those of the account, which the program asked
        plan = planned.plan
    report = Report(
        stack=args.stack,
        plan=plan,
        estimate=estimate(plan, load_catalog()),
        preview=preview,
        not_checked=not_checked,
        assumed_start=planned.start,
        offline=args.offline,
        guardrails=guardrails,
    )
    if not preview.ok and not report.refused:
        return _fail(*preview.errors, exit_code=1)
    if args.json:
        json.dump(report_document(report), sys.stdout, indent=2)
        print()
        for line in report.refusals:
            print(line, file=sys.stderr)
    else:
        print_page(report)
    return 1 if report.refused else 0


def _preview(
    args: argparse.Namespace, project_dir: Path, path: Path, program: Program, notes: Path
) -> EnginePreview:
    command = InterruptibleCommand(program)
    packs = (project_dir / "policies",)
    configs = (args.policy_pack_config.resolve(),) if args.policy_pack_config else ()
    environment = {**engine_environment(program), VARIABLE: str(notes)}
    with PreviewProgress(args.stack) as progress:
        if not args.offline:
            return run_preview(
                Target(
                    stack=args.stack,
                    work_dir=project_dir,
                    environment=environment,
                    command=command,
                    policy_packs=packs,
                    policy_pack_configs=configs,
                ),
                progress.show,
            )
        with _state_dir(args.state) as state, OfflineProviders(state) as providers:
            copy_workspace(project_dir, path, state / "work")
            target = Target(
                stack=args.stack,
                work_dir=state / "work",
                environment={**environment, **offline_environment(state, providers)},
                command=command,
                policy_packs=packs,
                policy_pack_configs=configs,
                create=True,
            )
            return run_preview(target, progress.show)


@contextmanager
def _state_dir(chosen: Path | None) -> Iterator[Path]:
    """The folder named by the caller, or a new one that goes with the run."""
    if chosen:
        chosen.mkdir(parents=True, exist_ok=True)
        yield chosen.resolve()
        return
    parent = berth_home() / "previews"
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _fail(*lines: str, exit_code: int = 2) -> int:
    for line in lines:
        print(line, file=sys.stderr)
    return exit_code
