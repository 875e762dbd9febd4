"""A local stand-in of Prometheus: answers of a matrix, and what can go wrong."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from berth.idle.usage import ENGINE, UTIL


def gpu(uuid: str, values: Mapping[int, float], **labels: str) -> dict[str, Any]:
    """One series of an exporter."""
    shown = {"UUID": uuid, "gpu": "0", "Hostname": "node-1", "modelName": "NVIDIA L4"} | labels
    return series(shown, values)


def series(labels: Mapping[str, str], values: Mapping[int, float]) -> dict[str, Any]:
    return {"metric": dict(labels), "values": [[at, str(value)] for at, value in values.items()]}


def matrix(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A whole answer of `query_range`."""
    return {"status": "success", "data": {"resultType": "matrix", "result": list(results)}}


@dataclass
class StandIn:
    url: str = ""
    util: list[dict[str, Any]] = field(default_factory=list)
    engine: list[dict[str, Any]] = field(default_factory=list)
    tokens: list[dict[str, Any]] = field(default_factory=list)
    asked: list[dict[str, list[str]]] = field(default_factory=list)
    authorization: set[str | None] = field(default_factory=set)
    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    hang: threading.Event | None = None
    always: dict[str, float] = field(default_factory=dict)
    """By UUID of a GPU of node-1, what it does in every step that is asked for."""

    def results(self, asked: Mapping[str, list[str]]) -> list[dict[str, Any]]:
        """Of one of the three queries."""
        query = asked["query"][0]
        if UTIL in query:
            start, end, step = (int(asked[key][0]) for key in ("start", "end", "step"))
            times = range(start, end + 1, step)
            return [
                *self.util,
                *(gpu(uuid, dict.fromkeys(times, value)) for uuid, value in self.always.items()),
            ]
        return self.engine if ENGINE in query else self.tokens


@contextmanager
def serving() -> Iterator[StandIn]:
    state = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            state.asked.append(asked)
            state.authorization.add(self.headers.get("Authorization"))
            if state.hang is not None:
                state.hang.wait(30)
                return
            answer = matrix(state.results(asked))
            body = json.dumps(answer).encode() if state.body is None else state.body
            self.send_response(state.status)
            for name, value in state.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in state.headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        if state.hang is not None:
            state.hang.set()
        server.shutdown()
        thread.join()
        server.server_close()
