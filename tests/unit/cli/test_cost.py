"""`berth cost` as a person runs it."""

import json
from pathlib import Path
from typing import Any

import pytest

from berth.cli.__main__ import main
from tests.unit.costs.engine_documents import export, node_group, preview, state, step

ROOT = Path(__file__).parents[3]


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["cost", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(data: bytes) -> Path:
        path = tmp_path / "in.json"
        path.write_bytes(data)
        return path

    return write


def test_a_stack_file_says_what_recurs_and_what_was_paid_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run(capsys, "--stack", ROOT / "stacks" / "Pulumi.h100-prod.yaml")

    assert (code, err) == (0, "")
    assert "132,149.00 USD" in out
    assert "chat on h100: 8 GPUs, 100% of its nodes, 39.33 USD an hour of a fee paid once" in out


def test_a_preview_in_json(capsys: pytest.CaptureFixture[str], written: Any) -> None:
    """2 x 55.04 + 400 x 0.08 / 730."""
    path = written(preview(step("create", node_group())))

    code, out, _ = run(capsys, path, "--json", "--as-of", "2026-11-30")

    assert code == 0
    assert json.loads(out)["total"]["plan"]["usd_per_hour"] == "110.1238356164"


@pytest.mark.parametrize(
    ("data", "words", "text"),
    [
        pytest.param(export(node_group()), (), "names no AWS region; give --region", id="region"),
        pytest.param(preview(), ("--region", "us-eats-1"), "did you mean us-east-1", id="typo"),
        pytest.param(
            preview(diagnostics=[{"severity": "error", "message": "no credentials"}]),
            (),
            "the preview failed (no credentials); mend the stack and preview it again",
            id="failed",
        ),
        pytest.param(b"{", (), "no whole JSON", id="cut-off"),
        pytest.param(
            preview(config={"aws:region": "us-east-1", "berth:tiers": '{"l4": 7}'}),
            (),
            "berth:tiers.l4",
            id="settings",
        ),
    ],
)
def test_what_cannot_be_priced_ends_with_2(
    data: bytes, words: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str], written: Any
) -> None:
    code, out, err = run(capsys, written(data), *words)

    assert (code != 0, out) == (True, "")
    assert text in err
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [(), ("in.json", "--stack", "x")])
def test_one_input_is_wanted(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, *words)

    assert (code, err) == (2, "berth cost: give FILE or --stack NAME, one of them\n")


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, tmp_path / "none.json")

    assert (code, err.endswith("none.json: no such file or directory; name another file\n")) == (
        2,
        True,
    )


def test_resources_of_no_cloud_need_no_region(
    capsys: pytest.CaptureFixture[str], written: Any
) -> None:
    path = written(export(state("kubernetes:core/v1:ConfigMap", "c", {})))

    assert run(capsys, path)[0] == 0


def test_a_stack_above_its_budget_ends_with_1_and_the_estimate_still_stands(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """l4-dev costs 847.59 USD a month."""
    path = tmp_path / "Pulumi.l4-dev.yaml"
    text = (ROOT / "stacks" / "Pulumi.l4-dev.yaml").read_text()
    path.write_text(f"{text}  berth:budget: {{monthly_usd: 800}}\n")

    code, out, err = run(capsys, "--stack", path, "--json")

    assert code == 1
    assert json.loads(out)["total"]["plan"]["usd_per_month"] == "847.59"
    assert err == (
        "l4-dev: berth:budget.monthly_usd: the plan costs 847.59 USD a month, 47.59 above 800.00; "
        "plan fewer or cheaper nodes, or raise monthly_usd\n"
    )
