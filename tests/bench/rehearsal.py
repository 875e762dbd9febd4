"""A rehearsal and its parts, and the control plane as its simulated nodes grow in number."""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

from berth.catalog.load import load_catalog
from berth.cli.stack_plan import planned_stack
from berth.engine.update import run_update, unprotect
from berth.planner.startup import plan_startup
from berth.rehearsal.control_plane import ControlPlane
from berth.rehearsal.node import Node, gpu_devices, instance_size
from berth.rehearsal.patience import wait_until_settled
from berth.rehearsal.stack_setup import StackSetup, Wish

ROOT = Path(__file__).resolve().parents[2]
STACK = "h100-prod"
SPEED = 60.0
NODE_COUNTS = (10, 100, 1000)
READY_LIMIT_S = 300


def main() -> None:
    """Print the share of each part of a rehearsal, then time and memory against node counts."""
    _parts()
    _growth()


def _parts() -> None:
    path = ROOT / "stacks" / f"Pulumi.{STACK}.yaml"
    plan = planned_stack(path).plan
    wish = Wish(stack=STACK, project_dir=ROOT, stack_file=path, plan=plan, speed=SPEED)
    marks = [("begin", time.monotonic())]

    def mark(name: str) -> None:
        marks.append((name, time.monotonic()))

    with StackSetup(wish) as setup:
        mark("control plane and setup")
        assert run_update(setup.target, "up", lambda _: None).ok
        mark("up")
        wait_until_settled(setup.observer, setup.world)
        mark("settled")
        assert run_update(setup.target, "up", lambda _: None).ok
        mark("second up")
        unprotect(setup.target)
        assert run_update(setup.target, "destroy", lambda _: None).ok
        mark("destroy")
    mark("end of everything")
    whole_s = marks[-1][1] - marks[0][1]
    load_s = max(plan_startup(s.weights_bytes).total_s for s in plan.servers.values()) / SPEED
    print(f"rehearsal of {STACK}, {whole_s:.1f} s, of that")
    for (_, before_s), (name, after_s) in pairwise(marks):
        print(f"  {name:<24} {(after_s - before_s) / whole_s:6.1%}")
    print(
        f"  a model's load in `up`   {load_s / whole_s:6.1%} ({SPEED:g} times faster than in life)"
    )


def _growth() -> None:
    print("simulated nodes of a control plane, each ready")
    base: tuple[float, float] | None = None
    for count in NODE_COUNTS:
        seconds, mib = _with_nodes(count)
        base = base or (seconds, mib)
        print(
            f"  {count:>5} nodes  {seconds / base[0]:6.1f} times the time of {NODE_COUNTS[0]}, "
            f"{mib / base[1]:5.2f} times the memory ({mib:.0f} MiB)"
        )


def _with_nodes(count: int) -> tuple[float, float]:
    """Seconds until all are ready, and the memory of all programs then."""
    with ControlPlane() as plane:
        started_s = time.monotonic()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: plane.api.create("/api/v1/nodes", _node(n)), range(count)))
        deadline_s = started_s + READY_LIMIT_S
        while not _all_ready(plane, count) and time.monotonic() < deadline_s:
            time.sleep(0.1)
        seconds = time.monotonic() - started_s
        return seconds, sum(map(_resident_mib, plane.noted()["running"].values()))


def _all_ready(plane: ControlPlane, count: int) -> bool:
    nodes = plane.api.items("/api/v1/nodes")
    return count == sum(
        any(
            c["type"] == "Ready" and c["status"] == "True"
            for c in n["status"].get("conditions", ())
        )
        for n in nodes
    )


def _node(number: int) -> dict[str, Any]:
    catalog = load_catalog()
    instance = catalog.instances["p5.48xlarge"]
    devices = gpu_devices(catalog.gpus["H100-SXM-80GB"], instance.gpu_count, {})
    return Node(
        name=f"node-{number}",
        size=instance_size(instance, 200, 0, devices),
        labels={"kubernetes.io/arch": "amd64"},
    ).document()


def _resident_mib(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
