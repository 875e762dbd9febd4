"""A checkout, a home and a PATH that hold nothing but what a test puts there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from berth.engine.tools import download

FakeProgram = Callable[[str, str], Path]


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeProgram:
    """Puts a shell script on an otherwise empty PATH."""
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def add(name: str, script: str) -> Path:
        path = folder / name
        path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n", "utf-8")
        path.chmod(0o755)
        return path

    return add


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for what is made."""
    folder = tmp_path / "home"
    monkeypatch.setenv("BERTH_HOME", str(folder))
    return folder


@pytest.fixture
def checkout(
    tmp_path: Path, home: Path, on_path: FakeProgram, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A checkout as the current folder, with an empty PATH and no network."""
    folder = tmp_path / "checkout"
    (folder / "berth").mkdir(parents=True)
    for module in ("pulumi", "etcd", "kubernetes", "pulumi-resource-kubernetes"):
        (folder / "tools" / module).mkdir(parents=True)
        (folder / "tools" / module / "go.mod").write_text("module x\n\ngo 1.26.6\n", "utf-8")
    for variable in ("KUBEBUILDER_ASSETS", "PULUMI_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(download, "INSTALL", "import sys; sys.exit('URLError: no network')")
    monkeypatch.setattr(download, "_failed", set())
    return folder


FAKE_GO = """
case "$1" in
env) echo go1.26.6 ;;
build)
  while [ "$1" != -o ]; do shift; done
  echo "go: downloading something v1.0.0" >&2
  echo built >> "{log}"
  echo '#!/bin/sh' > "$2" && chmod 755 "$2" ;;
esac
"""


@pytest.fixture
def fake_go(on_path: FakeProgram, tmp_path: Path) -> Path:
    """A `go` that builds a script; the file returned gets a line per build."""
    log = tmp_path / "builds"
    on_path("go", FAKE_GO.format(log=log))
    return log
