"""Runs the programs of one control plane and ends them when whoever started it is gone.

Started by file name, with the standard library alone, and with the folder's lock as an open file.
Commands come as JSON lines on standard input; its end, however it came, is the order to stop:
`{"start": [{"name", "command"}]}` starts programs, `{"keep": true}` makes the end of the input
count no longer. SIGTERM always stops.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

PR_SET_PDEATHSIG = 1
LOCK = "keeper.lock"
"""Locked as long as somebody works in the folder."""
PROCESSES = "processes.json"
LOOK_S = 0.2
REMOVE_ATTEMPTS = 20


class _Stopped(Exception):  # noqa: N818  an order, not an error
    """SIGTERM came."""


class Keeper:
    """The programs of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._ended: dict[str, int] = {}
        self._kept = False

    def run(self) -> None:
        """Serve until the input ends or SIGTERM comes, then leave nothing."""
        signal.signal(signal.SIGTERM, _stop)
        for ignored in (signal.SIGINT, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)
        try:
            self._serve()
        except _Stopped:
            pass
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            self._end_all()
            _remove(self._folder)

    def _serve(self) -> None:
        self._note()
        buffered = b""
        while True:
            listening = [] if self._kept else [sys.stdin.fileno()]
            ready, _, _ = select.select(listening, [], [], LOOK_S)
            if ready:
                read = os.read(sys.stdin.fileno(), 65536)
                if not read:
                    return
                *lines, buffered = (buffered + read).split(b"\n")
                for line in lines:
                    self._obey(json.loads(line))
            self._look()

    def _obey(self, command: dict[str, Any]) -> None:
        if command.get("keep"):
            self._kept = True
        for program in command.get("start", ()):
            with (self._folder / "logs" / f"{program['name']}.log").open("ab") as log:
                self._running[program["name"]] = subprocess.Popen(
                    program["command"],
                    cwd=self._folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    preexec_fn=_die_with_parent,  # one thread, so nothing can be locked
                )
        self._note()

    def _look(self) -> None:
        gone = {n: p.returncode for n, p in self._running.items() if p.poll() is not None}
        if gone:
            self._ended |= gone
            self._running = {n: p for n, p in self._running.items() if n not in gone}
            self._note()

    def _note(self) -> None:
        document = {
            "keeper": os.getpid(),
            "kept": self._kept,
            "running": {name: process.pid for name, process in self._running.items()},
            "ended": self._ended,
        }
        partial = self._folder / f"{PROCESSES}.new"
        partial.write_text(json.dumps(document), "utf-8")
        partial.replace(self._folder / PROCESSES)

    def _end_all(self) -> None:
        """At once: what they hold goes with the folder."""
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _stop(number: int, frame: FrameType | None) -> None:
    raise _Stopped


def _remove(folder: Path) -> None:
    """Also what an engine writes while it ends."""
    for _ in range(REMOVE_ATTEMPTS):
        with contextlib.suppress(OSError):
            shutil.rmtree(folder)
        if not folder.exists():
            return
        time.sleep(0.1)


if __name__ == "__main__":
    Keeper(Path(sys.argv[1])).run()
