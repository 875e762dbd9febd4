"""What `berth tools` prints."""

import argparse
import json
from pathlib import Path

import pytest

from berth.cli import tools
from berth.engine.tools import Program, ToolError

PULUMI = Program(
    name="pulumi",
    version="v3.274.1",
    path=Path("/made/pulumi"),
    origin="built",
    language_host=False,
)


def find(name: str) -> Program:
    if name != "pulumi":
        raise ToolError(f"{name}: no such program; known are pulumi")
    return PULUMI


@pytest.fixture(autouse=True)
def one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_or_make", find)
    monkeypatch.setattr(tools, "program_names", lambda: ["pulumi"])
    monkeypatch.setenv("BERTH_HOME", "/made by me")


def berth_tools(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    tools.add_parser(parser.add_subparsers())
    parsed = parser.parse_args(["tools", *arguments])
    return tools.run(parsed)


def test_a_line_has_program_version_origin_and_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert berth_tools() == 0
    assert capsys.readouterr().out == "pulumi  v3.274.1  built  /made/pulumi\n"


def test_json_has_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert berth_tools("--json", "pulumi") == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "program": "pulumi",
            "version": "v3.274.1",
            "origin": "built",
            "path": "/made/pulumi",
            "language_host": False,
        }
    ]


def test_env_is_a_line_for_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert berth_tools("--env") == 0
    assert capsys.readouterr().out == "export PATH='/made by me/bin':$PATH\n"


def test_a_program_that_cannot_be_had_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert berth_tools("pulmi", "pulumi") == 2

    printed = capsys.readouterr()
    assert printed.out == "pulumi  v3.274.1  built  /made/pulumi\n"
    assert printed.err == "pulmi: no such program; known are pulumi\n"
