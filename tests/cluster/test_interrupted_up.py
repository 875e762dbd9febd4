"""An `up` killed at a random step and mended as `berth doctor` says ends like any other."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from berth.cli.doctor import pretended_id
from berth.cli.stack_plan import planned_stack
from berth.engine.interrupted import Interrupted, read_interrupted
from berth.engine.tools import find_or_make
from berth.engine.update import left_in_state, run_update
from berth.rehearsal.observer import is_ready, server_of
from berth.rehearsal.stack_setup import StackSetup, Wish
from tests.engine.checkout import ROOT

pytestmark = pytest.mark.cluster

STACK = "l4-dev"
STEPS = 66
"""Resources of the stack, and the stack itself."""
POINTS = int(os.environ.get("BERTH_INTERRUPTIONS", "3"))
SEED = 20261201
CLOUD_S = 1.0
"""Until the cloud has done what it was asked for last."""


def points() -> list[int]:
    """Steps after which it is killed."""
    return random.Random(SEED).sample(range(4, STEPS), POINTS)


def begin() -> StackSetup:
    path = ROOT / "stacks" / f"Pulumi.{STACK}.yaml"
    plan = planned_stack(path).plan
    return StackSetup(Wish(stack=STACK, project_dir=ROOT, stack_file=path, plan=plan, speed=600.0))


def kill_after(setup: StackSetup, steps: int) -> None:
    """Start `pulumi up` and kill it, and it alone, when so many steps have begun."""
    log = setup.target.work_dir / "events.jsonl"
    environment = {**os.environ, **setup.target.environment, "PULUMI_DEBUG_COMMANDS": "true"}
    pulumi = find_or_make("pulumi").path
    common = [str(pulumi), "--non-interactive"]
    subprocess.run(
        [*common, "stack", "select", "--create", STACK],
        cwd=setup.target.work_dir,
        env=environment,
        check=True,
        capture_output=True,
    )
    process = subprocess.Popen(
        [*common, "up", "--yes", "--skip-preview", "--stack", STACK, "--event-log", str(log)],
        cwd=setup.target.work_dir,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while process.poll() is None:
            begun = log.read_text("utf-8").count('"resourcePreEvent"') if log.exists() else 0
            if begun >= steps:
                break
            time.sleep(0.02)
        assert process.poll() is None, f"it ended before step {steps}"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    time.sleep(CLOUD_S)


def looked_at(setup: StackSetup) -> Interrupted:
    url = setup.target.environment["PULUMI_BACKEND_URL"]
    return read_interrupted(
        setup.target.command,
        STACK,
        setup.target.work_dir,
        setup.target.environment,
        lambda urn: pretended_id(urn, url),
    )


def mend(setup: StackSetup, left: Interrupted) -> None:
    """Run what the doctor says, its own part included."""
    folder, environment = setup.target.work_dir, setup.target.environment
    for program, *words in left.commands("mended.json"):
        if program == "pulumi":
            setup.target.command.run(words, str(folder), environment)
        else:
            command = [sys.executable, "-m", "berth"] if program == "berth" else [program]
            run = [*command, *words]
            subprocess.run(run, cwd=folder, env={**os.environ, **environment}, check=True)


def end_state(setup: StackSetup) -> dict[str, Any]:
    """What the state, the cloud and the cluster hold, without what chance names."""
    setup.observer.look()
    deadline = time.monotonic() + 60
    while not all(map(is_ready, setup.observer.pods)) and time.monotonic() < deadline:
        time.sleep(0.2)
        setup.observer.look()
    replicas = Counter(server_of(pod) for pod in setup.observer.pods)
    return {
        "state": sorted(left_in_state(setup.target)),
        "cloud": Counter(record.type for record in setup.providers.cloud.records()),
        "nodes": len(setup.observer.nodes),
        "replicas": {name: count for name, count in replicas.items() if name},
        "ready": all(map(is_ready, setup.observer.pods)),
    }


@pytest.fixture(scope="module")
def undisturbed(engine_programs: None) -> dict[str, Any]:
    with begin() as setup:
        assert run_update(setup.target, "up", lambda _: None).ok
        return end_state(setup)


@pytest.mark.parametrize("steps", points())
def test_it_ends_as_if_nothing_had_happened(undisturbed: dict[str, Any], steps: int) -> None:
    with begin() as setup:
        kill_after(setup, steps)
        left = looked_at(setup)

        assert [lock.alive for lock in left.locks] == [False]
        assert left.unknown == [], "everything can be found in the pretended cloud"
        mend(setup, left)
        mend(setup, looked_at(setup))  # what a torn state had hidden
        assert looked_at(setup).commands("mended.json") == []
        update = run_update(setup.target, "up", lambda _: None)
        assert update.ok, update.errors
        again = run_update(setup.target, "up", lambda _: None)

        assert set(again.changes) == {"same"}
        found = end_state(setup)
        assert found["cloud"] - undisturbed["cloud"] == Counter(), "nothing was made twice"
        assert found == undisturbed


def test_an_update_that_still_runs_is_left_alone(engine_programs: None, tmp_path: Path) -> None:
    """The doctor's own process stands for it."""
    with begin() as setup:
        kill_after(setup, 4)
        backend = Path(setup.target.environment["PULUMI_BACKEND_URL"].removeprefix("file://"))
        (lock,) = backend.glob(".pulumi/locks/**/*.json")
        content = json.loads(lock.read_text("utf-8"))
        lock.write_text(json.dumps({**content, "pid": os.getpid()}), "utf-8")

        left = looked_at(setup)

    assert [each.alive for each in left.locks] == [True]
    assert left.commands("mended.json") == []


def test_a_state_that_was_being_written_is_the_one_before_it(
    engine_programs: None, tmp_path: Path
) -> None:
    with begin() as setup:
        kill_after(setup, 20)
        backend = Path(setup.target.environment["PULUMI_BACKEND_URL"].removeprefix("file://"))
        (state,) = backend.glob(f".pulumi/stacks/**/{STACK}.json")
        attributes = Path(f"{state}.attrs")
        state.write_text("")
        attributes.write_text("")

        left = looked_at(setup)
        mend(setup, left)
        mended = looked_at(setup)

    assert list(left.torn) == [state, attributes]
    assert [words[0] for words in left.commands("x")] == ["cp", "rm", "pulumi"]
    assert (mended.torn, mended.locks) == ((), [])
