"""The limits of a repository: what the file may say, and how wrong ones are told."""

from pathlib import Path

import pytest

from berth.config.budget import read_guardrails
from berth.config.problems import ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "berth-guardrails.yaml"


def test_limits_of_every_stack_and_of_one(file: Path) -> None:
    file.write_text(
        "every_stack: {change_percent: 20, warn: {price_age_days: 365}}\n"
        "stacks:\n  h100-prod: {monthly_usd: 90000}\n"
    )

    found = read_guardrails(file)

    assert [key for key, _ in found.of("h100-prod")] == ["every_stack", "stacks.h100-prod"]
    assert [key for key, _ in found.of("l4-dev")] == ["every_stack"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(
            "every_stack: {monthly_usb: 9}\n",
            "berth-guardrails.yaml:1: every_stack.monthly_usb: unknown key, value 9; "
            "did you mean monthly_usd",
            id="typo",
        ),
        pytest.param(
            "every_stack: {monthly_usd: -5}\n",
            "berth-guardrails.yaml:1: every_stack.monthly_usd: -5 is not above 0; give more than 0",
            id="negative",
        ),
        pytest.param(
            "stacks:\n  h100-prod: {}\n",
            "berth-guardrails.yaml:2: stacks.h100-prod: has no limit; add one, such as "
            "monthly_usd: 90000, or remove it",
            id="none",
        ),
        pytest.param(
            "every_stack:\n  monthly_usd: 900\n  warn: {monthly_usd: 900}\n",
            "berth-guardrails.yaml:3: every_stack.warn.monthly_usd: 900 warns no sooner than 900, "
            "which refuses; lower it below 900",
            id="a-warning-that-comes-too-late",
        ),
        pytest.param(
            "every_stack: {price_age_days: 1.5}\n",
            "berth-guardrails.yaml:1: every_stack.price_age_days: 1.5 is not a number of days; "
            "write one such as 90",
            id="half-a-day",
        ),
        pytest.param(
            "- monthly_usd\n",
            "berth-guardrails.yaml: has no limits; write every_stack: {change_percent: 20}",
            id="a-list",
        ),
        pytest.param(
            "every_stack: {monthly_usd: 1, monthly_usd: 2}\n",
            "berth-guardrails.yaml:1: every_stack.monthly_usd: given twice, in lines 1 and 1; "
            "keep one",
            id="twice",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line(file: Path, text: str, line: str) -> None:
    file.write_text(text)

    with pytest.raises(ConfigError) as refused:
        read_guardrails(file)

    assert list(refused.value.lines) == [line]
