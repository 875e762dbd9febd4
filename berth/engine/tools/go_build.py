"""`go build` of one program from its go.mod."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from berth.engine.tools.child import run_child
from berth.engine.tools.folders import put_in_place
from berth.engine.tools.program import Program, Recipe, ToolError, is_at_least


def built(folder: Path, name: str, recipe: Recipe) -> Program | None:
    """A program that an earlier run has built, or None."""
    path = folder / recipe.version / name
    if not path.is_file():
        return None
    return Program(
        name=name, version=recipe.version, path=path, origin="built", language_host=False
    )


def build(folder: Path, name: str, recipe: Recipe, module: Path) -> Program:
    """Build a program beside its place and move it there when it is whole.

    Args:
        folder: Holds all versions of the program.
        name: The program.
        recipe: Its entry of `programs.yaml`.
        module: The folder of its go.mod.

    Raises:
        ToolError: without Go, with one that is too old, or when the build fails.
    """
    go = find_go(name, recipe, wanted_go(module))
    partial = folder / ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        ended = run_child(
            [go, *build_arguments(recipe, partial / name)],
            doing=f"building {name} {recipe.version} with Go (minutes, once)",
            cwd=module,
            environment={**os.environ, "GOWORK": "off"},
        )
        if ended.exit_code != 0:
            raise failed_build(name, module, ended.last_lines)
        put_in_place(partial, folder / recipe.version)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    program = built(folder, name, recipe)
    if program is None:
        raise ToolError(f"{module}: go build made no {name}; correct its entry in programs.yaml")
    return program


def build_arguments(recipe: Recipe, output: Path) -> list[str]:
    """What `go` is given; the same for everybody, so that its build cache serves every checkout."""
    tags = ["-tags", recipe.tags] if recipe.tags else []
    ldflags = recipe.ldflags.format(version=recipe.version)
    fixed = ["build", "-v", "-mod=readonly", "-trimpath", "-buildvcs=false"]
    return [*fixed, *tags, "-ldflags", ldflags, "-o", str(output), recipe.package]


def wanted_go(module: Path) -> str:
    """The version on the `go` line of a go.mod."""
    text = (module / "go.mod").read_text("utf-8")
    found = re.search(r"^go (\S+)$", text, re.MULTILINE)
    if found is None:
        raise ToolError(f"{module / 'go.mod'}: no go line; add one, such as: go 1.26.6")
    return found[1]


def find_go(name: str, recipe: Recipe, wanted: str) -> str:
    """The `go` command, when it is there and new enough.

    Raises:
        ToolError: with what was found and what is wanted.
    """
    install = f"install Go {wanted} or newer"
    if recipe.if_missing:
        install = f"{recipe.if_missing} ({recipe.minimum} or newer), or {install}"
    go = shutil.which("go")
    if go is None:
        raise ToolError(
            f"{name}: not on the PATH, not downloaded, and no Go to build it; {install}"
        )
    found = go_version(go)
    if not is_at_least(found, wanted):
        raise ToolError(f"{name}: Go {found} found, {wanted} wanted to build it; {install}")
    return go


def go_version(go: str) -> str:
    """The version of a `go` command itself, not of a toolchain that it would fetch."""
    ran = subprocess.run(
        [go, "env", "GOVERSION"],
        env={**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"},
        cwd=Path(go).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout.strip().removeprefix("go") or "of unknown version"


def failed_build(name: str, module: Path, last_lines: list[str]) -> ToolError:
    """The line of a failed build that says why."""
    telling = [line for line in last_lines if not re.fullmatch(r"[\w./-]+", line)]
    reason = telling[-1] if telling else "no reason given"
    return ToolError(
        f"{name}: go build failed: {reason}; "
        f"run `go mod download` in {module} and look at what it says"
    )
