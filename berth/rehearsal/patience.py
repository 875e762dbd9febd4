"""When waiting ends: the time limit, a world that broke, or pods that nothing will help."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from berth.rehearsal.observer import Observer, is_ready, pod_key, scheduler_words
from berth.rehearsal.world import World

STUCK_S: Final = 20.0
"""So long nothing moves while a pod has no node, and no node is coming."""
CALM_S: Final = 1.5
"""So long nothing moves in a cluster that has settled."""
LOOK_S: Final = 0.25


class GaveUpError(Exception):
    """The stack did not settle; the text says why waiting ended."""


def in_motion(observer: Observer, world: World) -> list[str]:
    """What will change by itself: pods on their way, nodes that are coming."""
    moving = []
    for pod in observer.pods:
        words = scheduler_words(pod)
        if pod["metadata"].get("deletionTimestamp"):
            moving.append(f"pod {pod_key(pod)} is being deleted")
        elif words and world.waits_for_nodes:
            moving.append(f"pod {pod_key(pod)} waits for a node that is coming")
        elif not words and not is_ready(pod):
            moving.append(f"pod {pod_key(pod)} is not ready")
    return moving


def wait_until_settled(observer: Observer, world: World) -> None:
    """Until nothing has moved for a moment; the alarm of `limited` ends it."""
    calm_since_s = time.monotonic()
    while time.monotonic() - calm_since_s < CALM_S:
        if in_motion(observer, world) or world.waits_for_nodes:
            calm_since_s = time.monotonic()
        time.sleep(LOOK_S)


@contextmanager
def limited(limit_s: float, observer: Observer, world: World) -> Iterator[None]:
    """Raise in the main thread when the block takes too long, or waits for nothing.

    Raises:
        GaveUpError: out of whatever the block is doing.
    """
    main_id = threading.main_thread().ident
    ended = threading.Event()
    reasons: list[str] = []
    deadline_s = time.monotonic() + limit_s

    def watch() -> None:
        moved_at_s, before = time.monotonic(), observer.movement
        while not ended.wait(LOOK_S):
            now_s = time.monotonic()
            if observer.movement != before or world.waits_for_nodes:
                moved_at_s, before = now_s, observer.movement
            stuck = any(scheduler_words(pod) for pod in observer.pods)
            if world.problem is not None:
                reasons.append(f"the simulated world broke: {world.problem}")
            elif now_s > deadline_s:
                reasons.append(f"not settled after {limit_s:.0f} s")
            elif stuck and now_s - moved_at_s > STUCK_S:
                reasons.append(f"nothing has moved for {STUCK_S:.0f} s while pods have no node")
            if reasons and main_id is not None:
                signal.pthread_kill(main_id, signal.SIGALRM)
                return

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise GaveUpError(reasons[0] if reasons else "interrupted")

    before = signal.signal(signal.SIGALRM, give_up)
    watcher = threading.Thread(target=watch, name="patience", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        signal.signal(signal.SIGALRM, before)
