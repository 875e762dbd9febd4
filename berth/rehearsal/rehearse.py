"""One rehearsal of one stack: up, until settled, up again, destroy."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from berth.engine.update import EngineUpdate, left_in_state, run_update, unprotect
from berth.rehearsal.observer import pod_key, scheduler_words, server_of
from berth.rehearsal.patience import GaveUpError, in_motion, limited, wait_until_settled
from berth.rehearsal.report import Event, Rehearsed
from berth.rehearsal.stack_setup import StackSetup, Wish
from berth.rehearsal.tables import (
    node_rows,
    outcomes,
    pod_rows,
    pods_in_place,
)

Tell = Callable[[str], None]
LISTED: Final = 10
DONE: Final = {
    "create": "created",
    "delete": "deleted",
    "same": "unchanged",
    "update": "updated",
    "replace": "replaced",
}


class Rehearsal:
    """The steps of a rehearsal on a setup that stands."""

    def __init__(self, setup: StackSetup, wish: Wish, limit_s: float, tell: Tell) -> None:
        self._setup, self._wish, self._limit_s, self._tell = setup, wish, limit_s, tell
        self.result = Rehearsed(stack=wish.stack, plan=wish.plan, speed=wish.speed)

    def run(self, *, keep: bool) -> Rehearsed:
        """All steps, one after another; what fails is in the result."""
        started_s = time.monotonic()
        result, observer = self.result, self._setup.observer
        result.charts = self._setup.charts
        up = self._up()
        self._look()
        if up.ok:
            self._second_up()
        if not keep:
            self._destroy()
        result.moments = list(observer.moments)
        result.seconds = time.monotonic() - started_s
        result.refusals = self._refusals()
        return result

    def _up(self) -> Event:
        event, started_s = self._event("up"), time.monotonic()
        setup = self._setup
        try:
            with limited(self._limit_s, setup.observer, setup.world):
                update = run_update(setup.target, "up", self._progress("up"))
                _take(event, update)
                if update.ok:
                    wait_until_settled(setup.observer, setup.world)
                    self.result.settled = True
        except GaveUpError as error:
            event.ok, event.seconds = False, time.monotonic() - started_s
            setup.observer.look()
            event.lines += [f"up: {error}", *self._not_ready()]
        event.servers = outcomes(setup.observer, self._wish.plan)
        return event

    def _second_up(self) -> None:
        event = self._event("second-up")
        update = run_update(self._setup.target, "up", self._progress("second-up"))
        _take(event, update)
        changed = {name: count for name, count in update.changes.items() if name != "same"}
        if changed:
            event.ok = False
            event.lines.append(f"second-up: expected no changes, found {_counts(changed)}")

    def _destroy(self) -> None:
        event, setup = self._event("destroy"), self._setup
        protected = unprotect(setup.target)
        if protected:
            names = ", ".join(protected)
            event.lines.append(f"protection lifted first, which a real destroy keeps: {names}")
        try:
            with limited(self._limit_s, setup.observer, setup.world):
                _take(event, run_update(setup.target, "destroy", self._progress("destroy")))
        except GaveUpError as error:
            event.ok = False
            event.lines.append(f"destroy: {error}")
        left = [
            *left_in_state(setup.target),
            *(record.key for record in setup.providers.cloud.records()),
            *self._objects_left(),
        ]
        if left:
            event.ok = False
            event.lines += [f"left: {each}" for each in left[:LISTED]]
        else:
            event.lines.append("nothing left")

    def _event(self, name: str) -> Event:
        event = Event(event=name)
        self.result.events.append(event)
        self._setup.observer.note(f"{name} begins")
        return event

    def _progress(self, name: str) -> Callable[[EngineUpdate], None]:
        def show(update: EngineUpdate) -> None:
            self._tell(f"{name}: {update.done} steps done, {update.latest}")

        return show

    def _look(self) -> None:
        """Note where everything is."""
        observer, plan = self._setup.observer, self._wish.plan
        observer.look()
        self.result.nodes = node_rows(observer, plan)
        self.result.pods = pod_rows(observer, plan)

    def _not_ready(self) -> list[str]:
        observer, world = self._setup.observer, self._setup.world
        waiting = [(pod_key(pod), scheduler_words(pod)) for pod in observer.pods]
        found = [f"pod {key}: {words}" for key, words in waiting if words]
        return [*found, *in_motion(observer, world)][:LISTED]

    def _objects_left(self) -> list[str]:
        """Pods of ours that the cluster still has, once the stand-ins of add-ons have gone."""
        self._setup.world.stop()
        self._setup.world.step()
        self._setup.observer.look()
        pods = self._setup.observer.pods
        return [f"pod {pod_key(pod)}" for pod in pods if server_of(pod)]

    def _refusals(self) -> list[str]:
        """Replicas that do not run on a tier of theirs, and events that failed."""
        found = []
        for name, server in self._wish.plan.servers.items():
            right = pods_in_place(self.result.pods, server)
            if right != server.pods:
                noun = "replicas" if server.nodes_per_replica == 1 else "pods"
                tiers = " or ".join(server.tiers or (server.tier,))
                reasons = [row.reason for row in self.result.pods if row.server == name]
                why = next(filter(None, reasons), "its pods are not ready or on another tier")
                found.append(
                    f"berth:models.{name}: {right} of {server.pods} {noun} run on {tiers}; {why}"
                )
        for event in self.result.events:
            if not event.ok:
                found += event.lines or [f"{event.event}: failed"]
        return found


def rehearse(wish: Wish, *, limit_s: float, keep: bool, tell: Tell) -> tuple[Rehearsed, StackSetup]:
    """Set everything up, rehearse, and take everything down again unless it is kept.

    Raises:
        RehearsalError, ToolError: if it cannot be held.
        CommandError: if the CLI fails without saying why.
    """
    tell("starting the control plane")
    with StackSetup(wish) as setup:
        result = Rehearsal(setup, wish, limit_s, tell).run(keep=keep)
        if keep:
            setup.plane.keep()
    return result, setup


def _take(event: Event, update: EngineUpdate) -> None:
    event.ok, event.seconds = update.ok, update.seconds
    event.lines += [*update.errors, *([_counts(update.changes)] if update.changes else [])]
    mandatory = [p for p in update.policies if p.enforcement_level == "mandatory"]
    event.lines += [f"{policy.kind}: {policy.message}" for policy in mandatory]


def _counts(changes: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {DONE.get(name, name)}" for name, count in changes.items())
