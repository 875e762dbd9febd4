"""`berth preview` as a person runs it, on the real engine."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from berth.engine.tools import Program
from tests.engine.checkout import ROOT, berth, copy_checkout, edit

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("pulumi_cli")]

TOLERATION = "tolerations=[core.TolerationArgs(**naming.gpu_toleration(pool.gpu_vendor))],"
TAINT = """            taints=[
                aws.eks.NodeGroupTaintArgs(
                    key=naming.GPU_TAINT_KEY[pool.gpu_vendor],
                    value=naming.GPU_TAINT_VALUE,
                    effect="NO_SCHEDULE",
                )
            ],
"""


def tracked_changes() -> str:
    ended = subprocess.run(
        ["git", "status", "--porcelain", "--", "stacks", "Pulumi.yaml", "policies"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout


def mandatory(document: str) -> list[dict[str, str]]:
    """The findings of a report that refuse the stack."""
    findings: list[dict[str, str]] = json.loads(document)["policies"]
    return [each for each in findings if each["enforcement_level"] == "mandatory"]


def test_the_page_of_h100_prod_shows_what_a_reviewer_looks_for() -> None:
    before = tracked_changes()

    ended = berth(ROOT, "preview", "--offline", "--stack", "h100-prod")

    assert (ended.returncode, ended.stderr) == (0, "")
    for shown in (
        "aws:ec2/vpc:Vpc",
        "us-east-1a",
        "us-east-1b",
        "aws:ec2/natGateway:NatGateway",
        "com.amazonaws.us-east-1.s3",
        "com.amazonaws.us-east-1.ecr.dkr",
        "aws:eks/cluster:Cluster",
        "aws:eks/accessEntry:AccessEntry",
        "aws:eks/nodeGroup:NodeGroup berth-system",
        "p5.48xlarge, capacity-block, targets cr-0123456789abcdef0",
        "gpu-operator v26.3.3",
        "4 replicas, nvidia.com/gpu 2, vllm/vllm-openai:v0.32.0, reads Secret hf-token",
        "kubernetes:core/v1:Service",
        "tensor parallel 2",
        "fine, 1 to consider; ",
        "advisory ami-unpinned",
        "132,149.00 USD",
        "not refunded",
    ):
        assert shown in ended.stdout, shown
    assert tracked_changes() == before


@pytest.mark.parametrize("stack", ["h100-prod", "l4-dev", "mi300x-prod"])
def test_the_document_keeps_its_shape(stack: str) -> None:
    ended = berth(ROOT, "preview", "--offline", "--stack", stack, "--json")

    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert {each["tier"] for each in document["start"]} == set(document["plan"]["pools"])
    assert all(each["ok"] for each in document["start"])
    assert list(document) == ["stack", "resources", "plan", "policies", "cost", "start"]
    assert {"urn", "type", "name", "op"} == set(document["resources"][0])
    assert {finding["kind"] for finding in document["policies"]} <= {"ami-unpinned"}
    chat = document["plan"]["servers"]["chat"]
    assert chat["fits"] is True
    assert {"speed", "startup"} <= set(chat)
    assert set(document["cost"]["total"]) == {"floor", "plan", "ceiling"}


@pytest.mark.parametrize(
    ("file", "taken_out", "kind", "fix"),
    [
        pytest.param(
            "model_pod.py", TOLERATION, "missing-toleration", "tolerations", id="toleration"
        ),
        pytest.param("gpu_node_group.py", TAINT, "gpu-pool-untainted", "taints", id="taint"),
    ],
)
def test_a_part_taken_out_is_refused_with_what_to_add(
    tmp_path: Path, file: str, taken_out: str, kind: str, fix: str
) -> None:
    checkout = copy_checkout(tmp_path / "copy")
    edit(checkout / "components" / file, taken_out, "")

    ended = berth(checkout, "preview", "--offline", "--stack", "h100-prod", "--json")

    assert ended.returncode == 1, ended.stderr
    (finding,) = mandatory(ended.stdout)
    assert finding["kind"] == kind
    assert fix in finding["fix"]
    assert "nvidia.com/gpu" in finding["fix"]
    assert ended.stderr.startswith(f"{kind}: ")


def test_a_budget_below_the_plan_is_refused(tmp_path: Path) -> None:
    checkout = copy_checkout(tmp_path / "copy")
    stack_file = checkout / "stacks" / "Pulumi.l4-dev.yaml"
    with stack_file.open("a", encoding="utf-8") as file:
        file.write("  berth:budget: {monthly_usd: 100}\n")

    ended = berth(checkout, "preview", "--offline", "--stack", "l4-dev", "--json")

    assert ended.returncode == 1
    (finding,) = mandatory(ended.stdout)
    assert finding["kind"] == "budget-exceeded"
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--stack", "h100-prd"), "h100-prod", id="no-such-stack"),
        pytest.param((), "--stack", id="no-stack"),
    ],
)
def test_wrong_use_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    ended = berth(ROOT, "preview", "--offline", *arguments)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr


def test_an_account_without_the_stack_is_told_how_to_make_it(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PULUMI_BACKEND_URL": tmp_path.as_uri(),
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_CONFIG_PASSPHRASE": "",
    }
    ended = subprocess.run(
        [sys.executable, "-m", "berth", "preview", "--stack", "l4-dev"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith("l4-dev: the Pulumi backend has no stack of this name; ")


def test_an_interrupt_leaves_no_process_and_no_state(pulumi_cli: Program) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "berth", "preview", "--offline", "--stack", "h100-prod"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    engine = _wait_for_child(process.pid, str(pulumi_cli.path))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)

    assert (process.returncode, said) == (130, "berth: interrupted\n")
    assert not Path(f"/proc/{engine}").exists()
    assert not list((ROOT / ".berth" / "previews").glob("*"))


def _wait_for_child(parent: int, command: str, limit_s: float = 30) -> int:
    """Id of the child that runs `command`; waits until it does."""
    give_up_at = time.monotonic() + limit_s
    while time.monotonic() < give_up_at:
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                line = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if int(stat[1]) == parent and line[0].decode() == command and b"preview" in line:
                return int(entry.name)
        time.sleep(0.05)
    raise AssertionError(f"no child of {parent} runs {command}")
