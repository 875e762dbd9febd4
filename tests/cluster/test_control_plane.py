"""The private control plane: ready, apart from everything else, and gone whatever happens."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from berth.rehearsal.control_plane import ControlPlane, Options
from berth.rehearsal.leftovers import found_in, sweep

pytestmark = pytest.mark.cluster

HOLD = """
import sys, time
from pathlib import Path
from berth.rehearsal.control_plane import ControlPlane, Options
with ControlPlane(Options(parent=Path(sys.argv[1]))) as plane:
    (Path(sys.argv[1]) / "ready.new").write_text(str(plane.folder))
    (Path(sys.argv[1]) / "ready.new").rename(Path(sys.argv[1]) / "ready")
    time.sleep(600)
"""
PATIENCE_S = 60
DEFAULT = "/api/v1/namespaces/default"


@contextlib.contextmanager
def another_process(parent: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A process that holds a control plane, and that one's folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(parent)])
    try:
        wait_until(lambda: (parent / "ready").exists() or process.poll() is not None)
        yield process, Path((parent / "ready").read_text("utf-8"))
    finally:
        process.kill()
        process.wait()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def processes_of(folder: Path) -> dict[str, int]:
    noted = json.loads((folder / "processes.json").read_text("utf-8"))
    return {"keeper": noted["keeper"], **noted["running"]}


def is_running(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_pod_is_scheduled_onto_a_simulated_gpu_node(control_plane: ControlPlane) -> None:
    api = control_plane.api
    size = {"cpu": "8", "memory": "32Gi", "pods": "29", "nvidia.com/gpu": "4"}
    api.create(
        "/api/v1/nodes",
        {
            "metadata": {"name": "gpu-1", "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "status": {"capacity": size, "allocatable": size},
        },
    )
    wait_until(lambda: len(api.items(f"{DEFAULT}/serviceaccounts")) == 1)
    for name in ("one", "two"):
        limits = {"nvidia.com/gpu": "3"}
        container = {"name": "c", "image": "x", "resources": {"limits": limits}}
        body = {"metadata": {"name": name}, "spec": {"containers": [container]}}
        api.create(f"{DEFAULT}/pods", body)

    def words() -> list[str]:
        """What the scheduler says of the pods that wait while another runs."""
        pods = api.items(f"{DEFAULT}/pods")
        if not any(pod["status"]["phase"] == "Running" for pod in pods):
            return []
        conditions = [c for pod in pods for c in pod["status"].get("conditions", [])]
        return [c["message"] for c in conditions if c.get("reason") == "Unschedulable"]

    wait_until(lambda: any("1 Insufficient nvidia.com/gpu" in word for word in words()))


def test_two_run_side_by_side_and_leave_nothing(
    cluster_programs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    options = Options(parent=tmp_path / "planes")

    with ControlPlane(options) as one, ControlPlane(options) as two:
        started = {**processes_of(one.folder), **processes_of(two.folder)}
        one.api.create("/api/v1/namespaces", {"metadata": {"name": "only-here"}})
        names = {each["metadata"]["name"] for each in two.api.items("/api/v1/namespaces")}

    assert "only-here" not in names
    assert not any(is_running(process_id) for process_id in started.values())
    assert not list((tmp_path / "planes").iterdir())
    assert not (tmp_path / "home").exists()


def test_it_ends_with_a_parent_that_was_killed(cluster_programs: None, tmp_path: Path) -> None:
    with another_process(tmp_path) as (process, folder):
        started = processes_of(folder)
        process.send_signal(signal.SIGKILL)
        process.wait()

        wait_until(lambda: not folder.exists())
        wait_until(lambda: not any(map(is_running, started.values())))

    assert len(started) == 6


def test_what_a_killed_keeper_has_left_goes_with_the_next_run(
    cluster_programs: None, tmp_path: Path
) -> None:
    with another_process(tmp_path) as (process, folder):
        started = processes_of(folder)
        os.kill(started["keeper"], signal.SIGKILL)
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_until(lambda: not any(map(is_running, started.values())))

        assert folder.exists()
        assert sweep(tmp_path) == [folder]
        assert not folder.exists()


def test_a_kept_one_outlives_its_parent_until_its_keeper_is_told(
    cluster_programs: None, tmp_path: Path
) -> None:
    with ControlPlane(Options(parent=tmp_path)) as plane:
        plane.keep()

    (kept,) = found_in(tmp_path)
    assert (kept.alive, kept.kept) == (True, True)
    assert plane.api.is_ready()
    plane.api.close()
    assert sweep(tmp_path) == []

    assert kept.keeper is not None
    os.kill(kept.keeper, signal.SIGTERM)
    wait_until(lambda: not kept.folder.exists())


def test_an_interrupt_while_it_starts_leaves_nothing(
    cluster_programs: None, tmp_path: Path
) -> None:
    for pause_s in (0.5, 1.0, 2.0):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path / "planes")], stderr=subprocess.DEVNULL
        )
        time.sleep(pause_s)
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_S)

        left = [path for path in (tmp_path / "planes").glob("*") if path.is_dir()]
        assert not left
