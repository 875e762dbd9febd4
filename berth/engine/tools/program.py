"""What a program is, how one is made (`programs.yaml`), and the error when it cannot be had."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter
from yaml import safe_load

Origin = Literal["path", "installed", "download", "built"]
"""`installed`: from another folder in which the user keeps programs of this kind."""

Search = Literal["path", "kubebuilder_assets", "pulumi_plugins"]


class ToolError(Exception):
    """A program that cannot be had; the text is one line that says what to install or change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """An executable that is there and can be started."""

    name: str
    version: str
    path: Path
    origin: Origin
    language_host: bool
    """Whether it came with Pulumi's own host for Python programs."""


class Recipe(BaseModel):
    """One entry of `programs.yaml`; the file says what each key means."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    module: str = ""
    package: str
    ldflags: str = "-s -w"
    tags: str = ""
    version_command: tuple[str, ...] = ()
    minimum: str | None = None
    search: Search | None = None
    sdk_download: bool = False
    on_shell_path: bool = True
    if_missing: str = ""


@cache
def load_recipes() -> dict[str, Recipe]:
    """Every program by name."""
    text = files("berth.engine.tools").joinpath("programs.yaml").read_text("utf-8")
    return TypeAdapter(dict[str, Recipe]).validate_python(safe_load(text))


def program_names() -> list[str]:
    """The names that `find_or_make` knows, in the order of their building."""
    return list(load_recipes())


def recipe_for(name: str) -> Recipe:
    """The entry of one program.

    Raises:
        ToolError: when there is no such entry.
    """
    recipes = load_recipes()
    if name not in recipes:
        raise ToolError(f"{name}: no such program; known are {', '.join(sorted(recipes))}")
    return recipes[name]


def version_numbers(text: str) -> tuple[int, int, int] | None:
    """The first three numbers of a version such as `v3.274.1`, `go1.26` or `3.9.0-alpha.1`."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def is_at_least(found: str, wanted: str) -> bool:
    """Whether a version is the wanted one or newer; one that cannot be read is older."""
    have, want = version_numbers(found), version_numbers(wanted)
    return have is not None and want is not None and have >= want
