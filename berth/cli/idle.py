"""`berth idle`: GPUs of a live stack that served nothing for hours, and what they cost."""

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path

from berth.catalog.load import load_catalog
from berth.cli.stack_plan import planned_stack
from berth.config.read import stack_file, with_lines
from berth.costs.from_plan import estimate
from berth.engine.project import ProjectMissingError, find_project
from berth.idle.prometheus import (
    MOST_POINTS,
    Prometheus,
    PrometheusError,
    Source,
    Window,
    read_recording,
    recording,
)
from berth.idle.report import IdleReport, idle_report, report_document, report_lines
from berth.idle.usage import ENGINE, UTIL, gpu_uses


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "idle",
        help="GPUs of a live stack that served nothing, with their cost",
        description="Asks Prometheus what the GPUs of a stack did. A gap in a series is not "
        "idleness. A token comes from the environment: PROMETHEUS_TOKEN.",
    )
    parser.add_argument("--stack", required=True, metavar="NAME", help="a stack, or its file")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--prometheus", metavar="URL", help="the server that scrapes the cluster")
    source.add_argument("--recorded", metavar="FILE", help="what --record wrote")
    parser.add_argument(
        "--hours", type=_hours, default=6.0, metavar="N", help="how long back, 6 when left out"
    )
    parser.add_argument(
        "--step",
        type=_seconds,
        default=300,
        metavar="S",
        help="one point per so many seconds, 300 when left out; not below the scrape interval",
    )
    parser.add_argument(
        "--max-usd-per-hour", type=_usd, metavar="USD", help="more idle money than this ends with 1"
    )
    parser.add_argument(
        "--max-gpus", type=_count, metavar="N", help="more idle GPUs than this end with 1"
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the answers down")
    parser.add_argument(
        "--timeout", type=_seconds, default=30, metavar="S", help="of one query, 30 s"
    )
    parser.add_argument("--json", action="store_true", help="the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Ask and print; 1 above a limit, 2 if there is no answer."""
    try:
        path = _path(args.stack)
        plan = planned_stack(path).plan
        source, window = _source(args)
        uses = gpu_uses(source, window)
        if args.record is not None and isinstance(source, Prometheus):
            args.record.write_bytes(recording(source.answers, window))
    except (PrometheusError, ProjectMissingError) as error:
        print(f"berth idle: {error}", file=sys.stderr)
        return 2
    catalog = load_catalog()
    name = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
    report = idle_report(name, window, uses, plan, estimate(plan, catalog), catalog)
    if not (report.idle or report.used or report.not_seen):
        print(
            f"berth idle: {args.prometheus or args.recorded}: no series of {UTIL} or {ENGINE} of "
            f"this stack in {window.hours:g} hours; have Prometheus scrape the GPU exporter",
            file=sys.stderr,
        )
        return 2
    places = _places(report, path)
    if args.json:
        json.dump(report_document(report, places), sys.stdout, indent=2)
        print()
    else:
        print("\n".join(report_lines(report, places)))
    return _verdict(report, args)


def _verdict(report: IdleReport, args: argparse.Namespace) -> int:
    broken = []
    if args.max_usd_per_hour is not None and report.usd_per_hour > args.max_usd_per_hour:
        broken.append(
            f"idle GPUs cost {report.usd_per_hour:,.2f} USD an hour, above {args.max_usd_per_hour}"
        )
    if args.max_gpus is not None and len(report.idle) > args.max_gpus:
        broken.append(f"{len(report.idle)} GPUs are idle, above {args.max_gpus}")
    for each in broken:
        print(f"{report.stack}: {each}; free them, or raise the limit", file=sys.stderr)
    return int(bool(broken))


def _path(name: str) -> Path:
    if name.endswith(".yaml"):
        return Path(name)
    return stack_file(name, find_project(Path.cwd()) / "stacks")


def _source(args: argparse.Namespace) -> tuple[Source, Window]:
    if args.recorded is not None:
        try:
            data = Path(args.recorded).read_bytes()
        except OSError as error:
            reason = (error.strerror or "cannot be read").lower()
            raise PrometheusError(f"{args.recorded}: {reason}; name another file") from None
        return read_recording(data, args.recorded)
    steps = round(args.hours * 3600 / args.step)
    if not 1 <= steps <= MOST_POINTS:
        raise PrometheusError(
            f"{args.hours:g} hours of {args.step} s are {steps:,} points, and Prometheus gives 1 "
            f"to {MOST_POINTS:,}; choose another --step"
        )
    end_s = int(time.time()) // args.step * args.step
    token = os.environ.get("PROMETHEUS_TOKEN", "").strip()
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise PrometheusError("PROMETHEUS_TOKEN has a character that no token has; set it again")
    server = Prometheus(url=args.prometheus, token=token, timeout_s=args.timeout)
    return server, Window(end_s=end_s, step_s=args.step, steps=steps)


def _places(report: IdleReport, path: Path) -> Mapping[str, str]:
    """File and line of every key that frees something."""
    keys = list(dict.fromkeys(each.key for each in report.idle if each.key))
    lines = with_lines(path, [f"{key}: " for key in keys])
    return {key: line.removesuffix(f": {key}: ") for key, line in zip(keys, lines, strict=True)}


def _hours(text: str) -> float:
    return _number(text, "hours", 24 * 31)


def _seconds(text: str) -> int:
    found = _number(text, "seconds", 86_400)
    if found != int(found):
        raise argparse.ArgumentTypeError(f"{text} is no whole number of seconds")
    return int(found)


def _number(text: str, unit: str, most: int) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= most:
        raise argparse.ArgumentTypeError(f"{text} is no time; write {unit}, {most} at most")
    return found


def _usd(text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal(-1)
    if not (found.is_finite() and found >= 0):
        raise argparse.ArgumentTypeError(f"{text} is no amount; write one such as 4.50")
    return found


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no number of GPUs")
    return int(text)
