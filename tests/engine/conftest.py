"""Pulumi projects in folders of their own, run by the real CLI on a file backend."""

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from berth.engine.environment import engine_environment
from berth.engine.tools import Program, ToolError, find_or_make

ENGINE_LIMIT_S = 120


@pytest.fixture(scope="session")
def pulumi_cli() -> Program:
    """The CLI; without one the tests of the engine are skipped, with the reason."""
    try:
        return find_or_make("pulumi")
    except ToolError as error:
        pytest.skip(str(error))


@pytest.fixture
def engine_env(pulumi_cli: Program, tmp_path: Path) -> dict[str, str]:
    """The environment of a CLI that keeps everything below the test's own folder."""
    state = tmp_path / "state"
    state.mkdir()
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")},
        **engine_environment(pulumi_cli, offline=True),
        "PULUMI_HOME": str(tmp_path / "pulumi-home"),
        "PULUMI_BACKEND_URL": f"file://{state}",
        "PULUMI_CONFIG_PASSPHRASE": "only for tests",
    }


@dataclass(frozen=True)
class Project:
    """A Pulumi project with one stack, `dev`."""

    folder: Path
    environment: Mapping[str, str]
    cli: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the CLI in a session of its own, its output in one stream."""
        return subprocess.Popen(
            [self.cli, "--non-interactive", "--color=never", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def pulumi(self, *arguments: str) -> tuple[int, str]:
        """Run the CLI to its end; its exit code and everything that it printed."""
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=ENGINE_LIMIT_S)
        return process.returncode, output


MakeProject = Callable[[Mapping[str, str]], Project]


@pytest.fixture
def make_project(pulumi_cli: Program, engine_env: dict[str, str], tmp_path: Path) -> MakeProject:
    """Writes files into a new project; a Pulumi.yaml is added when there is none among them."""

    def make(files: Mapping[str, str]) -> Project:
        folder = tmp_path / "project"
        for name, text in {"Pulumi.yaml": "name: p\nruntime: python\n", **files}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
        project = Project(folder, engine_env, pulumi_cli.path)
        exit_code, output = project.pulumi("stack", "init", "dev")
        assert exit_code == 0, output
        return project

    return make
