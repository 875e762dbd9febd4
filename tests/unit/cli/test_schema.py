"""`berth schema`: writes, checks and prints the schema of the project it is run in."""

import json
from pathlib import Path

import pytest

from berth.cli.__main__ import main


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Pulumi.yaml").touch()
    (tmp_path / "stacks" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "stacks" / "below")
    return tmp_path


def test_it_writes_the_schema_of_the_project(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema"]) == 0

    assert capsys.readouterr().out == "stacks/schema.json\n"
    written = json.loads((project / "stacks" / "schema.json").read_text(encoding="utf-8"))
    assert "berth:tiers" in written["properties"]["config"]["properties"]


@pytest.mark.usefixtures("project")
def test_a_schema_just_written_is_up_to_date() -> None:
    main(["schema"])

    assert main(["schema", "--check"]) == 0


@pytest.mark.usefixtures("project")
def test_a_missing_schema_is_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--check"]) == 1

    assert capsys.readouterr().err == "stacks/schema.json: missing; run `berth schema`\n"


def test_an_old_schema_is_exit_1(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "stacks" / "schema.json").write_text("{}", encoding="utf-8")

    assert main(["schema", "--check"]) == 1

    assert capsys.readouterr().err == (
        "stacks/schema.json: not what the vocabulary of berth/config says; run `berth schema`\n"
    )


def test_it_prints_the_schema_and_writes_nothing(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["type"] == "object"
    assert not (project / "stacks" / "schema.json").exists()


def test_outside_a_project_it_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["schema"]) == 2

    assert capsys.readouterr().err == (
        f"{tmp_path}: no Pulumi.yaml here or above; run this in a checkout of the program\n"
    )
