"""A server that is not there, hangs, refuses, or answers something else."""

import threading

import pytest

from berth.idle.prometheus import (
    Prometheus,
    PrometheusError,
    Window,
    read_recording,
    recording,
)
from tests.unit.idle.server import StandIn, gpu

WINDOW = Window(end_s=600, step_s=300, steps=2)
TOKEN = "secret-1234"


def ask(server: StandIn, token: str = "", timeout_s: float = 5.0) -> object:
    found = Prometheus(url=server.url, token=token, timeout_s=timeout_s)
    return found.series("max_over_time(DCGM_FI_DEV_GPU_UTIL[300s])", WINDOW)


def test_a_range_query(server: StandIn) -> None:
    server.util = [gpu("GPU-1", {300: 0.0, 600: 4.0})]

    found = Prometheus(url=f"{server.url}/", token=TOKEN).series("DCGM_FI_DEV_GPU_UTIL", WINDOW)

    assert [dict(each.values) for each in found] == [{300: 0.0, 600: 4.0}]
    assert server.asked == [
        {"query": ["DCGM_FI_DEV_GPU_UTIL"], "start": ["300"], "end": ["600"], "step": ["300"]}
    ]
    assert server.authorization == {f"Bearer {TOKEN}"}


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(PrometheusError, match=r"127.0.0.1:9: cannot be reached .*port-forward"):
        Prometheus(url="http://127.0.0.1:9").series("x", WINDOW)


def test_a_server_that_hangs(server: StandIn) -> None:
    server.hang = threading.Event()

    with pytest.raises(PrometheusError, match=r"no answer within 0.05 s"):
        ask(server, timeout_s=0.05)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, r"answers 400 \(bad step\); check that the address"),
        (401, r"answers 401 \(bad step\); set PROMETHEUS_TOKEN"),
        (403, "set PROMETHEUS_TOKEN"),
        (404, "check that the address is that of Prometheus itself"),
        (422, "answers 422"),
        (503, "answers 503"),
        (302, r"leads elsewhere \(302\)"),
    ],
)
def test_a_server_that_refuses(server: StandIn, status: int, said: str) -> None:
    server.status, server.headers = status, {"Location": "http://localhost:1/"}
    server.body = b'{"status": "error", "errorType": "bad_data", "error": "bad step"}'

    with pytest.raises(PrometheusError, match=said):
        ask(server)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>sign in</html>",
        b"null",
        b"[]",
        b"{}",
        b'{"status": "error", "error": "x"}',
        b'{"status": "success", "data": {"resultType": "vector", "result": []}}',
        b'{"status": "success", "data": {"resultType": "matrix", "result": [1]}}',
        b'{"status": "success", "data": {"resultType": "matrix", "result": [{"values": [[1]]}]}}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_an_answer_that_is_none(server: StandIn, body: bytes) -> None:
    server.body = body

    with pytest.raises(PrometheusError, match=r"the answer is n.*that of Prometheus itself"):
        ask(server)


def test_an_answer_that_breaks_off(server: StandIn) -> None:
    server.body, server.headers = b'{"status": "succ', {"Content-Length": "9000"}

    with pytest.raises(PrometheusError, match="the connection broke"):
        ask(server)


def test_no_token_in_an_error(server: StandIn) -> None:
    server.status, server.body = 401, f'{{"error": "no such {TOKEN}"}}'.encode()

    with pytest.raises(PrometheusError) as caught:
        ask(server, token=TOKEN)

    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("prometheus:9090", "write https://HOST"),
        ("file:///etc/passwd", "write https://HOST"),
        ("https://me:hunter2@prometheus.example.com", "ends in logs; set PROMETHEUS_TOKEN"),
        ("http://prometheus.example.com", "in the clear; use https://"),
    ],
)
def test_an_address_that_is_not_asked(url: str, said: str) -> None:
    with pytest.raises(PrometheusError, match=said) as caught:
        Prometheus(url=url, token=TOKEN)

    assert "hunter2" not in str(caught.value)


def test_a_recording_is_read_back(server: StandIn) -> None:
    server.util = [gpu("GPU-1", {300: 0.0})]
    live = Prometheus(url=server.url)
    first = live.series("DCGM_FI_DEV_GPU_UTIL", WINDOW)

    found, window = read_recording(recording(live.answers, WINDOW), "r.json")

    assert window == WINDOW
    assert found.series("DCGM_FI_DEV_GPU_UTIL", window) == first
    with pytest.raises(PrometheusError, match=r"r.json: has no answer to up; record it again"):
        found.series("up", window)


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b'{"end_s": 1, "step_s": 0, "steps": 1, "answers": {}}', b"\xff", b"1e9"],
)
def test_what_is_no_recording(data: bytes) -> None:
    with pytest.raises(PrometheusError, match=r"^r.json: no recording of `berth idle --record`"):
        read_recording(data, "r.json")
