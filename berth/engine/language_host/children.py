"""The processes that the host has started; none of them outlives it."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO

INTERRUPT_GRACE_S = 2.0
"""Below the 5 s after which the engine kills a language host that has not ended."""


class Children:
    """Starts processes, each in a group of its own, and ends them with all they started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._interrupted: set[subprocess.Popen[bytes]] = set()
        self._ending = False

    def start(
        self,
        command: Sequence[str],
        *,
        cwd: str,
        environment: Mapping[str, str],
        output: int | IO[bytes] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start one; it inherits the host's output unless `output` is `subprocess.PIPE`.

        Raises:
            ChildProcessError: when the host is ending.
        """
        with self._lock:
            if self._ending:
                raise ChildProcessError("the language host is ending")
            child = subprocess.Popen(
                command,
                cwd=cwd or None,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,
            )
            self._running.add(child)
            return child

    def wait(self, child: subprocess.Popen[bytes]) -> int | None:
        """Wait for one, end what it has left running, and forget it.

        Returns:
            Its exit code, negative when a signal ended it; None when it was interrupted.
        """
        exit_code = child.wait()
        signal_group(child, signal.SIGKILL)
        with self._lock:
            self._running.discard(child)
            return None if child in self._interrupted else exit_code

    def interrupt(self) -> None:
        """Pass Ctrl-C on to all, once each, and end those that have not ended a moment later."""
        with self._lock:
            running = list(self._running)
            first_time = self._running - self._interrupted
            self._interrupted |= first_time
        for child in first_time:
            signal_group(child, signal.SIGINT)
        give_up_at = time.monotonic() + INTERRUPT_GRACE_S
        for child in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.0, give_up_at - time.monotonic()))
        for child in running:
            signal_group(child, signal.SIGKILL)

    def end(self) -> None:
        """As `interrupt`, and start no more."""
        with self._lock:
            self._ending = True
        self.interrupt()


def signal_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a child and to everything that it has started in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)
