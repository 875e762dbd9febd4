"""`berth cost` of a stack file, of its preview and of its export: the same money to the cent."""

import json
from pathlib import Path
from typing import Any

import pytest

from berth.engine.tools import Program
from tests.engine.checkout import ROOT, OfflineStack, berth, edit

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


def test_what_an_autoscaler_made_of_a_pool_is_no_part_of_the_plan(
    pulumi_cli: Program, tmp_path: Path
) -> None:
    stack = OfflineStack(pulumi_cli, ROOT, tmp_path / "state", "l4-dev").make()
    stack.run("up", "--yes", "--skip-preview")
    shown = json.loads(stack.run("preview", "--json", "--show-sames"))
    for step in shown["steps"]:
        scaling = (step.get("newState") or {}).get("inputs", {}).get("scalingConfig")
        if scaling and step["urn"].endswith("::berth-l4"):
            scaling["desiredSize"] = 2
    path = tmp_path / "preview.json"
    path.write_text(json.dumps(shown), "utf-8")

    assert money(str(path)) == money("--stack", "l4-dev")


def test_one_preview_shows_what_a_change_costs(pulumi_cli: Program, tmp_path: Path) -> None:
    """The past is what the last `up` exported.

    Two g6.xlarge at the least in place of one: 0.8048, and 400 GB of gp3 for 200, 0.0219178082.
    """
    stack = OfflineStack(pulumi_cli, ROOT, tmp_path / "state", "l4-dev").make()
    stack.run("up", "--yes", "--skip-preview")
    edit(stack.stack_file, "min_nodes: 1", "min_nodes: 2")
    shown = tmp_path / "preview.json"
    shown.write_text(stack.run("preview", "--json", "--show-sames"), "utf-8")

    ended = berth(ROOT, "cost", "diff", str(shown), "--json")

    assert (ended.returncode, ended.stderr) == (0, "")
    document = json.loads(ended.stdout)
    assert document["past"] == money("--stack", "l4-dev")["total"]
    assert document["diff"]["floor"]["usd_per_hour"] == "0.8267178082"
    assert document["diff"]["ceiling"]["usd_per_hour"] == "0.00"
    assert document["unpriced"] == []
