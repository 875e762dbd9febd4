"""Runs a command in a process group of its own, so that Ctrl-C reaches it exactly once."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

_FORWARDED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BY_SIGNAL: Final = 128
_NO_COMMAND: Final = 2


def run_command(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command until it ends, also after Ctrl-C, and return its exit code.

    Pulumi takes a second Ctrl-C for an order to drop everything: one that goes to the terminal's
    whole group and is passed on besides would be two.
    """
    try:
        process = subprocess.Popen(command, env=dict(environment), process_group=0)
    except FileNotFoundError:
        print(f"{command[0]}: no such command; check its name or your PATH", file=sys.stderr)
        return _NO_COMMAND
    except PermissionError:
        print(f"{command[0]}: may not be run; check its permissions", file=sys.stderr)
        return _NO_COMMAND
    with _in_foreground(process.pid), _passing_on(process):
        code = process.wait()
    return code if code >= 0 else _BY_SIGNAL - code


@contextmanager
def _passing_on(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    def forward(number: int, _frame: FrameType | None) -> None:
        process.send_signal(number)

    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _in_foreground(group: int) -> Iterator[None]:
    """Give the terminal, if there is one and it is ours, to the command, as a shell does."""
    terminal = _own_terminal()
    if terminal is None:
        yield
        return
    ignored = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        os.tcsetpgrp(terminal, group)
        os.killpg(group, signal.SIGCONT)  # it may have waited for the terminal already
        yield
    finally:
        os.tcsetpgrp(terminal, os.getpgrp())
        signal.signal(signal.SIGTTOU, ignored)


def _own_terminal() -> int | None:
    try:
        terminal = sys.stdin.fileno()
        return terminal if os.tcgetpgrp(terminal) == os.getpgrp() else None
    except (OSError, ValueError):
        return None
