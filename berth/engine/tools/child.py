"""A child process that shows progress while it runs and never outlives its caller."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

STOP_GRACE_S = 3.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended; `exit_code` is None when it took too long and was stopped."""

    exit_code: int | None
    last_lines: list[str]


def tell(line: str) -> None:
    """One line of progress for a person or a log."""
    print(line, file=sys.stderr, flush=True)


def run_child(
    command: Sequence[str],
    *,
    doing: str,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    limit_s: float | None = None,
) -> Ended:
    """Run a command in a process group of its own and wait for it.

    On a terminal the time and the newest line are shown and vanish afterwards; elsewhere one line
    at the start and one at the end. Whatever ends the wait ends the group too, Ctrl-C and SIGTERM
    included.
    """
    with _signals_noted() as noted:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            process_group=0,
        )
        lines: deque[str] = deque(maxlen=40)
        reader = threading.Thread(target=_collect, args=(process, lines), daemon=True)
        reader.start()
        try:
            with _progress(doing, lines) as show:
                exit_code = _wait(process, show, noted, limit_s)
        finally:
            stop_group(process)
            reader.join(timeout=STOP_GRACE_S)
    return Ended(exit_code, list(lines))


def stop_group(process: subprocess.Popen[str]) -> None:
    """End a process group that the process leads: interrupted first, killed after a moment."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_GRACE_S)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _collect(process: subprocess.Popen[str], lines: deque[str]) -> None:
    assert process.stdout is not None
    with process.stdout as output:
        lines.extend(line.strip() for line in output if line.strip())


def _wait(
    process: subprocess.Popen[str],
    show: Callable[[], None],
    noted: list[int],
    limit_s: float | None,
) -> int | None:
    give_up_at = None if limit_s is None else time.monotonic() + limit_s
    while give_up_at is None or time.monotonic() < give_up_at:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
        if signal.SIGINT in noted:
            raise KeyboardInterrupt
        if noted:
            sys.exit(128 + noted[0])
        if process.returncode is not None:
            return process.returncode
        show()
    return None


@contextlib.contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Note Ctrl-C and SIGTERM instead of acting on them.

    Raised at any moment, they could strike between the start of a child and the care for its end.
    """
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda got, _: noted.append(got)) for number in numbers]
    try:
        yield noted
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextlib.contextmanager
def _progress(doing: str, lines: deque[str]) -> Iterator[Callable[[], None]]:
    console = Console(stderr=True)
    started_s = time.monotonic()
    if not console.is_terminal:
        tell(f"{doing} ...")
        yield lambda: None
        tell(f"{doing}: took {time.monotonic() - started_s:.0f} s")
        return
    with console.status(doing) as status:

        def show() -> None:
            newest = f": {escape(lines[-1][:60])}" if lines else ""
            status.update(f"{doing}, {time.monotonic() - started_s:.0f} s{newest}")

        yield show
