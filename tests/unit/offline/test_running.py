"""Environment, stack files and commands of a run offline."""

import sys
from pathlib import Path

import pytest

from berth.offline.__main__ import main
from berth.offline.environment import offline_environment
from berth.offline.providers import OfflineProviders
from berth.offline.stack_files import find_project_dir, without_salt

STACK = "# the author's words\nconfig:\n  aws:region: us-east-1\n  p:day: 2026-11-30\n"
SALT = "encryptionsalt: v1:abc=:v1:def\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "Pulumi.yaml").write_text("name: p\nruntime: python\nstackConfigDir: stacks\n")
    (tmp_path / "stacks" / "Pulumi.dev.yaml").write_text(STACK)
    return tmp_path


def test_the_environment_keeps_everything_below_the_state_folder(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with OfflineProviders(state) as providers:
        environment = offline_environment(state, providers)

    assert environment["PULUMI_BACKEND_URL"] == f"file://{state}/backend"
    assert environment["PULUMI_HOME"] == f"{state}/home"
    assert environment["PULUMI_DEBUG_PROVIDERS"].startswith("aws:")
    assert ",kubernetes:" in environment["PULUMI_DEBUG_PROVIDERS"]
    assert environment["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] == "true"
    assert "PULUMI_DEBUG_PROVIDERS" not in offline_environment(state)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        pytest.param(SALT + STACK, STACK, id="salt-alone"),
        pytest.param(
            "config:\n  p:day: 2026-11-30 00:00:00 +0000 UTC\n  aws:region: us-east-1\n" + SALT,
            STACK,
            id="salt-and-written-anew",
        ),
        pytest.param(
            STACK + "  p:x: 1\n" + SALT, STACK + "  p:x: 1\n" + SALT, id="salt-and-a-setting"
        ),
    ],
)
def test_a_salt_is_taken_out_of_a_stack_file(project: Path, written: str, kept: str) -> None:
    stack_file = project / "stacks" / "Pulumi.dev.yaml"
    with without_salt(project):
        stack_file.write_text(written)

    assert stack_file.read_text() == kept


def test_a_stack_file_that_is_only_a_salt_goes(project: Path) -> None:
    with without_salt(project):
        (project / "Pulumi.new.yaml").write_text(SALT)

    assert not (project / "Pulumi.new.yaml").exists()


def test_a_salt_of_the_authors_stays(project: Path) -> None:
    stack_file = project / "stacks" / "Pulumi.dev.yaml"
    stack_file.write_text(STACK + SALT)
    with without_salt(project):
        pass

    assert stack_file.read_text() == STACK + SALT


def test_the_project_is_found_from_inside(project: Path) -> None:
    assert find_project_dir(project / "stacks") == project
    assert find_project_dir(Path("/")) is None


def test_the_command_has_the_last_word(tmp_path: Path) -> None:
    state = ["--state", str(tmp_path / "state"), "--"]

    assert main([*state, sys.executable, "-c", "raise SystemExit(3)"]) == 3
    assert main([*state, sys.executable, "-c", "import os; os.kill(os.getpid(), 15)"]) == 143


def test_a_command_that_does_not_exist(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--state", str(tmp_path), "--", "no-such-command"]) == 2
    assert "no-such-command: no such command" in capfd.readouterr().err


def test_a_state_folder_that_cannot_be_made(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")

    assert main(["--state", str(tmp_path / "file" / "state"), "--", "true"]) == 2
    assert "name another folder with --state" in capfd.readouterr().err
