"""Programs that the user already has: on the PATH, new enough, and complete."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from berth.engine.tools.folders import berth_home
from berth.engine.tools.program import Program, Recipe, is_at_least, version_numbers

VERSION_LIMIT_S = 20.0


def find_on_path(name: str, recipe: Recipe) -> Program | None:
    """The first one on the PATH that can be used, or None.

    Pulumi's CLI counts only with its language host, beside it or on the PATH. What Berth itself
    made does not count, also when its folder is on the PATH.
    """
    if recipe.minimum is None:
        return None
    for path in executables_on_path(name):
        has_host = has_language_host(path)
        if name == "pulumi" and not has_host:
            continue
        version = version_of(path, recipe)
        if version is not None and is_at_least(version, recipe.minimum):
            return Program(
                name=name, version=version, path=path, origin="path", language_host=has_host
            )
    return None


def executables_on_path(name: str) -> Iterator[Path]:
    """Every executable of that name on the PATH, in its order, without those in Berth's folder."""
    own = berth_home().resolve()
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(entry or ".").absolute() / name
        if is_executable(path) and not path.resolve().is_relative_to(own):
            yield path


def is_executable(path: Path) -> bool:
    """Whether a file is there and may be started."""
    return path.is_file() and os.access(path, os.X_OK)


def has_language_host(pulumi: Path) -> bool:
    """Whether Pulumi's own host for Python comes with this CLI."""
    beside = pulumi.resolve().parent / "pulumi-language-python"
    on_path = next(executables_on_path("pulumi-language-python"), None)
    return is_executable(beside) or on_path is not None


def version_of(path: Path, recipe: Recipe) -> str | None:
    """What a program says its version is; None when it cannot be started or says none."""
    with tempfile.TemporaryDirectory(prefix="berth-") as folder:
        try:
            ran = subprocess.run(
                [path, *recipe.version_command],
                env={**os.environ, "PULUMI_HOME": folder, "PULUMI_SKIP_UPDATE_CHECK": "true"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=VERSION_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
            return None
    said = ran.stdout.strip()
    return said if ran.returncode == 0 and version_numbers(said) else None
