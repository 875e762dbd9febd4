"""Running one rule: what it reports, and that nothing escapes it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from berth.rules.finding import Report
from berth.rules.registry import RULES
from berth.rules.rule import Breach, Context, run_rule
from berth.rules.stack_view import view_stack
from berth.rules.stack_view.workload import Container
from berth.rules.unknown import KnownAfterApplyError
from tests.unit.rules.stacks import container, deployment, pod_spec


def run(judge: Any) -> Report:
    """A rule with this judge over one pod of two containers."""
    pod = pod_spec(container(name="a"), container(name="b"))
    view = view_stack([deployment(pod)])
    rule = replace(RULES[0], id="r", subjects=lambda v: v.containers(), judge=judge)
    return run_rule(rule, view, None)


def test_a_rule_that_fails_is_told_and_the_next_subject_is_judged() -> None:
    def judge(subject: Container, context: Context) -> Iterator[Breach]:
        if subject.name == "container a":
            raise KeyError("x")
        yield Breach("w", "x", "y", "z")

    report = run(judge)

    assert [finding.message for finding in report.findings] == ["w: x; y"]
    assert [surprise.error for surprise in report.surprises] == ["KeyError"]


def test_what_was_found_before_an_unknown_value_stays() -> None:
    def judge(subject: Container, context: Context) -> Iterator[Breach]:
        yield Breach("w", "x", "y", "z")
        raise KnownAfterApplyError("spec.a")

    report = run(judge)

    assert len(report.findings) == 2
    assert [entry.field for entry in report.not_checked] == ["spec.a"]
