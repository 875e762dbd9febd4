"""`berth cost` of previews as they grow: seconds, and memory against the size of the file."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESOURCES = (1_000, 10_000, 100_000)
GROUP = "aws:eks/nodeGroup:NodeGroup"
SETTINGS = "kubernetes:core/v1:ConfigMap"
TEXT = "x" * 2_000
"""Real resources have a few KB of properties."""


def main() -> None:
    """Print seconds and memory beyond an empty preview."""
    print("berth cost of a preview, every tenth resource a node group")
    with tempfile.TemporaryDirectory() as folder:
        empty_s, empty_bytes = _measured(_write(Path(folder), 0))
        for count in RESOURCES:
            path = _write(Path(folder), count)
            taken_s, memory_bytes = _measured(path)
            times = (memory_bytes - empty_bytes) / path.stat().st_size
            print(
                f"  {count:7,} resources, {path.stat().st_size / 1e6:6.1f} MB  "
                f"{taken_s - empty_s:5.2f} s beyond the start of the command, "
                f"memory {times:.1f} times the file"
                f"{' (1 s, 3 times wanted)' if count == RESOURCES[1] else ''}"
            )


def _write(folder: Path, count: int) -> Path:
    steps = []
    for index in range(count):
        kind = SETTINGS if index % 10 else GROUP
        inputs = {
            "text": TEXT,
            "instanceTypes": ["g6.xlarge"],
            "scalingConfig": {"minSize": 1, "desiredSize": 1, "maxSize": 2},
        }
        urn = f"urn:pulumi:s::p::{kind}::r{index}"
        state = {"urn": urn, "type": kind, "custom": True, "inputs": inputs}
        steps.append({"op": "create", "urn": urn, "newState": state})
    path = folder / f"{count}.json"
    path.write_text(json.dumps({"config": {"aws:region": "us-east-1"}, "steps": steps}), "utf-8")
    return path


def _measured(path: Path) -> tuple[float, int]:
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "berth", "cost", str(path), "--json"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return time.perf_counter() - start, used.ru_maxrss * 1024
