"""Previews of stacks with 1, 10 and 50 tiers: what one more resource takes."""

import json
import statistics
import tempfile
import time
from pathlib import Path

from berth.engine.environment import engine_environment
from berth.engine.interruptible import InterruptibleCommand
from berth.engine.preview import Target, run_preview
from berth.engine.tools import find_or_make
from berth.offline.environment import offline_environment
from berth.offline.providers import OfflineProviders
from berth.offline.workspace import copy_workspace

ROOT = Path(__file__).resolve().parents[2]
STACK = "l4-dev"
COUNTS = (1, 10, 50)
RUNS = 3


def main() -> None:
    """Print seconds per resource at each number of tiers, and their ratio to one tier's."""
    (ROOT / ".berth").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / ".berth") as folder:
        state = Path(folder)
        with OfflineProviders(state) as providers:
            target = _target(state, providers)
            measured = {count: _measure(target, count) for count in COUNTS}
    _, one = measured[COUNTS[0]]
    for count, (resources, seconds) in measured.items():
        ratio = seconds / resources / (one / measured[COUNTS[0]][0])
        print(
            f"preview of {count} tiers: {resources} resources, {seconds:.2f} s, "
            f"{1000 * seconds / resources:.1f} ms each, {ratio:.2f} of one tier's (at most 1.20)"
        )


def _target(state: Path, providers: OfflineProviders) -> Target:
    program = find_or_make("pulumi")
    copy_workspace(ROOT, ROOT / "stacks" / f"Pulumi.{STACK}.yaml", state / "work")
    return Target(
        stack=STACK,
        work_dir=state / "work",
        environment={
            **engine_environment(program, offline=True),
            **offline_environment(state, providers),
        },
        command=InterruptibleCommand(program),
        policy_packs=(),
        create=True,
    )


def _measure(target: Target, count: int) -> tuple[int, float]:
    """Resources, and the median of several runs in seconds."""
    (target.work_dir / f"Pulumi.{STACK}.yaml").write_text(_stack(count), encoding="utf-8")
    seconds, resources = [], 0
    for _ in range(RUNS):
        started_s = time.monotonic()
        preview = run_preview(target, lambda _: None)
        seconds.append(time.monotonic() - started_s)
        if not preview.ok:
            raise SystemExit("\n".join(preview.errors))
        resources = len(preview.resources)
    return resources, statistics.median(seconds)


def _stack(count: int) -> str:
    tiers = {
        f"t{number}": {
            "instance_type": "g6.xlarge",
            "capacity": {"type": "ON_DEMAND"},
            "max_nodes": 2,
        }
        for number in range(count)
    }
    model = {"model": "meta-llama/Llama-3.1-8B-Instruct", "tier": "t0", "max_model_len": 8192}
    config = {
        "aws:region": "us-east-1",
        "berth:environment": "dev",
        "berth:as_of": "2026-11-30",
        "berth:cluster": {"kubernetes_version": "1.35", "endpoint": "private"},
        "berth:tiers": tiers,
        "berth:models": {"chat": model},
    }
    return json.dumps({"config": config})
