"""A project as it was at a revision of git, in a folder of its own."""

import io
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


class RevisionError(LookupError):
    """The revision cannot be had; the text says why and what to do."""


def merge_base(project: Path, revision: str) -> str:
    """The commit at which the work in `project` left `revision`, as a pull request shows it.

    Raises:
        RevisionError: if git has no such revision, or no commit that both share.
    """
    commit = _git(project, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    if isinstance(commit, str):
        raise RevisionError(f"{revision}: no revision that git has ({commit}); fetch it")
    shared = _git(project, "merge-base", commit.decode().strip(), "HEAD")
    if isinstance(shared, str):
        raise RevisionError(
            f"{revision}: shares no commit with the work here; fetch the history of both "
            "(a checkout of one commit has none)"
        )
    return shared.decode().strip()


@contextmanager
def project_at(project: Path, commit: str) -> Iterator[Path]:
    """The files of the project's folder at `commit`, until the block ends.

    Raises:
        RevisionError: if the folder was not there.
    """
    archive = _git(project, "archive", "--format=tar", commit, "--", ".")
    if isinstance(archive, str):
        raise RevisionError(
            f"{commit[:12]}: has no folder {project.name} ({archive}); name a later revision"
        )
    with TemporaryDirectory(prefix="berth-base-", ignore_cleanup_errors=True) as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)


def _git(folder: Path, *words: str) -> bytes | str:
    """What git prints; a text, its own words, if it refuses."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise RevisionError("git: not found; install it, or give two files instead") from None
    if done.returncode == 0:
        return done.stdout
    return " ".join(done.stderr.decode(errors="replace").split()) or "it does not say why"
