"""Which Python runs a program."""

import sys
from pathlib import Path

import pytest

from berth.engine.language_host.interpreter import NoInterpreterError, choose_interpreter


@pytest.fixture
def virtualenv(tmp_path: Path) -> Path:
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch(0o755)
    return tmp_path / "env"


def test_without_an_option_the_hosts_own(tmp_path: Path) -> None:
    assert choose_interpreter({}, str(tmp_path)).python == Path(sys.executable)


def test_a_relative_one_starts_at_the_folder_of_the_project_file(
    tmp_path: Path, virtualenv: Path
) -> None:
    chosen = choose_interpreter({"virtualenv": "env"}, str(tmp_path))

    assert chosen.python == virtualenv / "bin" / "python"


def test_an_absolute_one_is_taken_as_it_is(virtualenv: Path) -> None:
    chosen = choose_interpreter({"virtualenv": str(virtualenv)}, "/elsewhere")

    assert chosen.virtualenv == virtualenv


def test_it_is_active_for_the_programs_own_children(tmp_path: Path, virtualenv: Path) -> None:
    chosen = choose_interpreter({"virtualenv": "env"}, str(tmp_path))

    environment = chosen.environment({"PATH": "/bin", "PYTHONHOME": "/old", "KEPT": "1"})

    assert environment == {
        "PATH": f"{virtualenv / 'bin'}:/bin",
        "VIRTUAL_ENV": str(virtualenv),
        "PYTHONUNBUFFERED": "1",
        "KEPT": "1",
    }


def test_a_missing_one_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(NoInterpreterError) as caught:
        choose_interpreter({"virtualenv": "env"}, str(tmp_path))

    env = tmp_path / "env"
    assert str(caught.value) == (
        f"runtime.options.virtualenv: env has no Python ({env}/bin/python); "
        f"make it with `python3 -m venv {env}` and install the requirements there"
    )
