"""Programs that the user already has: found where they belong, new enough, and complete."""

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from berth.engine.tools.folders import berth_home
from berth.engine.tools.program import (
    Origin,
    Program,
    Recipe,
    Search,
    is_at_least,
    version_numbers,
)

VERSION_LIMIT_S = 20.0


def find_installed(name: str, recipe: Recipe) -> Program | None:
    """The first one of the user's own that can be used, or None.

    Pulumi's CLI counts only with its language host, beside it or on the PATH. What Berth itself
    made does not count, also when its folder is on the PATH.
    """
    if recipe.search is None or recipe.minimum is None:
        return None
    for path in PLACES[recipe.search](name):
        has_host = name == "pulumi" and has_language_host(path)
        if name == "pulumi" and not has_host:
            continue
        version = plugin_version(path) if is_plugin(recipe) else version_of(path, recipe)
        if version is not None and is_at_least(version, recipe.minimum):
            origin: Origin = "path" if recipe.search == "path" else "installed"
            return Program(
                name=name, version=version, path=path, origin=origin, language_host=has_host
            )
    return None


def is_plugin(recipe: Recipe) -> bool:
    """Whether the version of a program stands in the name of its folder."""
    return recipe.search == "pulumi_plugins"


def plugin_version(path: Path) -> str:
    """The version of `resource-NAME-vX.Y.Z/pulumi-resource-NAME`."""
    return path.parent.name.rpartition("-v")[2]


def executables_on_path(name: str) -> Iterator[Path]:
    """Every executable of that name on the PATH, in its order, without those in Berth's folder."""
    own = berth_home().resolve()
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(entry or ".").absolute() / name
        if is_executable(path) and not path.resolve().is_relative_to(own):
            yield path


def executables_in_assets(name: str) -> Iterator[Path]:
    """The one in the folder that tests of Kubernetes controllers name, where it is named."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if folder and is_executable(Path(folder).absolute() / name):
        yield Path(folder).absolute() / name


def pulumi_plugins(name: str) -> Iterator[Path]:
    """Every installed version of a plugin, the newest first."""
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    folders = home.glob(f"plugins/{name.removeprefix('pulumi-')}-v*")
    found = [folder / name for folder in folders if is_executable(folder / name)]
    yield from sorted(
        found, key=lambda path: version_numbers(plugin_version(path)) or (0, 0, 0), reverse=True
    )


PLACES: Final[Mapping[Search, Callable[[str], Iterator[Path]]]] = {
    "path": executables_on_path,
    "kubebuilder_assets": executables_in_assets,
    "pulumi_plugins": pulumi_plugins,
}


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
    said = re.search(r"v?\d+\.\d+\S*", ran.stdout)
    return said[0] if ran.returncode == 0 and said else None
