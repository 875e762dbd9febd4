"""A kubeconfig whose cluster cannot be used is told at once, with its context."""

import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.engine import cluster_reach
from berth.engine.cluster_reach import unreachable


class Refusing(http.server.BaseHTTPRequestHandler):
    """Answers those with the right token only."""

    def do_GET(self) -> None:
        right = self.headers.get("Authorization") == "Bearer valid"
        self.send_response(200 if right else 401)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), Refusing) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def kubeconfig(tmp_path: Path, server: str, user: dict[str, Any]) -> str:
    document = {
        "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(path)


def test_a_cluster_that_answers_is_fine(tmp_path: Path, server: str) -> None:
    assert unreachable(kubeconfig(tmp_path, server, {"token": "valid"}), "lab") is None


def test_credentials_that_have_expired_are_named_with_the_context(
    tmp_path: Path, server: str
) -> None:
    path = kubeconfig(tmp_path, server, {"token": "old"})

    assert unreachable(path, "lab") == (
        f"berth:cluster.context: lab of {path}: {server} refuses its credentials (401), which may "
        "have expired; get new ones"
    )


def test_nobody_there(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        path = kubeconfig(tmp_path, f"https://127.0.0.1:{taken.getsockname()[1]}", {"token": "a"})

        line = unreachable(path, "lab")

    assert line is not None
    assert "lab" in line
    assert line.endswith(
        "cannot be reached (connection refused); reach its network, or name another context"
    )


def test_a_server_that_takes_the_connection_and_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_reach, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"http://127.0.0.1:{silent.getsockname()[1]}"
        line = unreachable(kubeconfig(tmp_path, server, {"token": "a"}), "lab")

    assert line is not None
    assert f"lab of {tmp_path}/config: {server} does not answer within 0.2 s; reach" in line


def test_a_server_that_does_not_speak_tls(tmp_path: Path, server: str) -> None:
    """As one whose certificate, or the user's, has expired: the handshake fails."""
    address = server.replace("http:", "https:")

    line = unreachable(kubeconfig(tmp_path, address, {"token": "a"}), "lab")

    assert line is not None
    assert f"lab of {tmp_path}/config: {address} is not trusted, or does not trust" in line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: [", "cannot be read (while parsing a flow node); mend it", id="no YAML"),
        pytest.param("[]", "there is no such context; the file has none", id="a list"),
        pytest.param("contexts: [1, {name: lab}]", "the file has none", id="odd entries"),
        pytest.param(
            "contexts: [{name: lab, context: {cluster: c}}]\nclusters: [{name: c, cluster: "
            "{server: 5}}]",
            "its cluster has no server; mend the kubeconfig",
            id="no server",
        ),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_told_in_one_line(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = tmp_path / "config"
    path.write_text(text, encoding="utf-8")

    line = unreachable(str(path), "lab")

    assert line is not None
    assert "\n" not in line
    assert expected in line


def test_a_program_that_gets_tokens_is_not_run(tmp_path: Path, server: str) -> None:
    user = {"exec": {"command": "/nowhere/token"}}

    assert unreachable(kubeconfig(tmp_path, server, user), "lab") is None


@pytest.mark.parametrize(
    ("context", "expected"),
    [pytest.param("prod", "there is no such context; the file has lab", id="unknown context")],
)
def test_an_unknown_context(tmp_path: Path, context: str, expected: str) -> None:
    path = kubeconfig(tmp_path, "https://127.0.0.1:1", {})

    assert unreachable(path, context) == f"berth:cluster.context: {context} of {path}: {expected}"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = str(tmp_path / "none")

    assert unreachable(path, "lab") == (
        f"berth:cluster.kubeconfig: {path} does not exist; name another file"
    )
