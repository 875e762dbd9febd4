"""Which Python runs a program, and with what environment."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class NoInterpreterError(Exception):
    """The virtual environment that a project names is not there; the text is one line."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python, and the virtual environment that it belongs to, where one is named."""

    python: Path
    virtualenv: Path | None = None

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The environment of a child, with the virtual environment active as a shell would."""
        environment = {**inherited, "PYTHONUNBUFFERED": "1"}
        if self.virtualenv is not None:
            environment.pop("PYTHONHOME", None)
            environment["VIRTUAL_ENV"] = str(self.virtualenv)
            rest = environment.get("PATH", os.defpath)
            environment["PATH"] = f"{self.python.parent}{os.pathsep}{rest}"
        return environment


def choose_interpreter(options: Mapping[str, Any], root_directory: str) -> Interpreter:
    """The project's virtual environment, else the Python that runs this host.

    Args:
        options: `runtime.options` of Pulumi.yaml, PulumiPolicy.yaml or PulumiPlugin.yaml.
        root_directory: The folder of that file; a relative `virtualenv` starts there.

    Raises:
        NoInterpreterError: when the named environment holds no Python.
    """
    named = options.get("virtualenv")
    if not named:
        return Interpreter(Path(sys.executable))
    virtualenv = Path(root_directory, str(named)).expanduser()
    python = virtualenv / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.is_file():
        raise NoInterpreterError(
            f"runtime.options.virtualenv: {named} has no Python ({python}); "
            f"make it with `python3 -m venv {virtualenv}` and install the requirements there"
        )
    return Interpreter(python, virtualenv)
