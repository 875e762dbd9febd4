"""One control plane for one run: started in seconds, in its own folder, on its own ports."""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from berth.engine.tools import berth_home, find_or_make
from berth.rehearsal import keeper as keeper_script
from berth.rehearsal.api import Api
from berth.rehearsal.commands import Ports, first_programs, later_programs
from berth.rehearsal.credentials import (
    kubeconfig,
    new_signing_key,
    new_token,
    token_file,
    write_private,
)
from berth.rehearsal.leftovers import sweep
from berth.rehearsal.stages import stages_document

PROGRAMS: Final = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kwok")
READY_LIMIT_S: Final = 60.0
ATTEMPTS: Final = 3
"""A free port may be taken by somebody else before it is used."""
LOOK_S: Final = 0.05
TAKEN: Final = "address already in use"
FULL: Final = "no space left on device"


class RehearsalError(Exception):
    """A rehearsal that cannot be held; the text is one line that says what to change."""


class _PortTakenError(Exception):
    """One of the ports was taken in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the nodes and pods of a control plane behave."""

    parent: Path | None = None
    """Folder that holds the folders of all control planes; None: Berth's own."""
    ready_after_ms: Mapping[str, int] | None = None
    """How long the pods of each model server take from their start until they are ready."""
    speed: float = 1.0
    """How many times faster than in life that is."""
    context: str = "berth-rehearsal"
    """Name of the one context of the kubeconfig."""


class ControlPlane:
    """A private Kubernetes control plane, alive inside the block and gone after it."""

    folder: Path
    server: str
    token: str
    certificate: bytes
    """Of the API server, as PEM; it is its own authority."""

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or Options()
        self._keeper: subprocess.Popen[bytes] | None = None
        self._api: Api | None = None

    def __enter__(self) -> Self:
        refuse_elsewhere()
        parent = self._options.parent or rehearsals_folder()
        sweep(parent)
        programs = {name: find_or_make(name).path for name in PROGRAMS}
        try:
            for attempt in range(ATTEMPTS):
                try:
                    self._start(parent, programs)
                    return self
                except _PortTakenError as error:
                    self.end()
                    if attempt == ATTEMPTS - 1:
                        raise RehearsalError(
                            f"control plane: {error} was taken by another program {ATTEMPTS} times "
                            "while it started; run it again"
                        ) from None
        except OSError as error:
            self.end()
            reason = (error.strerror or str(error)).lower()
            raise RehearsalError(
                f"{parent}: {reason}; free some space there, or set BERTH_HOME to another folder"
            ) from None
        except BaseException:
            self.end()
            raise
        raise AssertionError("every attempt returns or raises")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    @property
    def api(self) -> Api:
        """A client of its API server."""
        assert self._api is not None, "not started"
        return self._api

    @property
    def kubeconfig(self) -> Path:
        """A file that kubectl and Pulumi read."""
        return self.folder / "kubeconfig"

    @property
    def keeper_id(self) -> int:
        """The process whose end ends everything."""
        assert self._keeper is not None, "not started"
        return self._keeper.pid

    def end(self) -> None:
        """End all processes and remove the folder; the keeper does both."""
        if self._api is not None:
            self._api.close()
        if self._keeper is None:
            return
        assert self._keeper.stdin is not None
        with contextlib.suppress(OSError):
            self._keeper.stdin.close()
        self._keeper.wait()
        self._keeper = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def keep(self) -> None:
        """Leave it running when this process ends; SIGTERM to the keeper ends it."""
        self._tell({"keep": True})
        deadline = time.monotonic() + READY_LIMIT_S
        while not self.noted().get("kept") and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        assert self._keeper is not None, "not started"
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.returncode = 0  # nobody waits for it
        self._keeper = None

    def noted(self) -> dict[str, Any]:
        """What the keeper has written down about its processes."""
        try:
            document: dict[str, Any] = json.loads(
                (self.folder / keeper_script.PROCESSES).read_text("utf-8")
            )
        except (OSError, ValueError):
            return {}
        return document

    def _start(self, parent: Path, programs: Mapping[str, Path]) -> None:
        self.folder, lock = _new_folder(parent)
        try:
            (self.folder / "logs").mkdir()
            with (self.folder / "logs" / "keeper.log").open("ab") as log:
                self._keeper = subprocess.Popen(
                    [sys.executable, "-I", keeper_script.__file__, str(self.folder)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    start_new_session=True,
                    pass_fds=(lock,),
                )
        finally:
            os.close(lock)
        ports = Ports(*_free_ports(3))
        self.server = f"https://127.0.0.1:{ports.api}"
        self.token = new_token()
        write_private(self.folder / "tokens.csv", token_file(self.token))
        write_private(self.folder / "signing.key", new_signing_key())
        stages = stages_document(self._options.ready_after_ms or {}, self._options.speed)
        (self.folder / "stages.yaml").write_text(stages, "utf-8")
        self._tell({"start": first_programs(programs, self.folder, ports)})
        self._wait_until_ready(ports)
        self._tell({"start": later_programs(programs, self.folder)})

    def _wait_until_ready(self, ports: Ports) -> None:
        certificate = self.folder / "certificates" / "apiserver.crt"
        api: Api | None = None
        deadline = time.monotonic() + READY_LIMIT_S
        while time.monotonic() < deadline:
            if api is None and certificate.is_file() and b"END" in certificate.read_bytes():
                self.certificate = certificate.read_bytes()
                api = self._api = Api(self.server, self.certificate, self.token)
            if api is not None and api.is_ready():
                context = self._options.context
                text = kubeconfig(self.server, self.certificate, self.token, context)
                write_private(self.kubeconfig, text)
                return
            for name in self.noted().get("ended", ()):
                raise self._explained(name, ports)
            time.sleep(LOOK_S)
        raise RehearsalError(
            f"control plane: not ready after {READY_LIMIT_S:.0f} s; "
            "run it again when the machine has less to do"
        )

    def _explained(self, name: str, ports: Ports) -> Exception:
        """Why a program ended that should run."""
        log = self.folder / "logs" / f"{name}.log"
        lines = log.read_text("utf-8", errors="replace").splitlines() if log.is_file() else []
        if any(TAKEN in line for line in lines):
            taken = next((port for port in ports if any(str(port) in line for line in lines)), "")
            return _PortTakenError(f"port {taken}")
        if any(FULL in line for line in lines):
            return OSError(28, FULL)
        said = next((line for line in reversed(lines) if line.strip()), "it said nothing")
        return RehearsalError(f"control plane: {name} ended ({said.strip()[:200]}); run it again")

    def _tell(self, command: Mapping[str, Any]) -> None:
        assert self._keeper is not None, "not started"
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(json.dumps(command).encode() + b"\n")
        self._keeper.stdin.flush()


def rehearsals_folder() -> Path:
    """The folder that holds a folder for each control plane."""
    return berth_home() / "rehearsals"


def refuse_elsewhere() -> None:
    """A control plane needs Linux, which alone tells a process of its parent's end."""
    if sys.platform != "linux":
        raise RehearsalError(
            f"control plane: it runs on Linux only, and this is {sys.platform}; "
            "run it on a Linux machine or in CI"
        )


def _new_folder(parent: Path) -> tuple[Path, int]:
    """A folder, and its lock as a file descriptor."""
    folder = parent / secrets.token_hex(4)
    folder.mkdir(parents=True, mode=0o700)
    lock = os.open(folder / keeper_script.LOCK, os.O_WRONLY | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock


def _free_ports(count: int) -> Sequence[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
