"""What every rule must say of itself."""

import re

import pytest

from berth.rules.registry import RULES
from berth.rules.rule import Rule

LEVELS = {
    "driver-double-install": ("high", "mandatory", False),
    "gpu-pool-untainted": ("medium", "advisory", True),
    "gpu-request-limit-mismatch": ("medium", "mandatory", False),
    "gpu-request-missing": ("high", "mandatory", False),
    "image-unpinned": ("medium", "advisory", True),
    "missing-toleration": ("high", "mandatory", False),
    "tp-exceeds-gpus": ("high", "mandatory", False),
}
"""Severity, level, and whether production makes it mandatory."""


def test_these_rules_exist_at_these_levels() -> None:
    stated = {rule.id: (rule.severity, rule.level, rule.mandatory_in_prod) for rule in RULES}

    assert stated == LEVELS
    assert [rule.id for rule in RULES] == sorted(LEVELS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_documents_itself(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z].*[^.]\.", rule.title)
    assert rule.source.startswith("https://")
    assert rule.reads
    assert rule.why
    assert "\n" not in rule.title
