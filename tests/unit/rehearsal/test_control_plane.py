"""What is said when a control plane cannot be had, with stand-in programs."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from berth.engine.tools import Program
from berth.rehearsal import control_plane
from berth.rehearsal.control_plane import ControlPlane, Options, RehearsalError

TAKEN = 'echo "listen tcp 127.0.0.1:${1##*:}: bind: address already in use" >&2; exit 1'
FULL = 'echo "write: no space left on device" >&2; exit 1'


@pytest.fixture
def programs_that(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Makes every program one script."""

    def use(script: str) -> None:
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        path.chmod(0o755)
        monkeypatch.setattr(
            control_plane,
            "find_or_make",
            lambda name: Program(
                name=name, version="v1.0.0", path=path, origin="built", language_host=False
            ),
        )

    return use


def refusal(tmp_path: Path) -> str:
    with pytest.raises(RehearsalError) as caught, ControlPlane(Options(parent=tmp_path / "planes")):
        pass
    return str(caught.value)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(TAKEN, "was taken by another program 3 times", id="port-taken"),
        pytest.param(FULL, "no space left on device; free some space there", id="disk-full"),
        pytest.param("echo bad flag >&2; exit 1", "ended (bad flag); run it again", id="another"),
    ],
)
def test_a_program_that_ends_is_explained_and_leaves_nothing(
    tmp_path: Path, programs_that: Callable[[str], None], script: str, expected: str
) -> None:
    programs_that(script)

    assert expected in refusal(tmp_path)
    assert not list((tmp_path / "planes").iterdir())


def test_one_that_is_never_ready_is_given_up(
    tmp_path: Path, programs_that: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs_that("exec sleep 600")
    monkeypatch.setattr(control_plane, "READY_LIMIT_S", 0.3)

    assert "not ready after 0 s" in refusal(tmp_path)
    assert not list((tmp_path / "planes").iterdir())


def test_elsewhere_than_on_linux_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    assert refusal(tmp_path) == (
        "control plane: it runs on Linux only, and this is darwin; "
        "run it on a Linux machine or in CI"
    )


def test_a_folder_that_cannot_be_made_is_named(
    tmp_path: Path, programs_that: Callable[[str], None]
) -> None:
    programs_that("exit 1")
    (tmp_path / "planes").touch()

    assert refusal(tmp_path) == (
        f"{tmp_path / 'planes'}: not a directory; "
        "free some space there, or set BERTH_HOME to another folder"
    )
