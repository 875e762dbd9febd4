"""`berth explain` and `berth policies docs`."""

import io
import json
import shutil
from pathlib import Path

import pytest

from berth.cli.__main__ import main
from berth.rules.registry import RULES

ROOT = Path(__file__).parents[3]


def test_a_rule_is_explained_as_its_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "shm-too-small"]) == 0

    page = (ROOT / "docs" / "rules" / "shm-too-small.md").read_text("utf-8")
    assert capsys.readouterr().out == page


def test_a_rule_is_explained_to_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--json", "image-unpinned"]) == 0

    rule = json.loads(capsys.readouterr().out)["rule"]
    assert (rule["enforcement_level"], rule["enforcement_level_in_prod"]) == (
        "advisory",
        "mandatory",
    )
    assert rule["example"]["findings"][0]["fix"].endswith("to vllm/vllm-openai:v0.32.0")


def test_a_gpu_is_explained_by_its_short_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "h100"]) == 0

    out = capsys.readouterr().out
    assert out.startswith("# H100-SXM-80GB\n")
    assert "on EC2: p5.4xlarge, p5.48xlarge\n" in out


def test_an_error_text_may_come_by_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Warning  OOMKilled  pod/chat\n"))

    assert main(["explain", "-", "--json"]) == 0

    (found,) = json.loads(capsys.readouterr().out)["error"]
    assert [rule["id"] for rule in found["rules"]] == ["host-memory-too-small"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["shm-to-small"], "did you mean shm-too-small"),
        (["all", "is", "well"], "see `berth check --list`"),
    ],
)
def test_what_nobody_knows_is_said(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *words]) == 2

    error = capsys.readouterr().err
    assert error.startswith(f"berth explain: {' '.join(words)}: no rule, GPU or known error text; ")
    assert hint in error


def test_the_pages_are_what_the_rules_say() -> None:
    assert main(["policies", "docs", "--check"]) == 0


def test_a_page_that_differs_is_named_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "docs" / "rules", tmp_path / "docs" / "rules")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "rules" / "ami-eol.md").write_text("old", "utf-8")
    (tmp_path / "docs" / "rules" / "gone.md").write_text("old", "utf-8")

    assert main(["policies", "docs", "--check"]) == 1
    named = [line.partition(":")[0] for line in capsys.readouterr().err.splitlines()]
    assert named == ["docs/rules/gone.md", "docs/rules/ami-eol.md"]

    assert main(["policies", "docs"]) == 0
    assert main(["policies", "docs", "--check"]) == 0
    assert len(list((tmp_path / "docs" / "rules").iterdir())) == len(RULES) + 1
