"""How the command ends: exit code and first line of every kind of end."""

import subprocess
import sys
import types
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

import berth.cli
from berth.cli import __main__ as entry
from berth.cli.__main__ import COMMANDS, main
from berth.config.problems import ConfigError
from berth.planner.errors import PlanError

Install = Callable[[Callable[[Any], int]], None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a subcommand `probe` in place that does what it is told."""

    def put_in_place(run: Callable[[Any], int]) -> None:
        module = types.ModuleType("berth.cli.probe")
        module.add_parser = lambda subparsers: subparsers.add_parser("probe")  # type: ignore[attr-defined]
        module.run = run  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "berth.cli.probe", module)
        monkeypatch.setattr(berth.cli, "probe", module, raising=False)
        monkeypatch.setattr(entry, "COMMANDS", {**COMMANDS, "probe": "probes"})

    return put_in_place


def raising(error: BaseException) -> Callable[[Any], int]:
    def run(_: Any) -> NoReturn:
        raise error

    return run


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_exit_code_is_the_subcommands(code: int, install: Install) -> None:
    install(lambda _: code)

    assert main(["probe"]) == code


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        pytest.param(
            ConfigError(["a.yaml:1: is empty; fill it", "a.yaml:2: b: missing; add b"]),
            2,
            "a.yaml:1: is empty; fill it\na.yaml:2: b: missing; add b\n",
            id="unreadable-stack",
        ),
        pytest.param(
            PlanError(["berth:models.chat: needs 2 GPUs, has 1; add one"]),
            1,
            "berth:models.chat: needs 2 GPUs, has 1; add one\n",
            id="refused-stack",
        ),
        pytest.param(KeyboardInterrupt(), 130, "berth: interrupted\n", id="ctrl-c"),
        pytest.param(
            PermissionError(13, "Permission denied", "/etc/berth"),
            2,
            "/etc/berth: cannot be used (permission denied); make it usable, or name another\n",
            id="file-that-cannot-be-used",
        ),
        pytest.param(
            ModuleNotFoundError("No module named 'pulumi'", name="pulumi.automation"),
            2,
            "berth: needs the Python package pulumi, not installed here; "
            "install berth-gpu[pulumi]\n",
            id="package-that-is-not-installed",
        ),
        pytest.param(
            TypeError("no\nway"),
            2,
            "berth: internal error: TypeError: no way; run again with --debug\n",
            id="mistake-in-the-program",
        ),
    ],
)
def test_an_error_is_its_lines_and_a_code(
    error: BaseException,
    code: int,
    text: str,
    install: Install,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install(raising(error))

    assert main(["probe"]) == code

    assert capsys.readouterr() == ("", text)


def test_debug_shows_where_an_internal_error_arose(install: Install) -> None:
    install(raising(TypeError("no way")))

    with pytest.raises(TypeError, match="no way"):
        main(["probe", "--debug"])


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        pytest.param([], "berth: no command given; see `berth --help`\n", id="nothing"),
        pytest.param(["tols"], "berth: tols is no command; did you mean tools\n", id="close"),
        pytest.param(
            ["qqq"],
            f"berth: qqq is no command; use one of {', '.join(COMMANDS)}\n",
            id="far",
        ),
        pytest.param(
            ["schema", "--what"],
            "berth: unrecognized arguments: --what; see `berth --help`\n",
            id="unknown-option",
        ),
        pytest.param(
            ["schema", "--check=5"],
            "berth schema: argument --check: ignored explicit argument '5'; "
            "see `berth schema --help`\n",
            id="option-that-takes-no-value",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    argv: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2

    assert capsys.readouterr() == ("", text)


def test_help_lists_every_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0

    page = capsys.readouterr().out
    assert [name for name, text in COMMANDS.items() if f" {name} " not in page] == []
    assert [text for text in COMMANDS.values() if text not in page] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_subcommand_is_there_and_has_its_own_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0

    assert capsys.readouterr().out.startswith(f"usage: berth {name} ")


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0

    name, version = capsys.readouterr().out.split()
    assert name == "berth"
    assert version[0].isdigit()


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_help_needs_neither_pulumi_nor_pydantic() -> None:
    done = run_python(
        "import sys\n"
        "from berth.cli.__main__ import main\n"
        "code = main(['--help'])\n"
        "heavy = {'pulumi', 'grpc', 'pydantic', 'yaml', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else code)\n"
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    command = [sys.executable, "-m", "berth", "schema", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (141, "")
