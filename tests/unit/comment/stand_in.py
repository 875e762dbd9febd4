"""A stand-in of the comment APIs of GitHub and GitLab on a free port of this machine.

It keeps comments and pages as the platforms do, and can be told to fail.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "t0ken-that-nobody-may-see"
GITHUB_LIST = re.compile(r"/repos/acme/platform/issues/7/comments")
GITHUB_ONE = re.compile(r"/repos/acme/platform/issues/comments/(\d+)")
GITLAB_LIST = re.compile(r"/projects/acme%2Fplatform/merge_requests/7/notes")
GITLAB_ONE = re.compile(r"/projects/acme%2Fplatform/merge_requests/7/notes/(\d+)")


@dataclass
class Failure:
    """What the stand-in answers instead, once per entry."""

    method: str
    code: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    message: str = ""
    does_it: bool = False
    """Do what was asked, and only then fail."""
    hangs: bool = False


@dataclass
class Platform:
    """The comments of one request, and what was asked so far."""

    base: str = ""
    comments: dict[int, str] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    last_id: int = 100

    def add(self, body: str) -> int:
        """A comment that is there already."""
        self.last_id += 1
        self.comments[self.last_id] = body
        return self.last_id


@contextmanager
def serving() -> Iterator[Platform]:
    """Both APIs at `base`, until the block ends."""
    platform = Platform()

    class Handler(_Handler):
        state = platform

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    platform.base = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield platform
    finally:
        platform.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    state: Platform

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PATCH(self) -> None:
        self._answer("PATCH")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def do_DELETE(self) -> None:
        self._answer("DELETE")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def _answer(self, method: str) -> None:
        url = urlsplit(self.path)
        self.state.asked.append(f"{method} {url.path}")
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        given = (self.headers.get("authorization", ""), self.headers.get("private-token", ""))
        if f"Bearer {TOKEN}" not in given and TOKEN not in given:
            self._send(401, {"message": "Bad credentials"})
            return
        failure = next((each for each in self.state.failures if each.method == method), None)
        if failure is None:
            self._send(*self._done(method, url.path, parse_qs(url.query), body))
            return
        self.state.failures.remove(failure)
        if failure.does_it:
            self._done(method, url.path, parse_qs(url.query), body)
        if failure.hangs:
            self.state.released.wait(30)
            return
        self._send(failure.code, {"message": failure.message}, failure.headers)

    def _done(
        self, method: str, path: str, query: dict[str, list[str]], body: Any
    ) -> tuple[int, Any, dict[str, str]]:
        state = self.state
        if path == "/graphql":
            state.hidden.append(body["variables"]["id"])
            return 200, {"data": {"minimizeComment": {}}}, {}
        if GITHUB_LIST.fullmatch(path) or GITLAB_LIST.fullmatch(path):
            if method == "POST":
                return 201, self._shown(state.add(body["body"])), {}
            return self._page(path, query)
        one = GITHUB_ONE.fullmatch(path) or GITLAB_ONE.fullmatch(path)
        number = int(one[1]) if one else 0
        if number not in state.comments:
            return 404, {"message": "Not Found"}, {}
        if method == "DELETE":
            del state.comments[number]
            return 204, None, {}
        state.comments[number] = body["body"]
        return 200, self._shown(number), {}

    def _page(self, path: str, query: dict[str, list[str]]) -> tuple[int, Any, dict[str, str]]:
        """Two comments a page, however many are asked for: platforms may give fewer."""
        page = int(query["page"][0])
        every = list(self.state.comments)
        found = [self._shown(each) for each in every[(page - 1) * 2 : page * 2]]
        more = len(every) > page * 2
        if GITLAB_LIST.fullmatch(path):
            return 200, found, {"x-next-page": str(page + 1) if more else ""}
        link = f'<{self.state.base}{path}?page={page + 1}>; rel="next"' if more else ""
        return 200, found, {"link": link} if more else {}

    def _shown(self, number: int) -> dict[str, Any]:
        body = self.state.comments[number]
        return {"id": number, "node_id": f"node-{number}", "body": body, "html_url": f"at/{number}"}

    def _send(self, code: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(code)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
