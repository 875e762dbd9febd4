"""`berth check`: the policy rules on manifests, Pulumi states and lists, without an engine."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import date

from berth.cli import check_formats
from berth.cli.check_inputs import Place, read_inputs
from berth.cli.check_settings import load_exceptions, read_settings
from berth.rules.check import check, check_apart
from berth.rules.environment import environment_of_stack
from berth.rules.exceptions import Acceptances
from berth.rules.finding import Finding, NotChecked, Report
from berth.rules.registry import RULES
from berth.rules.resource import Resource

_NOTHING = Report()
_ORDER = {rule.id: number for number, rule in enumerate(RULES)}
"""Findings are told rule by rule, as they are listed."""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "check",
        help="the policy rules on manifests, Pulumi states or lists",
        description="Judges resources with the rules of the policy pack, without an engine.",
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="Kubernetes YAML, a folder of it, a Pulumi state export or preview JSON, a list of "
        "{type, name, props}; - reads standard input",
    )
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument(
        "--format", choices=("text", "json", "sarif", "junit"), default="text", help="what to print"
    )
    parser.add_argument("--stack", default="", metavar="NAME", help="name of the stack")
    parser.add_argument("--config", metavar="FILE", help="configuration as the policy pack has it")
    parser.add_argument("--exceptions", metavar="FILE", help="findings that are accepted, and why")
    parser.add_argument(
        "--fail-on",
        choices=("mandatory", "advisory", "never"),
        default="mandatory",
        help="the mildest level that ends with exit code 1",
    )
    parser.add_argument(
        "--ignore-others", action="store_true", help="leave out files that hold no resources"
    )
    parser.add_argument("--list", action="store_true", help="list the rules and their settings")


def run(args: argparse.Namespace) -> int:
    """Read, judge and print; 1 if a finding refuses the stack, 2 if an input is unreadable."""
    if args.list:
        return _list()
    if not args.paths:
        print("berth check: no PATH given; name files, folders or -", file=sys.stderr)
        return 2
    settings = read_settings(args.config, RULES)
    exceptions = load_exceptions(args.exceptions, args.config, RULES)
    environment = environment_of_stack(pack_setting=settings.environment, stack=args.stack)
    reports: list[Report] = []
    places: dict[str, Place] = {}

    def judge_apart(resource: Resource, place: Place) -> bool:
        report = check_apart(resource, environment, options=settings.options)
        if report is None:
            return False
        if report != _NOTHING:
            reports.append(report)
            places[resource.urn] = place
        return True

    inputs = read_inputs(args.paths, ignore_others=args.ignore_others, forget=judge_apart)
    findings: list[Finding] = []
    not_checked: list[NotChecked] = []
    accepted = Acceptances(exceptions, date.today())
    reports += [check(r, environment, options=settings.options) for r in inputs.stacks]
    for report in reports:
        findings += accepted.left_of(settings.apply(report.findings))
        accepted.note_excepted(report.excepted)
        not_checked += report.not_checked
        inputs.problems += [surprise.message for surprise in report.surprises]
    inputs.places.update(places)
    findings.sort(key=lambda finding: _ORDER[finding.kind])
    everything = (resource for resources in inputs.stacks for resource in resources)
    for line in (*inputs.problems, *accepted.notes(everything, [rule.id for rule in RULES])):
        print(line, file=sys.stderr)
    sys.stdout.write(_rendered(args, findings, not_checked, inputs.places))
    if inputs.problems:
        return 2
    refusing = {"mandatory": ("mandatory",), "advisory": ("mandatory", "advisory"), "never": ()}
    return int(any(f.enforcement_level in refusing[args.fail_on] for f in findings))


def _rendered(
    args: argparse.Namespace,
    findings: Sequence[Finding],
    not_checked: Sequence[NotChecked],
    places: Mapping[str, Place],
) -> str:
    chosen = "json" if args.json else args.format
    if chosen == "json":
        return check_formats.as_json(findings, not_checked)
    if chosen == "sarif":
        return check_formats.as_sarif(findings, RULES, places)
    if chosen == "junit":
        return check_formats.as_junit(findings, RULES)
    return check_formats.as_text(findings, not_checked)


def _list() -> int:
    for rule in RULES:
        level = f"{rule.level}, mandatory in prod" if rule.mandatory_in_prod else rule.level
        print(f"{rule.id:28} {rule.severity:8} {level}: {rule.title}")
        for name, schema in rule.options.items():
            print(f"{'':28} {name} ({schema['type']}): {schema['description']}")
    return 0
