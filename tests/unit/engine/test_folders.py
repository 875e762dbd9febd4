"""Where programs are kept."""

from pathlib import Path

import pytest

from berth.engine.tools import folders


def test_a_checkout_keeps_them_itself_from_any_folder_inside(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BERTH_HOME")
    monkeypatch.chdir(checkout / "tools" / "pulumi")

    assert folders.berth_home() == checkout / ".berth"


def test_the_override_wins(checkout: Path, home: Path) -> None:
    assert folders.berth_home() == home


@pytest.mark.parametrize(
    ("cache", "expected"), [("cache", "cache/berth"), (None, "me/.cache/berth")]
)
def test_outside_a_checkout_the_users_cache_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str | None, expected: str
) -> None:
    monkeypatch.setattr(folders, "project_root", lambda: None)
    monkeypatch.delenv("BERTH_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if cache:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))

    assert folders.berth_home() == tmp_path / expected
