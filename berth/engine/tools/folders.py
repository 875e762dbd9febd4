"""Where programs are kept."""

import os
import shutil
from pathlib import Path

import berth
from berth.engine.tools.program import ToolError


def project_root() -> Path | None:
    """The checkout of Berth around the current folder, else the one this package runs from.

    None when Berth was installed as a wheel and the current folder is somebody else's.
    """
    package = Path(berth.__file__).resolve().parent
    starts = [Path.cwd(), package]
    candidates = [folder for start in starts for folder in (start, *start.parents)]
    return next((folder for folder in candidates if is_checkout(folder)), None)


def is_checkout(folder: Path) -> bool:
    """Whether this is the top of a checkout of Berth."""
    return (folder / "tools" / "pulumi" / "go.mod").is_file() and (folder / "berth").is_dir()


def berth_home() -> Path:
    """The one folder for everything that Berth makes; safe to remove."""
    override = os.environ.get("BERTH_HOME")
    if override:
        return Path(override).absolute()
    root = project_root()
    if root is not None:
        return root / ".berth"
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "berth"


def program_folder(name: str) -> Path:
    """The folder that holds every version of one program, made when missing.

    Raises:
        ToolError: when it cannot be made or written to.
    """
    folder = berth_home() / "tools" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    if not os.access(folder, os.W_OK):
        raise unwritable(folder, PermissionError(13, "permission denied"))
    return folder


def put_in_place(partial: Path, target: Path) -> None:
    """Move a finished folder to its place at once; what is left of an older one goes first."""
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)


def unwritable(folder: Path, error: OSError) -> ToolError:
    """What to say about a folder that programs cannot be put in."""
    reason = (error.strerror or str(error)).lower()
    return ToolError(f"{folder}: {reason}; set BERTH_HOME to a folder that can be written to")
