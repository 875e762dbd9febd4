"""Control planes of earlier runs: those that still live, and what a killed one has left."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from berth.rehearsal.keeper import LOCK, PROCESSES

MAKING_S: Final = 10
"""A folder without a lock that is younger than this is being made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A folder of a control plane and its processes by name."""

    folder: Path
    alive: bool
    """Its keeper runs: it is in use, or was kept."""
    kept: bool = False
    keeper: int | None = None
    processes: Mapping[str, int] = field(default_factory=dict)


def found_in(parent: Path) -> list[Leftover]:
    """Every control plane below a folder."""
    folders = sorted(parent.iterdir()) if parent.is_dir() else []
    return [_read(folder) for folder in folders if folder.is_dir()]


def sweep(parent: Path) -> list[Path]:
    """End and remove what runs that were killed have left; those that live are let be."""
    removed = []
    for leftover in found_in(parent):
        if leftover.alive:
            continue
        for process_id in leftover.processes.values():
            if runs_in(process_id, leftover.folder):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process_id, signal.SIGKILL)
        shutil.rmtree(leftover.folder, ignore_errors=True)
        removed.append(leftover.folder)
    return removed


def runs_in(process_id: int, folder: Path) -> bool:
    """Whether the process is one of that folder's, and not another that got its number since."""
    try:
        return Path(f"/proc/{process_id}/cwd").readlink().is_relative_to(folder)
    except OSError:
        return False


def _read(folder: Path) -> Leftover:
    with _lock_free(folder) as free:
        noted: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            noted = json.loads((folder / PROCESSES).read_text("utf-8"))
        return Leftover(
            folder=folder,
            alive=not free,
            kept=bool(noted.get("kept")),
            keeper=noted.get("keeper"),
            processes=noted.get("running", {}),
        )


@contextlib.contextmanager
def _lock_free(folder: Path) -> Iterator[bool]:
    """Whether nobody works in the folder."""
    try:
        with (folder / LOCK).open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
    except BlockingIOError:
        yield False
    except FileNotFoundError:
        yield time.time() - folder.stat().st_mtime > MAKING_S
