"""`berth rehearse` when it does not go well: given up, interrupted, a tier without nodes."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from berth.rehearsal.control_plane import rehearsals_folder
from tests.engine.checkout import ROOT

pytestmark = pytest.mark.cluster

PATIENCE_S = 120


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "berth", "rehearse", *arguments]


def stack_with(tmp_path: Path, stack: str, changes: Mapping[str, str]) -> Path:
    """A copy of a shipped stack with some places changed."""
    text = (ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text("utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / f"Pulumi.{stack}.yaml"
    path.write_text(text, "utf-8")
    return path


def running_below(folder: Path) -> list[str]:
    """Programs that work in a folder below this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append((process / "cmdline").read_text("utf-8"))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("pause_s", [0.5, 2.5, 5.0, 12.0])
def test_ctrl_c_at_any_point_leaves_nothing(engine_programs: None, pause_s: float) -> None:
    process = subprocess.Popen(
        command("--stack", "l4-dev"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(pause_s)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=PATIENCE_S)

    assert process.returncode in (130, -signal.SIGINT), errors
    assert said == ""
    assert errors in ("berth: interrupted\n", "")
    assert running_below(rehearsals_folder()) == []
    assert [path for path in rehearsals_folder().glob("*") if path.is_dir()] == []


def test_a_stack_that_does_not_settle_in_time_says_what_is_not_ready(
    engine_programs: None,
) -> None:
    ended = subprocess.run(
        command("--stack", "l4-dev", "--limit", "8", "--json"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    document = json.loads(ended.stdout)

    assert ended.returncode == 1
    assert document["settled"] is False
    assert "up: not settled after 8 s" in ended.stderr
    assert [event["event"] for event in document["events"]] == ["up", "destroy"]
    assert document["events"][-1]["lines"][-1] == "nothing left"


def test_a_block_that_is_not_open_has_no_node_and_is_not_waited_for(
    engine_programs: None, tmp_path: Path
) -> None:
    later = {"2026-11-20T11": "2026-12-20T11", "2027-01-29T11": "2027-02-28T11"}
    path = stack_with(tmp_path, "h100-prod", later)

    ended = subprocess.run(
        command("--stack", str(path), "--json"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    document = json.loads(ended.stdout)

    assert ended.returncode == 1
    assert ended.stderr == (
        "berth:models.chat: 0 of 4 replicas run on h100; 0/2 nodes are available: 2 node(s) "
        "didn't match Pod's node affinity/selector; the block of tier h100 is not open on "
        "2026-11-30, so it has no node\n"
    )
    assert document["settled"] is True
    assert all(event["ok"] for event in document["events"])
    assert {pod["phase"] for pod in document["pods"] if pod["server"] == "chat"} == {"Pending"}
