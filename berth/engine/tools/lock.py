"""One run at a time in a folder."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def only_one_run(folder: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the folder's lock; a second run says that it waits, and does.

    The lock is the operating system's, so it ends with the process that holds it.
    """
    with (folder / ".lock").open("w") as lock_file:
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"{folder.name}: waiting for another run")
            fcntl.flock(lock_file, fcntl.LOCK_EX)
        yield
