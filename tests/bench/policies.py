"""The policy pack against an empty one and none, and `berth check` as its input grows."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from berth.engine.environment import engine_environment
from berth.engine.tools import find_or_make
from berth.offline.environment import offline_environment
from berth.offline.providers import OfflineProviders

ROOT = Path(__file__).resolve().parents[2]
RESOURCES = (50, 500, 5000)
MANIFESTS = (1_000, 10_000, 50_000)
RUNS = 3
PROJECT = "name: many-%s\nruntime: {name: python, options: {virtualenv: %s}}\n"
PROGRAM = """
import pulumi_kubernetes as k8s

for index in range({count}):
    k8s.core.v1.ConfigMap(f"settings-{{index}}", metadata={{"name": f"settings-{{index}}"}})
"""
EMPTY_PACK = """
from pulumi_policy import PolicyPack, ResourceValidationPolicy

nothing = ResourceValidationPolicy(
    name="nothing", description="Looks at nothing.", validate=lambda args, report_violation: None
)
PolicyPack(name="empty", policies=[nothing])
"""
"""As empty as the SDK takes one: it refuses a pack without a policy."""
MANIFEST = """apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat-{index}}}
spec:
  selector: {{matchLabels: {{app: chat-{index}}}}}
  template:
    metadata: {{labels: {{app: chat-{index}}}}}
    spec:
      containers:
        - name: server
          image: registry.example/web:v1
          ports: [{{containerPort: 8080}}]
---
"""


def main() -> None:
    """Print seconds beyond the empty pack per number of resources, and manifests per second."""
    (ROOT / ".berth").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / ".berth") as folder:
        _packs(Path(folder))
        _check(Path(folder))


def _packs(state: Path) -> None:
    empty = state / "empty"
    empty.mkdir()
    (empty / "PulumiPolicy.yaml").write_text(
        f"runtime: {{name: python, options: {{virtualenv: {ROOT / '.venv'}}}}}\n", "utf-8"
    )
    (empty / "__main__.py").write_text(EMPTY_PACK, "utf-8")
    print(f"preview under no pack, an empty one and ours, median of {RUNS}")
    program = find_or_make("pulumi")
    with OfflineProviders(state) as providers:
        environment = {
            **engine_environment(program, offline=True),
            **offline_environment(state, providers),
        }
        for count in RESOURCES:
            work = state / f"many-{count}"
            work.mkdir()
            (work / "Pulumi.yaml").write_text(PROJECT % (count, ROOT / ".venv"), "utf-8")
            (work / "__main__.py").write_text(PROGRAM.format(count=count), "utf-8")
            command = [str(program.path), "--cwd", str(work), "--non-interactive"]
            subprocess.run(
                [*command, "stack", "init", "s"], env=environment, check=True, capture_output=True
            )
            none, bare, ours = (
                _preview_s([*command, "preview", "--stack", "s", *pack], environment)
                for pack in (
                    (),
                    ("--policy-pack", str(empty)),
                    ("--policy-pack", str(ROOT / "policies")),
                )
            )
            wanted = " (at most 1.00 wanted)" if count == RESOURCES[1] else ""
            print(
                f"  {count:5} resources  none {none:6.2f} s, empty {bare:6.2f} s, "
                f"ours {ours:6.2f} s: {ours - bare:+.2f} s beyond the empty one{wanted}"
            )


def _preview_s(command: list[str], environment: dict[str, str]) -> float:
    taken = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, env=environment, check=True, capture_output=True)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def _check(state: Path) -> None:
    print("berth check on one file of manifests")
    for count in MANIFESTS:
        path = state / f"manifests-{count}.yaml"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(MANIFEST.format(index=index) for index in range(count))
        start = time.perf_counter()
        checking = subprocess.Popen([sys.executable, "-m", "berth", "check", str(path)], cwd=ROOT)
        _, status, used = os.wait4(checking.pid, 0)
        taken = time.perf_counter() - start
        checking.returncode = os.waitstatus_to_exitcode(status)
        print(
            f"  {count:6} manifests  {count / taken:6.0f} a second (1,000 wanted), "
            f"{used.ru_maxrss / 1024:5.0f} MiB"
        )
