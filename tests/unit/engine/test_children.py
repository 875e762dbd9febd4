"""No child outlives the language host."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from berth.engine.language_host import children as children_module
from berth.engine.language_host.children import Children


def start(children: Children, code: str) -> subprocess.Popen[bytes]:
    """A Python child that has run its code up to the line it prints."""
    child = children.start(
        [sys.executable, "-u", "-c", code],
        cwd="",
        environment=os.environ,
        output=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    return child


def close(child: subprocess.Popen[bytes]) -> None:
    for stream in (child.stdout, child.stderr):
        if stream:
            stream.close()


def test_the_exit_code_is_passed_on() -> None:
    children = Children()
    child = start(children, "print(); raise SystemExit(3)")

    assert children.wait(child) == 3
    close(child)


def test_ctrl_c_reaches_the_child(tmp_path: Path) -> None:
    children = Children()
    code = (
        "import sys, time, pathlib\n"
        "try:\n print(); time.sleep(600)\n"
        f"except KeyboardInterrupt: pathlib.Path({str(tmp_path / 'seen')!r}).touch()"
    )
    child = start(children, code)

    children.interrupt()

    assert children.wait(child) is None
    assert (tmp_path / "seen").exists()
    close(child)


def test_a_child_that_ignores_ctrl_c_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children_module, "INTERRUPT_GRACE_S", 0.1)
    children = Children()
    code = (
        "import signal, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN); print(); time.sleep(600)"
    )
    child = start(children, code)

    children.interrupt()
    children.wait(child)

    assert child.returncode == -signal.SIGKILL
    close(child)


def test_what_a_child_leaves_running_ends_with_it() -> None:
    children = Children()
    code = (
        "import subprocess\np = subprocess.Popen(['sleep', '600'], stdin=subprocess.PIPE); print()"
    )
    child = start(children, code)

    waiter = threading.Thread(target=children.wait, args=(child,))
    waiter.start()
    assert child.stdout is not None
    rest = child.stdout.read()  # ends only when nobody holds the other end any more
    waiter.join()

    assert rest == b""
    close(child)


def test_no_child_is_started_once_the_host_is_ending() -> None:
    children = Children()
    children.end()

    with pytest.raises(ChildProcessError, match="the language host is ending"):
        start(children, "")
