"""The language host beside a CLI without one, and the folder for a person's PATH."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from berth.engine.environment import engine_environment
from berth.engine.interruptible import InterruptibleCommand
from berth.engine.tools import shims
from berth.engine.tools.program import Program


def a_pulumi(folder: Path, *, language_host: bool) -> Program:
    folder.mkdir()
    path = folder / "pulumi"
    path.touch(0o755)
    return Program(
        name="pulumi",
        version="v3.274.1",
        path=path,
        origin="built",
        language_host=language_host,
    )


def test_the_shim_becomes_the_interpreter_that_runs_now() -> None:
    assert shims.shim_text("/a b/python") == (
        "#!/bin/sh\nexec '/a b/python' -P -m berth.engine.language_host \"$@\"\n"
    )


def test_a_cli_without_a_host_gets_ours_beside_it(tmp_path: Path, home: Path) -> None:
    program = a_pulumi(tmp_path / "built", language_host=False)

    shims.prepare(program)

    host = program.path.parent / "pulumi-language-python"
    assert host.read_text("utf-8") == shims.shim_text(sys.executable)
    assert os.access(host, os.X_OK)
    assert (home / "bin" / "pulumi").readlink() == program.path
    assert (home / "bin" / "pulumi-language-python").readlink() == host


def test_a_cli_with_a_host_keeps_its_own(tmp_path: Path, home: Path) -> None:
    program = a_pulumi(tmp_path / "official", language_host=True)
    own = program.path.parent / "pulumi-language-python"
    own.write_text("its own", "utf-8")

    shims.prepare(program)

    assert own.read_text("utf-8") == "its own"
    assert (home / "bin" / "pulumi-language-python").readlink() == own


def test_links_follow_the_program_of_the_last_run(tmp_path: Path, home: Path) -> None:
    shims.prepare(a_pulumi(tmp_path / "built", language_host=False))
    official = a_pulumi(tmp_path / "official", language_host=True)

    shims.prepare(official)

    assert sorted(path.name for path in (home / "bin").iterdir()) == ["pulumi"]
    assert (home / "bin" / "pulumi").readlink() == official.path


def test_the_shim_ends_without_a_traceback_when_nobody_said_where_the_engine_is() -> None:
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "berth.engine.language_host"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 2
    assert ran.stderr == "berth language host: started without the engine's address\n"


@pytest.mark.parametrize(
    ("language_host", "offline", "expected"),
    [(True, False, None), (True, True, "true"), (False, False, "true")],
)
def test_plugins_are_fetched_only_for_pulumis_own_host_and_online(
    tmp_path: Path, language_host: bool, offline: bool, expected: str | None
) -> None:
    program = a_pulumi(tmp_path / "cli", language_host=language_host)

    environment = engine_environment(program, offline=offline)

    assert environment.get("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION") == expected
    assert environment["PATH"].split(os.pathsep)[0] == str(tmp_path / "cli")
    assert environment["PULUMI_SKIP_UPDATE_CHECK"] == "true"


def test_a_program_from_the_path_leaves_the_path_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = replace(a_pulumi(tmp_path / "cli", language_host=True), origin="path")
    monkeypatch.setenv("PATH", "/project/.venv/bin:/usr/bin")

    assert engine_environment(program)["PATH"] == "/project/.venv/bin:/usr/bin"


def test_the_automation_command_starts_the_program_that_was_found(tmp_path: Path) -> None:
    program = a_pulumi(tmp_path / "cli", language_host=False)

    command = InterruptibleCommand(program)

    assert command.command == str(program.path)
    assert str(command.version) == "3.274.1"
