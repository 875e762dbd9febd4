"""Runs the tests that reach a mutant, in a process of its own that was forked after collection.

The functions of the mutated module get other code where they stand, so nothing is imported again.
"""

import functools
import gc
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any

import pytest

from tests.mutation.mutants import Place, mutated_code

LIMIT_CPU_S = 120
"""A mutant that computes longer than its tests ever do is caught in a loop."""


class MutationRun:
    """A pytest plugin that runs every mutant instead of the tests once."""

    def __init__(self, tried: Sequence[Place], workers: int) -> None:
        self.tried = tried
        self.workers = workers
        self.survivors: list[Place] = []
        self.unreached: list[Place] = []
        self._reaching: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests once to see what reaches what, then every mutant."""
        if not self._map(session.items):
            pytest.exit("a test fails without any mutant; mend it first", 1)
        running: dict[int, Place] = {}
        for number, place in enumerate(self.tried):
            items = self._reaching[(str(place.path), place.function)]
            if not items:
                self.unreached.append(place)
                continue
            while len(running) >= self.workers:
                self._take(running)
            running[self._start(place, items)] = place
            if sys.stderr.isatty():
                print(f"\r{number}/{len(self.tried)}", end="", file=sys.stderr)
        while running:
            self._take(running)
        return True

    def _map(self, items: Sequence[pytest.Item]) -> bool:
        reached_by: dict[pytest.Item, set[tuple[str, str]]] = {}
        for item in items:
            seen: set[tuple[str, str]] = set()
            with _watching(seen):
                passed = _passes(item)
            if not passed:
                return False
            reached_by[item] = seen
        for item in sorted(items, key=lambda item: len(reached_by[item])):
            for function in reached_by[item]:
                self._reaching[function].append(item)
        return True

    def _start(self, place: Place, items: Sequence[pytest.Item]) -> int:
        child = os.fork()
        if child:
            return child
        signal.setitimer(signal.ITIMER_PROF, LIMIT_CPU_S)
        survived = False
        try:
            _put_in_place(place)
            survived = all(_passes(item) for item in items)
        finally:
            os._exit(int(survived))

    def _take(self, running: dict[int, Place]) -> None:
        child, status = os.wait()
        place = running.pop(child)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 1:
            self.survivors.append(place)


def _passes(item: pytest.Item) -> bool:
    from _pytest.runner import runtestprotocol

    reports = runtestprotocol(item, nextitem=None, log=False)
    return not any(report.failed for report in reports)


class _watching:  # noqa: N801
    """Notes the outermost functions that are called meanwhile."""

    def __init__(self, seen: set[tuple[str, str]]) -> None:
        self.seen = seen

    def __enter__(self) -> None:
        sys.setprofile(self._note)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            self.seen.add((code.co_filename, code.co_qualname.partition(".<locals>")[0]))


def _put_in_place(place: Place) -> None:
    made = mutated_code(place)
    folder = str(place.path.parent)
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and found.__code__.co_filename == str(place.path):
            code = made.get((found.__code__.co_qualname, found.__code__.co_firstlineno))
            if code is not None:
                found.__code__ = code
        elif isinstance(found, functools._lru_cache_wrapper) and _is_under(found, folder):
            found.cache_clear()


def _is_under(cached: Callable[..., Any], folder: str) -> bool:
    wrapped = getattr(cached, "__wrapped__", None)
    return isinstance(wrapped, FunctionType) and wrapped.__code__.co_filename.startswith(folder)


def modules(folder: Path) -> Iterator[Path]:
    """Every module under a folder."""
    yield from sorted(path for path in folder.rglob("*.py"))


def seconds_since(start: float) -> int:
    """Whole seconds."""
    return round(time.monotonic() - start)
