"""Every rule in four cases: it fires, it is silent, it does not apply, a value is not known yet.

What must hold comes from what Kubernetes, EKS, NVIDIA and the engines document; the examples of
`berth/rules/examples` are the first two cases of each rule, the files in `cases/` all others.
"""

import pytest

from berth.catalog.gpu import load_gpus
from berth.rules.check import check
from berth.rules.registry import RULES
from berth.rules.stack_view.accelerators import Accelerator
from berth.rules.stack_view.instances import load_accelerators
from tests.unit.rules.rule_cases import FOLDER, OUTCOMES, Case, cases_of

BY_ID = {rule.id: rule for rule in RULES}
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
HOSTS = {**load_accelerators(), "mi300x.host": Accelerator("amd", 8, load_gpus()["MI300X"])}
"""The instance types of EC2, and a host as AWS does not sell it."""
CASES = [case for name in NAMES for case in cases_of(name)]


@pytest.mark.parametrize("rule_id", BY_ID)
def test_a_rule_has_all_four_cases(rule_id: str) -> None:
    assert {case.outcome for case in cases_of(rule_id)} == set(OUTCOMES)


@pytest.mark.parametrize("rule_id", BY_ID)
def test_a_message_and_a_fix_of_each_rule_are_held_word_for_word(rule_id: str) -> None:
    assert any(case.says for case in cases_of(rule_id))
    assert any(case.fix for case in cases_of(rule_id))


def test_cases_belong_to_rules_and_differ() -> None:
    assert sorted(BY_ID) == NAMES
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_case(case: Case) -> None:
    report = check(
        case.stack(),
        case.environment,
        options={case.rule: case.options},
        accelerators=HOSTS,
        rules=[BY_ID[case.rule]],
    )

    assert report.surprises == ()
    messages = [finding.message for finding in report.findings]
    assert len(messages) == (case.count if case.outcome == "fires" else 0), messages
    if case.says is not None:
        assert case.says in messages
    if case.fix is not None:
        assert case.fix in [finding.fix for finding in report.findings]
    if case.level is not None:
        assert {finding.enforcement_level for finding in report.findings} == {case.level}
    assert tuple(f"{entry.resource}: {entry.field}" for entry in report.not_checked) == case.open
    assert bool(case.open) is (case.outcome == "unknown")
