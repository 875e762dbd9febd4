"""The shipped program from first preview to destroy, with the Pulumi CLI by hand."""

from pathlib import Path

import pytest

from berth.engine.tools import Program
from tests.aws_api.service_models import refusals_of_state
from tests.engine.checkout import ROOT, OfflineStack, edit

pytestmark = pytest.mark.engine


@pytest.fixture
def l4_dev(pulumi_cli: Program, tmp_path: Path) -> OfflineStack:
    return OfflineStack(pulumi_cli, ROOT, tmp_path / "state", "l4-dev").make()


def test_up_then_nothing_to_do_then_one_change_then_nothing_left(l4_dev: OfflineStack) -> None:
    planned = l4_dev.change_summary()
    said = l4_dev.run("up", "--yes", "--skip-preview")
    refused = refusals_of_state(l4_dev.exported())
    again = l4_dev.change_summary()
    edit(l4_dev.stack_file, "max_nodes: 2", "max_nodes: 3")
    changed = l4_dev.change_summary()
    l4_dev.run("up", "--yes", "--skip-preview")
    l4_dev.run("destroy", "--yes", "--skip-preview")

    assert refused == []
    assert set(planned) == {"create"}
    assert "USD per month" in said or "a month" in said
    assert set(again) == {"same"}
    assert again["same"] == planned["create"]
    assert changed["update"] == 1
    assert set(changed) == {"same", "update"}
    assert "no resources" in l4_dev.run("stack", "--show-ids").lower() or (
        "0 resources" in l4_dev.run("stack")
    )


def test_aws_takes_every_resource_of_the_block_stack(pulumi_cli: Program, tmp_path: Path) -> None:
    h100_prod = OfflineStack(pulumi_cli, ROOT, tmp_path / "state", "h100-prod").make()
    h100_prod.run("up", "--yes", "--skip-preview")
    exported = h100_prod.exported()

    assert "aws:eks/nodeGroup:NodeGroup" in {
        each["type"] for each in exported["deployment"]["resources"]
    }
    assert refusals_of_state(exported) == []


def test_a_token_is_a_secret_in_output_and_state(l4_dev: OfflineStack) -> None:
    token = "hf_neverShownAnywhere"
    l4_dev.run("config", "set", "--secret", "berth:hf_token", token)

    said = l4_dev.run("up", "--yes", "--skip-preview", "--diff")
    exported = l4_dev.run("stack", "export")

    assert token not in said
    assert token not in exported
    assert not [
        path
        for path in l4_dev.state.rglob("*")
        if path.is_file() and token in path.read_text(encoding="utf-8", errors="ignore")
    ]


def test_a_refused_stack_says_every_problem_and_declares_nothing(l4_dev: OfflineStack) -> None:
    edit(l4_dev.stack_file, "max_nodes: 2", "max_node: 2")
    edit(l4_dev.stack_file, "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instrct")

    said = l4_dev.run("preview", code=1)

    assert "berth:tiers.l4.max_node: unknown key" in said
    assert "did you mean max_nodes" in said
    assert "Traceback" not in said
