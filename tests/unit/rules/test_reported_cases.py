"""Mistakes that people reported, each with its repair, and patterns that are right."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.rules.check import check
from berth.rules.resource import Resource

CASES = yaml.load(
    (Path(__file__).parents[2] / "data" / "pitfalls.yaml").read_text(encoding="utf-8"),
    Loader=yaml.CSafeLoader,  # the C form of SafeLoader
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["report"])
def test_exactly_these_kinds_are_found(case: dict[str, Any]) -> None:
    stack = [Resource(entry["type"], entry["name"], "", entry["props"]) for entry in case["stack"]]

    report = check(stack)

    assert sorted({finding.kind for finding in report.findings}) == case["kinds"]
    assert (report.not_checked, report.surprises) == ((), ())
