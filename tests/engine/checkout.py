"""A copy of the program to change and run, and the engine runs that tests make of it."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from berth.engine.environment import engine_environment
from berth.engine.tools import Program
from berth.offline.workspace import copy_workspace

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("__main__.py", "Pulumi.yaml", "berth", "components", "policies", "stacks")


def copy_checkout(folder: Path) -> Path:
    """The program as a person would copy it, with this checkout's Python environment."""
    folder.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, folder / name)
    (folder / ".venv").symlink_to(Path(sys.prefix))
    return folder


def edit(path: Path, old: str, new: str) -> None:
    """Change one place of a file; the place must exist exactly once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path.name}: {text.count(old)} places of {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def berth(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the `berth` command in a folder, as a person does."""
    environment = {**os.environ, "BERTH_HOME": str(ROOT / ".berth")}
    return subprocess.run(
        [sys.executable, "-m", "berth", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@dataclass(frozen=True, slots=True)
class OfflineStack:
    """One stack on a pretended cloud of its own, driven with the Pulumi CLI by hand."""

    pulumi: Program
    checkout: Path
    state: Path
    stack: str

    def make(self) -> "OfflineStack":
        """Write the workspace and make the stack in it."""
        stack_file = self.checkout / "stacks" / f"Pulumi.{self.stack}.yaml"
        copy_workspace(self.checkout, stack_file, self.work_dir)
        self.run("stack", "init", self.stack)
        return self

    @property
    def work_dir(self) -> Path:
        """Where Pulumi.yaml and the stack file are."""
        return self.state / "work"

    @property
    def stack_file(self) -> Path:
        """The copy of the stack file, which a test may change."""
        return self.work_dir / f"Pulumi.{self.stack}.yaml"

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run one command of the CLI; its output, both streams."""
        command = [sys.executable, "-m", "berth.offline", "--state", str(self.state), "--"]
        ended = subprocess.run(
            [*command, "pulumi", "--non-interactive", "--color", "never", *arguments],
            cwd=self.work_dir,
            env={**os.environ, **engine_environment(self.pulumi, offline=True)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=240,
            check=False,
        )
        assert ended.returncode == code, ended.stdout
        return ended.stdout

    def exported(self) -> dict[str, Any]:
        """The whole state, as `pulumi stack export` writes it."""
        state: dict[str, Any] = json.loads(self.run("stack", "export"))
        return state

    def change_summary(self, *arguments: str) -> dict[str, int]:
        """How many resources a preview would create, update, replace, delete or keep."""
        out = self.run("preview", "--json", *arguments)
        document: dict[str, Any] = json.loads(out[out.index("{") :])
        summary: dict[str, int] = document["changeSummary"]
        return summary
