"""The preview of a stack against the same resources declared by hand in a plain program."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from berth.engine.environment import engine_environment
from berth.engine.interruptible import InterruptibleCommand
from berth.engine.preview import EnginePreview, Target, run_preview
from berth.engine.tools import find_or_make
from berth.offline.environment import offline_environment
from berth.offline.providers import OfflineProviders
from berth.offline.workspace import copy_workspace
from tests.bench.plain_program import write_plain_program

ROOT = Path(__file__).resolve().parents[2]
STACK = "h100-prod"
RUNS = 7
PLAIN = "name: plain\nruntime: {name: python, options: {virtualenv: %s}}\n"


def main() -> None:
    """Print the ratios: the whole preview, and the time to the first resource."""
    (ROOT / ".berth").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / ".berth") as folder:
        state = Path(folder)
        with OfflineProviders(state) as providers:
            ours, plain = _targets(state, providers)
            count = _write_plain(ours, plain)
            pairs = [(_timed(ours), _timed(plain)) for _ in range(RUNS + 1)][1:]
    ratio = statistics.median(a.total_s / b.total_s for a, b in pairs)
    first = statistics.median(a.first_s / b.first_s for a, b in pairs)
    print(f"preview of {STACK} against its {count} resources declared by hand, {RUNS} pairs")
    print(f"  whole preview          {ratio:.2f} times (at most 1.10 wanted)")
    print(f"  to the first resource  {first:.2f} times, {_middle(pairs):.2f} s after the start")


class _Run:
    """Seconds of one preview, and until its first resource was registered."""

    def __init__(self, total_s: float, first_s: float) -> None:
        self.total_s = total_s
        self.first_s = first_s


def _middle(pairs: list[tuple[_Run, _Run]]) -> float:
    return statistics.median(ours.first_s for ours, _ in pairs)


def _targets(state: Path, providers: OfflineProviders) -> tuple[Target, Target]:
    program = find_or_make("pulumi")
    environment = {
        **engine_environment(program, offline=True),
        **offline_environment(state, providers),
    }
    copy_workspace(ROOT, ROOT / "stacks" / f"Pulumi.{STACK}.yaml", state / "ours")
    (state / "plain").mkdir()
    (state / "plain" / "Pulumi.yaml").write_text(PLAIN % (ROOT / ".venv"), encoding="utf-8")

    def target(folder: str) -> Target:
        return Target(
            stack=STACK,
            work_dir=state / folder,
            environment=environment,
            command=InterruptibleCommand(program),
            policy_packs=(),
            create=True,
        )

    return target("ours"), target("plain")


def _write_plain(ours: Target, plain: Target) -> int:
    _timed(ours)  # makes the stack
    ended = subprocess.run(
        [ours.command.command, "preview", "--json", "--stack", ours.stack, "--non-interactive"],
        cwd=ours.work_dir,
        env={**os.environ, **ours.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return write_plain_program(json.loads(ended.stdout), plain.work_dir)


def _timed(target: Target) -> _Run:
    started_s = time.monotonic()
    first_s: list[float] = []

    def note(preview: EnginePreview) -> None:
        if preview.resources and not first_s:
            first_s.append(time.monotonic() - started_s)

    preview = run_preview(target, note)
    if not preview.ok:
        sys.exit("\n".join(preview.errors))
    return _Run(time.monotonic() - started_s, first_s[0])
