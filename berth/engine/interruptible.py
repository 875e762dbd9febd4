"""The Pulumi CLI as the Automation API calls it, but ended cleanly by an interrupt."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import IO

from pulumi.automation import CommandResult, PulumiCommand
from pulumi.automation.errors import create_command_error
from semver import VersionInfo

from berth.engine import bound as bound_script
from berth.engine.tools import Program

_GRACE_S = 15
"""How long the engine may take to end its plugins after an interrupt."""


class InterruptibleCommand(PulumiCommand):
    """Runs the CLI in a session of its own and passes an interrupt on exactly once.

    The stock class leaves the engine running when only its parent is interrupted, and sends it
    two interrupts, which makes it give up its own clean-up, when a terminal sends one to both.
    """

    def __init__(self, program: Program, *, bound: bool = False) -> None:
        """Take a CLI that was found; the stock class insists on ROOT/bin and asks for a version.

        Args:
            program: the CLI.
            bound: it is also interrupted when this process ends without a word (Linux).
        """
        self.command = str(program.path)
        self._prefix = [sys.executable, "-I", bound_script.__file__] if bound else []
        self.version = VersionInfo.parse(program.version.removeprefix("v"))

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Callable[[str], object] | None = None,
        on_error: Callable[[str], object] | None = None,
    ) -> CommandResult:
        """Run one command to its end.

        Raises:
            CommandError: if it fails.
            KeyboardInterrupt: after the engine and its plugins have ended.
        """
        process = subprocess.Popen(
            [*self._prefix, self.command, "--non-interactive", *args],
            cwd=cwd,
            env={**os.environ, **additional_env, "PULUMI_AUTOMATION_API": "true"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        readers = [_Reader(process.stdout, on_output), _Reader(process.stderr, on_error)]
        try:
            code = process.wait()
        except BaseException:
            _end(process)
            raise
        finally:
            for reader in readers:
                reader.join()
        result = CommandResult(stdout=readers[0].text, stderr=readers[1].text, code=code)
        if code != 0:
            raise create_command_error(result)
        return result


class _Reader(threading.Thread):
    """Collects the lines of one stream."""

    def __init__(self, stream: IO[str] | None, on_line: Callable[[str], object] | None) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._on_line = on_line
        self._lines: list[str] = []
        self.start()

    def run(self) -> None:
        assert self._stream is not None, "started without a pipe"
        with self._stream as lines:
            for line in lines:
                self._lines.append(line.rstrip())
                if self._on_line:
                    self._on_line(self._lines[-1])

    @property
    def text(self) -> str:
        return "\n".join(self._lines)


def _end(process: subprocess.Popen[str]) -> None:
    """Ask the engine to end; after the grace end it and all it started."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
