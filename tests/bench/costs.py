"""`berth cost` and its diff of previews as they grow: seconds, and memory against the files."""

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
        _measured(_write(Path(folder), 0))  # the first start reads the modules from disk
        empty_s, empty_bytes = _measured(Path(folder) / "0.json")
        for count in RESOURCES:
            path = _write(Path(folder), count)
            taken_s, memory_bytes = _measured(path)
            times = (memory_bytes - empty_bytes) / path.stat().st_size
            both_s, _ = _measured(path, path)
            print(
                f"  {count:7,} resources, {path.stat().st_size / 1e6:6.1f} MB  "
                f"{taken_s - empty_s:5.2f} s beyond the start of the command, "
                f"memory {times:.1f} times the file"
                f"{' (1 s, 3 times wanted)' if count == RESOURCES[1] else ''}"
                f"; diff of two {both_s - empty_s:5.2f} s"
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


def _measured(*paths: Path) -> tuple[float, int]:
    """Of one file its cost, of two their difference."""
    words = ["cost", *(["diff"] if len(paths) > 1 else []), *map(str, paths)]
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "berth", *words, "--json"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return time.perf_counter() - start, used.ru_maxrss * 1024
