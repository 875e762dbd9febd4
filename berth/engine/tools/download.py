"""Pulumi's own download of its CLI, through the Python SDK.

The SDK's download has no time limit, so it runs in a process of its own that has one.
"""

import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from berth.engine.tools.child import run_child, tell
from berth.engine.tools.folders import put_in_place
from berth.engine.tools.program import Program

CONNECT_LIMIT_S = 10
DOWNLOAD_LIMIT_S = 300.0

INSTALL = """
import socket, sys
socket.setdefaulttimeout(float(sys.argv[2]))
from pulumi.automation import PulumiCommand
try:
    PulumiCommand.install(root=sys.argv[1])
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""

_failed: set[Path] = set()


def sdk_version() -> str | None:
    """The version of the CLI that the installed SDK would download, with a leading v."""
    try:
        return f"v{version('pulumi')}"
    except PackageNotFoundError:
        return None


def downloaded(folder: Path, name: str, wanted: str) -> Program | None:
    """A CLI that an earlier run has downloaded, or None."""
    path = folder / wanted / "bin" / name
    if not path.is_file():
        return None
    return Program(name=name, version=wanted, path=path, origin="download", language_host=True)


def download(folder: Path, name: str, wanted: str) -> Program | None:
    """The CLI, downloaded now; None when that is not possible, which is tried once per run."""
    if folder in _failed:
        return None
    partial = folder / ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    command = [sys.executable, "-P", "-c", INSTALL, str(partial), str(CONNECT_LIMIT_S)]
    try:
        ended = run_child(command, doing=f"downloading {name} {wanted}", limit_s=DOWNLOAD_LIMIT_S)
        if ended.exit_code == 0 and (partial / "bin" / name).is_file():
            put_in_place(partial, folder / wanted)
            return downloaded(folder, name, wanted)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    _failed.add(folder)
    reason = ended.last_lines[-1] if ended.last_lines else f"no answer in {DOWNLOAD_LIMIT_S:.0f} s"
    tell(f"{name}: not downloaded ({reason[:120]})")
    return None
