"""`berth cost` of a stack file, of its preview and of its export: the same money to the cent."""

import json
from pathlib import Path
from typing import Any

import pytest

from berth.engine.tools import Program
from tests.engine.checkout import ROOT, OfflineStack, berth

pytestmark = pytest.mark.engine


def money(*words: str) -> dict[str, Any]:
    """What recurs, by name, and what is paid once; the order of lines is no matter."""
    ended = berth(ROOT, "cost", *words, "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    document = json.loads(ended.stdout)
    return {
        "total": document["total"],
        "one_off": document["one_off"],
        "servers": document["servers"],
        "unpriced": document["unpriced"],
        "lines": sorted((each["name"], each["plan_usd_per_hour"]) for each in document["lines"]),
    }


@pytest.mark.parametrize("name", ["h100-prod", "l4-dev", "mi300x-prod"])
def test_a_preview_costs_what_its_plan_costs(
    pulumi_cli: Program, tmp_path: Path, name: str
) -> None:
    stack = OfflineStack(pulumi_cli, ROOT, tmp_path / "state", name).make()
    shown = tmp_path / "preview.json"
    shown.write_text(stack.run("preview", "--json", "--show-sames"), "utf-8")

    assert money(str(shown)) == money("--stack", name)


def test_what_runs_costs_what_was_planned(pulumi_cli: Program, tmp_path: Path) -> None:
    """An export has no settings: its lines are the plan's, its servers are not to be seen."""
    stack = OfflineStack(pulumi_cli, ROOT, tmp_path / "state", "l4-dev").make()
    stack.run("up", "--yes", "--skip-preview")
    exported = tmp_path / "export.json"
    exported.write_text(stack.run("stack", "export"), "utf-8")

    found = money(str(exported), "--as-of", "2026-11-30")
    planned = money("--stack", "l4-dev")
    assert (found["total"], found["lines"]) == (planned["total"], planned["lines"])
