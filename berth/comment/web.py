"""JSON over HTTP for the platforms: time limits, retries, rate limits, no token in any text."""

import http.client
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

ATTEMPTS: Final = 4
LONGEST_WAIT_S: Final = 60.0
"""A platform that asks for more is not waited for."""
MOST_BYTES: Final = 32 * 1024 * 1024
_LATER: Final = frozenset({429, 500, 502, 503, 504})
_MEANINGS: Final = {
    401: "the token is not accepted; make a new one and set {variable}",
    403: "the token may not do this; give it the right to write comments",
    404: "no such project or request, or the token may not see it; check the address and the token",
    422: "the platform refuses the content; see its words",
}


class PlatformError(RuntimeError):
    """A platform did not do as asked; the text says what it answered and what to change."""


class UncertainError(PlatformError):
    """No answer came, so that what was asked may have been done."""


class GoneError(PlatformError):
    """What was asked for is not there."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON of an answer, and its headers by lower-case name."""

    body: Any
    headers: Mapping[str, str]


class _NoRedirects(HTTPRedirectHandler):
    """The token goes to the address that was given and to no other."""

    def redirect_request(self, *_: object) -> None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """Requests to one platform."""

    base: str
    """Address of the API, without a slash at its end."""
    headers: Mapping[str, str]
    """With the token; never shown."""
    token_variable: str
    """What the token's variable is called, for messages."""
    timeout_s: float = 20.0
    sleep: Callable[[float], None] = time.sleep
    _opener: OpenerDirector = field(default_factory=lambda: build_opener(_NoRedirects))

    def ask(self, method: str, path: str, body: Any = None, *, once: bool = False) -> Answer:
        """Send one request, again where the platform asks to come later or does not answer.

        Args:
            method: of HTTP.
            path: below `base`.
            body: what becomes JSON.
            once: doing it twice is wrong, so it is sent again only if the platform said that it
                did nothing.

        Raises:
            UncertainError: if a request of which twice is wrong was sent and no answer came.
            GoneError: if what the path names is not there.
            PlatformError: if it is refused.
        """
        waited_for = ""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._once(method, path, body)
            except _LaterError as later:
                waited_for = later.why
                if once and not later.was_refused:
                    raise UncertainError(f"{self._at(path)}: {later.why}") from None
                wait_s = later.wait_s if later.wait_s is not None else 2.0 ** (attempt - 1)
                if attempt == ATTEMPTS or wait_s > LONGEST_WAIT_S:
                    break
                self.sleep(wait_s)
        raise PlatformError(
            f"{self._at(path)}: {waited_for}, {ATTEMPTS} times or for longer than a minute; "
            "run it again later"
        )

    def _once(self, method: str, path: str, body: Any) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", "User-Agent": "berth", **self.headers}
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = Request(f"{self.base}{path}", data=data, headers=headers, method=method)  # noqa: S310
        try:
            with self._opener.open(request, timeout=self.timeout_s) as response:
                found = {name.lower(): value for name, value in response.headers.items()}
                return Answer(self._decoded(path, response.read(MOST_BYTES + 1)), found)
        except HTTPError as error:
            with error:
                raise self._refused(path, error) from None
        except (URLError, TimeoutError, OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                why = f"no answer within {self.timeout_s:g} s"
            else:
                why = f"cannot be reached ({self._safe(str(reason) or type(reason).__name__)})"
            raise _LaterError(why, wait_s=None, was_refused=_never_sent(reason)) from None

    def _decoded(self, path: str, data: bytes) -> Any:
        if len(data) > MOST_BYTES:
            raise PlatformError(f"{self._at(path)}: answers more than 32 MiB; check the address")
        if not data.strip():
            return None
        try:
            return json.loads(data)
        except ValueError:
            raise PlatformError(f"{self._at(path)}: answers no JSON; check the address") from None

    def _refused(self, path: str, error: HTTPError) -> Exception:
        words = self._words(error)
        limited = (
            error.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in error.headers
        )
        if error.code in _LATER or (error.code == 403 and limited):
            why = f"answered {error.code}{words}"
            refused = error.code in (403, 429, 503)
            return _LaterError(why, wait_s=_wait_s(error), was_refused=refused)
        meaning = _MEANINGS.get(error.code, "check the address")
        meaning = meaning.format(variable=self.token_variable)
        if 300 <= error.code < 400:
            meaning = "it sends elsewhere, where the token does not go; give the address itself"
        kind = GoneError if error.code in (404, 410) else PlatformError
        return kind(f"{self._at(path)}: answered {error.code}{words}; {meaning}")

    def _words(self, error: HTTPError) -> str:
        """What the platform says of a refusal, shortened and without the token."""
        try:
            said = json.loads(error.read(64 * 1024))
            text = said.get("message") or said.get("error") or ""
        except (ValueError, AttributeError, OSError, http.client.HTTPException):
            return ""
        return f" ({self._safe(str(text))})" if text else ""

    def _safe(self, text: str) -> str:
        short = " ".join(text.split())[:200]
        for value in self.headers.values():
            for secret in {value, value.rpartition(" ")[2]}:
                short = short.replace(secret, "[token]") if len(secret) > 3 else short
        return short

    def _at(self, path: str) -> str:
        """The address without query, which names nothing that helps."""
        return f"{urlsplit(self.base).netloc}{path.partition('?')[0]}"


class _LaterError(Exception):
    """The request may be sent again."""

    def __init__(self, why: str, *, wait_s: float | None, was_refused: bool) -> None:
        super().__init__(why)
        self.why = why
        self.wait_s = wait_s
        self.was_refused = was_refused
        """The platform did nothing."""


def _never_sent(reason: object) -> bool:
    return isinstance(reason, ConnectionRefusedError)


def _wait_s(error: HTTPError) -> float | None:
    """Seconds that the platform asks to wait; None: it does not say."""
    try:
        if (after := error.headers.get("retry-after")) is not None:
            return max(0.0, float(after))
        if (until := error.headers.get("x-ratelimit-reset")) is not None:
            return max(0.0, float(until) - time.time())
    except ValueError:
        pass
    return None
