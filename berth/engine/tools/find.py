"""The order in which a program is looked for: the user's own, made before, download, Go."""

from pathlib import Path

from berth.engine.tools import shims
from berth.engine.tools.child import tell
from berth.engine.tools.download import download, downloaded, sdk_version
from berth.engine.tools.folders import berth_home, program_folder, project_root, unwritable
from berth.engine.tools.go_build import build, built
from berth.engine.tools.installed import find_installed
from berth.engine.tools.lock import only_one_run
from berth.engine.tools.program import Program, Recipe, ToolError, recipe_for


def find_or_make(name: str) -> Program:
    """A program that can be started.

    One that the user has is taken as it is. Else it is downloaded or built once, into a folder
    keyed by its version; later runs find it there.

    Raises:
        ToolError: when it cannot be had; the text says what to install.
    """
    recipe = recipe_for(name)
    program = find_installed(name, recipe) or kept_or_made(name, recipe)
    if not recipe.on_shell_path:
        return program
    try:
        shims.prepare(program)
    except OSError as error:
        if program.origin not in ("path", "installed"):
            raise unwritable(shims.bin_folder(), error) from None
    return program


def look_for(name: str) -> Program | None:
    """A program that is there already; nothing is made.

    Raises:
        ToolError: when no program is called so.
    """
    recipe = recipe_for(name)
    folder = berth_home() / "tools" / name
    return find_installed(name, recipe) or kept(folder, name, recipe)


def kept_or_made(name: str, recipe: Recipe) -> Program:
    """The program from Berth's own folder, put there first when it is missing."""
    program = kept(berth_home() / "tools" / name, name, recipe)
    if program is not None:
        return program
    folder = program_folder(name)
    try:
        with only_one_run(folder, tell):
            return kept(folder, name, recipe) or make(folder, name, recipe)
    except OSError as error:
        raise unwritable(folder, error) from None


def kept(folder: Path, name: str, recipe: Recipe) -> Program | None:
    """What an earlier run has made, a download before a build."""
    wanted = sdk_version() if recipe.sdk_download else None
    from_download = downloaded(folder, name, wanted) if wanted else None
    return from_download or built(folder, name, recipe)


def make(folder: Path, name: str, recipe: Recipe) -> Program:
    """Download the program where the SDK can, else build it."""
    wanted = sdk_version() if recipe.sdk_download else None
    program = download(folder, name, wanted) if wanted else None
    if program is not None:
        return program
    root = project_root()
    if root is None:
        advice = recipe.if_missing or f"run this in a checkout of Berth, which can build {name}"
        raise ToolError(f"{name}: not on the PATH and not downloaded; {advice}")
    return build(folder, name, recipe, root / "tools" / (recipe.module or name))
