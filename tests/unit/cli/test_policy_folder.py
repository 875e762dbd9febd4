"""The folder of the policy pack that a team or a publisher is given."""

import json
import tomllib
from pathlib import Path

import pytest
import yaml

from berth.cli.__main__ import main

ROOT = Path(__file__).parents[3]


def test_it_is_the_pack_of_the_checkout_with_an_environment_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "gpu-policies"

    assert main(["policies", "pack", str(folder)]) == 0

    own = {path.name: path.read_text("utf-8") for path in (ROOT / "policies").glob("*.*")}
    made = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    assert made["__main__.py"] == own["__main__.py"]
    assert made["requirements.txt"] == own["requirements.txt"]
    settings = yaml.safe_load(own["PulumiPolicy.yaml"])
    settings["runtime"]["options"]["virtualenv"] = "venv"
    assert yaml.safe_load(made["PulumiPolicy.yaml"]) == settings
    assert made[".gitignore"].splitlines() == ["venv/", "__pycache__/"]


def test_the_pack_has_the_version_of_the_distribution(tmp_path: Path) -> None:
    main(["policies", "pack", str(tmp_path / "p")])

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    settings = yaml.safe_load((tmp_path / "p" / "PulumiPolicy.yaml").read_text("utf-8"))
    assert settings["version"] == project["version"]


def test_the_rules_may_come_from_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "berth-gpu[pulumi] @ git+https://git.example.com/team/berth"

    code = main(["policies", "pack", str(tmp_path), "--requirement", source, "--json"])

    assert code == 0
    assert (tmp_path / "requirements.txt").read_text("utf-8") == f"{source}\n"
    assert json.loads(capsys.readouterr().out)["files"] == [
        ".gitignore",
        "PulumiPolicy.yaml",
        "__main__.py",
        "requirements.txt",
    ]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        pytest.param([], "not empty; name a folder that is new", id="files-there"),
        pytest.param(["--requirement", " "], "not empty", id="first-problem-first"),
    ],
)
def test_nothing_is_overwritten(
    more: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("x", "utf-8")

    assert main(["policies", "pack", str(tmp_path), *more]) == 2
    assert problem in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_requirement_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "pack", str(tmp_path / "p"), "--requirement", "a\nb"]) == 2
    assert "--requirement: no requirement of pip" in capsys.readouterr().err
    assert not (tmp_path / "p").exists()
