"""How the engine's requests become command lines, and exit codes answers."""

import sys
from pathlib import Path

import pytest
from pulumi.runtime.proto import language_pb2

from berth.engine.language_host import service
from berth.engine.language_host.interpreter import Interpreter

PYTHON = Interpreter(Path(sys.executable))
INFO = language_pb2.ProgramInfo(
    root_directory="/project", program_directory="/project/pack", entry_point="."
)


@pytest.mark.parametrize(
    ("exit_code", "error", "bail"),
    [
        pytest.param(0, "", False, id="fine"),
        pytest.param(32, "", True, id="already-shown"),
        pytest.param(None, "", True, id="interrupted"),
        pytest.param(3, "Program exited with non-zero exit code: 3", False, id="other"),
        pytest.param(-9, "Program was ended by SIGKILL", False, id="killed"),
    ],
)
def test_outcome(exit_code: int | None, error: str, bail: bool) -> None:
    answer = service.outcome(exit_code)

    assert (answer.error, answer.bail) == (error, bail)


def test_a_policy_pack_runs_in_its_own_folder_with_the_sdks_runner() -> None:
    request = language_pb2.RunPluginRequest(
        kind="analyzer", pwd="/project", args=["127.0.0.1:5", "-v=3"], info=INFO
    )

    command = service.plugin_command(PYTHON, request)

    assert command == [
        *[sys.executable, "-u", "-m", "pulumi.policy"],
        *["127.0.0.1:5", "/project/pack", "-v=3"],
    ]
    assert service.plugin_folder(request) == "/project/pack"


def test_a_component_provider_runs_where_the_engine_says() -> None:
    request = language_pb2.RunPluginRequest(
        kind="resource", pwd="/project", args=["127.0.0.1:5"], info=INFO
    )

    command = service.plugin_command(PYTHON, request)

    assert command == [sys.executable, "-u", "/project/pack", "127.0.0.1:5"]
    assert service.plugin_folder(request) == "/project"


def test_configuration_is_not_on_the_command_line() -> None:
    request = language_pb2.RunRequest(
        info=INFO, config={"p:password": "hush"}, configSecretKeys=["p:password"]
    )

    command = service.program_command(PYTHON, request, "127.0.0.1:5")
    environment = service.program_environment(PYTHON, request)

    assert "hush" not in " ".join(command)
    assert environment["PULUMI_CONFIG"] == '{"p:password": "hush"}'
    assert environment["PULUMI_CONFIG_SECRET_KEYS"] == '["p:password"]'
