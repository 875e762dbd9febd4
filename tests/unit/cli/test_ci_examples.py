"""The workflows in docs/ci: they parse, use real options, and give no fork a token that writes."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.cli.__main__ import main

EXAMPLES = sorted((Path(__file__).parents[3] / "docs" / "ci").glob("*.yaml"))


def workflow(name: str) -> Any:
    (path,) = (each for each in EXAMPLES if each.name == name)
    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_their_commands_have_the_options_that_they_use(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = re.findall(r"\.venv/bin/berth ([^\n]+)", path.read_text())
    assert lines
    for line in lines:
        words = shlex.split(line.partition(" >")[0])
        wanted = {word for word in words if word.startswith("--")}
        command = [word for word in words[:2] if word in ("cost", "diff", "comment")]
        assert main([*command, "--help"]) == 0
        said = capsys.readouterr().out
        assert [each for each in wanted if each not in said] == []


def test_the_code_of_a_fork_runs_with_a_token_that_may_only_read() -> None:
    preview = workflow("github-fork-preview.yaml")

    assert preview["permissions"] == {"contents": "read"}
    assert "secrets." not in str(preview)


def test_the_token_that_may_write_runs_the_default_branch_only() -> None:
    (job,) = workflow("github-fork-comment.yaml")["jobs"].values()

    checkouts = [step for step in job["steps"] if "checkout" in step.get("uses", "")]
    assert [each["with"]["ref"] for each in checkouts] == [
        "${{ github.event.repository.default_branch }}"
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_no_text_of_a_stranger_is_pasted_into_a_script(path: Path) -> None:
    """An expression inside `run` would be a command of whoever names the branch."""
    jobs = yaml.safe_load(path.read_text()).get("jobs", {}).values()

    scripts = [step.get("run", "") for job in jobs for step in job["steps"]]
    assert [each for each in scripts if "${{" in each] == []
