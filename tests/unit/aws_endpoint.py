"""A stand-in of AWS's JSON APIs on a loopback port, as a connected machine sees them."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Mapping[str, Any]]
"""Status and body; of a refusal `__type` is the code and `message` the words."""


@contextmanager
def aws_endpoint(answer: Callable[[str, Mapping[str, Any]], Answer]) -> Iterator[str]:
    """Serve; `answer` gets the operation and its input.

    Yields:
        The address for `AWS_ENDPOINT_URL_...`.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            operation = self.headers["X-Amz-Target"].partition(".")[2]
            status, body = answer(operation, json.loads(self.rfile.read(size)))
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
