"""The CLI as a child: its output, its failure, and its end on an interrupt."""

import os
import signal
import threading
from pathlib import Path

import pytest
from pulumi.automation.errors import CommandError

from berth.engine.interruptible import InterruptibleCommand
from berth.engine.tools import Program


def a_command(folder: Path, script: str) -> InterruptibleCommand:
    path = folder / "pulumi"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return InterruptibleCommand(
        Program(name="pulumi", version="v3.274.1", path=path, origin="path", language_host=True)
    )


def test_output_is_handed_on_line_by_line(tmp_path: Path) -> None:
    lines: list[str] = []

    result = a_command(tmp_path, 'echo "$@"; echo two; echo no >&2').run(
        ["preview"], str(tmp_path), {}, lines.append
    )

    assert lines == ["--non-interactive preview", "two"]
    assert (result.stdout, result.stderr) == ("--non-interactive preview\ntwo", "no")


def test_a_failure_is_an_error_with_what_was_said(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="error: no such stack"):
        a_command(tmp_path, 'echo "error: no such stack" >&2; exit 255').run([], str(tmp_path), {})


def test_an_interrupt_reaches_the_child_and_waits_for_its_end(tmp_path: Path) -> None:
    script = """
trap 'sleep 0.3; echo cleaned > cleaned; exit 1' INT
echo ready
while :; do sleep 0.05; done"""
    command = a_command(tmp_path, script)

    def interrupt(_line: str) -> None:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        command.run([], str(tmp_path), {}, interrupt)

    assert (tmp_path / "cleaned").read_text(encoding="utf-8") == "cleaned\n"
