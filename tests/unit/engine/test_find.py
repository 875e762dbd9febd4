"""Where a program comes from, and what is said when it cannot be had."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from berth.engine.tools import ToolError, find_or_make
from berth.engine.tools import download as download_module

HOST = "pulumi-language-python"
FakeProgram = Callable[[str, str], Path]


def refusal(name: str = "pulumi") -> str:
    with pytest.raises(ToolError) as caught:
        find_or_make(name)
    return str(caught.value)


def test_one_on_the_path_with_its_host_comes_first(
    checkout: Path, on_path: FakeProgram, fake_go: Path
) -> None:
    path = on_path("pulumi", "echo v3.272.0")
    on_path(HOST, "")

    program = find_or_make("pulumi")

    assert (program.path, program.version, program.origin) == (path, "v3.272.0", "path")
    assert program.language_host
    assert not fake_go.exists()


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("echo v3.271.9", id="one-release-too-old"),
        pytest.param("echo nonsense", id="no-version"),
        pytest.param("exit 1", id="cannot-start"),
    ],
)
def test_one_that_cannot_be_used_is_passed_over(
    checkout: Path, on_path: FakeProgram, fake_go: Path, script: str
) -> None:
    on_path("pulumi", script)
    on_path(HOST, "")

    assert find_or_make("pulumi").origin == "built"


def test_one_without_a_language_host_is_passed_over(
    checkout: Path, on_path: FakeProgram, fake_go: Path
) -> None:
    on_path("pulumi", "echo v3.274.1")

    assert find_or_make("pulumi").origin == "built"


def test_what_berth_made_does_not_count_as_the_users_own(
    checkout: Path, home: Path, fake_go: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_or_make("pulumi")
    monkeypatch.setenv("PATH", f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}")

    assert find_or_make("pulumi").origin == "built"


def test_nothing_is_built_twice(checkout: Path, home: Path, fake_go: Path) -> None:
    first, second = find_or_make("pulumi"), find_or_make("pulumi")

    assert first == second
    assert first.path == home / "tools" / "pulumi" / "v3.274.1" / "pulumi"
    assert fake_go.read_text("utf-8") == "built\n"


def test_a_program_that_was_removed_is_built_again(
    checkout: Path, home: Path, fake_go: Path
) -> None:
    find_or_make("pulumi").path.unlink()

    assert find_or_make("pulumi").path.is_file()
    assert fake_go.read_text("utf-8") == "built\nbuilt\n"


def test_two_runs_at_once_build_once(checkout: Path, home: Path, fake_go: Path) -> None:
    runs = [threading.Thread(target=find_or_make, args=("pulumi",)) for _ in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()

    assert fake_go.read_text("utf-8") == "built\n"


def test_a_download_comes_before_a_build(
    checkout: Path, home: Path, fake_go: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        download_module,
        "INSTALL",
        "import sys, pathlib; b = pathlib.Path(sys.argv[1], 'bin'); b.mkdir(parents=True); "
        "(b / 'pulumi').touch(0o755)",
    )
    monkeypatch.setattr("berth.engine.tools.find.sdk_version", lambda: "v9.9.9")

    program = find_or_make("pulumi")

    assert (program.origin, program.version) == ("download", "v9.9.9")
    assert program.path == home / "tools" / "pulumi" / "v9.9.9" / "bin" / "pulumi"
    assert find_or_make("pulumi") == program


def test_a_download_that_failed_is_not_tried_again_in_the_same_run(
    checkout: Path, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refusal()
    refusal()

    assert capfd.readouterr().err.count("pulumi: not downloaded (URLError: no network)") == 1


def test_a_download_that_hangs_is_given_up(
    checkout: Path, home: Path, fake_go: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download_module, "INSTALL", "import time; time.sleep(600)")
    monkeypatch.setattr(download_module, "DOWNLOAD_LIMIT_S", 0.1)

    assert find_or_make("pulumi").origin == "built"
    assert not (home / "tools" / "pulumi" / ".partial").exists()


def test_neither_download_nor_go_says_what_to_install(checkout: Path) -> None:
    assert refusal() == (
        "pulumi: not on the PATH, not downloaded, and no Go to build it; "
        "install Pulumi's CLI (v3.272.0 or newer), or install Go 1.26.6 or newer"
    )


def test_go_that_is_too_old_is_named_with_the_one_wanted(
    checkout: Path, on_path: FakeProgram
) -> None:
    on_path("go", "echo go1.26.5")

    assert refusal() == (
        "pulumi: Go 1.26.5 found, 1.26.6 wanted to build it; "
        "install Pulumi's CLI (v3.272.0 or newer), or install Go 1.26.6 or newer"
    )


def test_a_failed_build_is_one_line_and_leaves_nothing(
    checkout: Path, home: Path, on_path: FakeProgram
) -> None:
    on_path(
        "go",
        'if [ "$1" = env ]; then echo go1.26.6; exit; fi\n'
        'while [ "$1" != -o ]; do shift; done; echo half > "$2"\n'
        'echo some/package >&2; echo "x.go:1: undefined: y" >&2; exit 1',
    )

    assert refusal() == (
        "pulumi: go build failed: x.go:1: undefined: y; "
        f"run `go mod download` in {checkout / 'tools' / 'pulumi'} and look at what it says"
    )
    assert [path.name for path in (home / "tools" / "pulumi").iterdir()] == [".lock"]


def test_outside_a_checkout_only_the_path_and_the_download_remain(
    checkout: Path, fake_go: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("berth.engine.tools.find.project_root", lambda: None)

    assert refusal() == "pulumi: not on the PATH and not downloaded; install Pulumi's CLI"


def test_an_unknown_name_lists_the_known() -> None:
    assert refusal("pulmi") == (
        "pulmi: no such program; known are etcd, kube-apiserver, kube-controller-manager, "
        "kube-scheduler, kwok, pulumi, pulumi-resource-kubernetes"
    )


def test_kubebuilder_assets_come_first(
    checkout: Path, fake_go: Path, on_path: FakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    etcd = on_path("etcd", "echo 'etcd Version: 3.6.1'; echo 'Git SHA: 0f1e2d3'")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(etcd.parent))

    program = find_or_make("etcd")

    assert (program.path, program.version, program.origin) == (etcd, "3.6.1", "installed")
    assert not fake_go.exists()


def test_an_asset_that_is_too_old_is_passed_over(
    checkout: Path, fake_go: Path, on_path: FakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = on_path("kube-apiserver", "echo Kubernetes v1.28.3").parent
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    assert find_or_make("kube-apiserver").origin == "built"


def test_the_newest_installed_plugin_of_pulumi_is_taken(
    checkout: Path, fake_go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path))
    for version in ("v4.9.0", "v4.34.2", "v4.30.0"):
        plugin = tmp_path / "plugins" / f"resource-kubernetes-{version}"
        plugin.mkdir(parents=True)
        (plugin / "pulumi-resource-kubernetes").touch(0o755)

    program = find_or_make("pulumi-resource-kubernetes")

    assert (program.version, program.origin) == ("4.34.2", "installed")
    assert not fake_go.exists()


def test_a_home_that_cannot_be_made_is_one_line(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BERTH_HOME", str(tmp_path / "file"))

    assert refusal() == (
        f"{tmp_path / 'file' / 'tools' / 'pulumi'}: not a directory; "
        "set BERTH_HOME to a folder that can be written to"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_child_and_no_half_written_program(
    checkout: Path, home: Path, on_path: FakeProgram, tmp_path: Path, number: signal.Signals
) -> None:
    go = tmp_path / "go-pid"
    on_path(
        "go",
        'if [ "$1" = env ]; then echo go1.26.6; exit; fi\n'
        'while [ "$1" != -o ]; do shift; done; echo half > "$2"\n'
        f"echo $$ > {go}.new; mv {go}.new {go}; sleep 600",
    )
    build = (
        "from berth.engine.tools import download, find_or_make\n"
        "download.INSTALL = 'raise SystemExit(1)'\n"
        "find_or_make('pulumi')"
    )
    run = subprocess.Popen([sys.executable, "-P", "-c", build], stderr=subprocess.DEVNULL)
    while not go.exists():
        assert run.poll() is None
    go_pid = int(go.read_text("utf-8"))

    run.send_signal(number)
    run.wait(30)

    with pytest.raises(ProcessLookupError):
        os.kill(go_pid, 0)
    assert [path.name for path in (home / "tools" / "pulumi").iterdir()] == [".lock"]
