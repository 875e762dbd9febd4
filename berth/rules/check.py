"""All rules over the resources of a stack."""

from collections.abc import Mapping, Sequence
from typing import Any

from berth.rules.environment import Environment
from berth.rules.finding import Report
from berth.rules.registry import RULES
from berth.rules.resource import Resource
from berth.rules.rule import Rule, run_rule
from berth.rules.stack_view import StackView, view_stack
from berth.rules.stack_view.apart import is_apart
from berth.rules.stack_view.instances import Accelerators


def check(
    resources: Sequence[Resource],
    environment: Environment | None = None,
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    accelerators: Accelerators | None = None,
    rules: Sequence[Rule] = RULES,
) -> Report:
    """Judge a stack.

    Args:
        resources: all resources of the stack.
        environment: of the stack; None: the tags and labels of each resource decide for it.
        options: settings by rule id.
        accelerators: what instance types have; the catalog's where none is given.
        rules: the rules to run.
    """
    return _judge(view_stack(resources, accelerators), environment, options or {}, rules)


def check_apart(
    resource: Resource,
    environment: Environment | None = None,
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Report | None:
    """Judge a workload beside which no other resource matters; it may be forgotten then.

    Returns:
        None for a resource that has to be judged together with its stack.
    """
    view = view_stack([resource])
    if not is_apart(view):
        return None
    return _judge(view, environment, options or {}, RULES)


def _judge(
    view: StackView,
    environment: Environment | None,
    options: Mapping[str, Mapping[str, Any]],
    rules: Sequence[Rule],
) -> Report:
    reports = [run_rule(rule, view, environment, options.get(rule.id)) for rule in rules]
    return Report(
        tuple(finding for report in reports for finding in report.findings),
        tuple(entry for report in reports for entry in report.not_checked),
        tuple(surprise for report in reports for surprise in report.surprises),
        tuple(each for report in reports for each in report.excepted),
    )
