"""A small client of one API server: JSON in and out, one connection per thread."""

import http.client
import json
import ssl
import threading
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

TIMEOUT_S: Final = 30
APPLY: Final = "application/apply-patch+yaml"
MERGE: Final = "application/merge-patch+json"
Object = dict[str, Any]


class ApiError(Exception):
    """The API server refuses; the text is its own message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Api:
    """Calls to one API server with a bearer token."""

    def __init__(self, server: str, certificate: bytes, token: str) -> None:
        parts = urlsplit(server)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._token = token
        self._trust = ssl.create_default_context(cadata=certificate.decode())
        self._trust.verify_flags &= ~ssl.VERIFY_X509_STRICT  # it signs its certificate itself
        self._local = threading.local()
        self._connections: list[http.client.HTTPSConnection] = []

    def close(self) -> None:
        """Drop all connections."""
        for connection in self._connections:
            connection.close()

    def get(self, path: str) -> Object:
        """One object, or a list of them."""
        return self._call("GET", path)

    def items(self, path: str) -> list[Object]:
        """The objects of a list."""
        return list(self.get(path).get("items") or [])

    def create(self, path: str, body: Mapping[str, Any]) -> Object:
        """Make an object in a collection."""
        return self._call("POST", path, body)

    def patch(self, path: str, body: Mapping[str, Any], kind: str = MERGE) -> Object:
        """Change an object."""
        return self._call("PATCH", path, body, kind)

    def apply(self, path: str, body: Mapping[str, Any]) -> Object:
        """Make an object or bring it to what is wanted."""
        return self._call("PATCH", f"{path}?fieldManager=berth&force=true", body, APPLY)

    def delete(self, path: str, grace_s: int | None = None) -> None:
        """Delete an object; one that is gone already is no error."""
        query = "" if grace_s is None else f"?gracePeriodSeconds={grace_s}"
        try:
            self._call("DELETE", f"{path}{query}")
        except ApiError as error:
            if error.status != http.HTTPStatus.NOT_FOUND:
                raise

    def is_ready(self) -> bool:
        """Whether the server answers and says that it is ready."""
        try:
            self._call("GET", "/readyz", plain=True)
        except (OSError, http.client.HTTPException, ApiError):
            return False
        return True

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        *,
        plain: bool = False,
    ) -> Object:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type}
        data = None if body is None else json.dumps(body).encode()
        try:
            status, text = self._send(method, path, data, headers)
        except (http.client.HTTPException, ConnectionError, ssl.SSLError):
            self._local.connection = None  # an idle one that the server has closed, or a broken one
            status, text = self._send(method, path, data, headers)
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise ApiError(status, _message(text))
        answer: Object = {} if plain else json.loads(text)
        return answer

    def _send(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        connection: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=TIMEOUT_S, context=self._trust
            )
            self._local.connection = connection
            self._connections.append(connection)
        connection.request(method, path, data, dict(headers))
        response = connection.getresponse()
        return response.status, response.read()


def _message(text: bytes) -> str:
    try:
        return str(json.loads(text).get("message"))
    except ValueError:
        return text.decode(errors="replace").strip()
