"""Progress of a preview, shown on a terminal only and gone afterwards."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status

from berth.engine.preview import EnginePreview


class PreviewProgress:
    """A line on standard error that counts resources while the engine works."""

    def __init__(self, stack: str) -> None:
        self._stack = stack
        self._started_s = time.monotonic()
        self._status: Status | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._status = Console(stderr=True).status(f"previewing {self._stack}")
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status:
            self._status.stop()

    def show(self, preview: EnginePreview) -> None:
        """Count what has come so far and name the latest resource."""
        if self._status is None:
            return
        latest = f", {preview.resources[-1].name}" if preview.resources else ""
        elapsed_s = time.monotonic() - self._started_s
        self._status.update(
            f"previewing {self._stack}: {len(preview.resources)} resources, "
            f"{len(preview.policies)} findings, {elapsed_s:.0f} s{latest}"
        )
