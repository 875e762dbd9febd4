"""Range queries to a Prometheus server, or to what one has answered before."""

import http.client
import json
import math
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, Protocol
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Meta, Struct

MOST_BYTES: Final = 200_000_000
"""Of one answer: a month of five minutes for a thousand GPUs is about that."""
MOST_POINTS: Final = 11_000
"""Per series, above which Prometheus refuses.
Source: https://github.com/prometheus/prometheus/blob/main/web/api/v1/api.go (exceeded maximum
resolution)"""
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


class PrometheusError(RuntimeError):
    """There is no answer to be had; the text says why and what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Equal steps of time up to `end_s`, seconds since 1970; a point tells of the step before."""

    end_s: int
    step_s: int
    steps: int

    @property
    def start_s(self) -> int:
        """Where the first step begins."""
        return self.end_s - self.step_s * self.steps

    @property
    def times_s(self) -> range:
        """The end of every step."""
        return range(self.start_s + self.step_s, self.end_s + 1, self.step_s)

    @property
    def hours(self) -> float:
        """Length of the whole."""
        return self.step_s * self.steps / 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Values by time; a time without a value was not seen."""

    labels: Mapping[str, str]
    values: Mapping[int, float]


class Source(Protocol):
    """Something that answers range queries."""

    def series(self, query: str, window: Window) -> list[Series]:
        """All series of `query`, none where nothing matches."""


class _Result(Struct):
    metric: dict[str, str] = {}
    values: list[tuple[float, str]] = []


class _Data(Struct):
    resultType: Literal["matrix"]  # noqa: N815  Prometheus' spelling
    result: list[_Result]


class _Answer(Struct):
    status: Literal["success"]
    data: _Data


class _Refusal(Struct):
    error: Annotated[str, Meta(max_length=100_000)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    """A server, such as `https://prometheus.example.com`, or one that speaks like it."""

    url: str
    token: str = ""
    timeout_s: float = 30.0
    """Of one query, from the connection to the last byte."""
    clock_s: Callable[[], float] = time.monotonic
    answers: dict[str, Any] = field(default_factory=dict)
    """What was answered, by query: to be written down and used again."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise PrometheusError("no address of a Prometheus server; write https://HOST")
        if parts.username or parts.password:
            raise PrometheusError(
                f"{parts.hostname}: a password in the address ends in logs; set PROMETHEUS_TOKEN"
            )
        if self.token and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise PrometheusError(f"{self.url}: the token would travel in the clear; use https://")

    def series(self, query: str, window: Window) -> list[Series]:
        """What the server says.

        Raises:
            PrometheusError: if it cannot be reached, refuses, or answers something else.
        """
        data = self._ask(query, window)
        self.answers[query] = _json(data, self.url)
        return read_series(data, window, self.url)

    def _ask(self, query: str, window: Window) -> bytes:
        asked = {
            "query": query,
            "start": window.times_s[0],
            "end": window.end_s,
            "step": window.step_s,
        }
        request = urllib.request.Request(  # noqa: S310  checked above
            f"{self.url.rstrip('/')}/api/v1/query_range", data=urlencode(asked).encode()
        )
        if self.token:
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        try:
            with _OPENER.open(request, timeout=self.timeout_s) as response:
                return self._read(response)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error) from None
        except TimeoutError:
            raise self._silent() from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._silent() from None
            raise PrometheusError(
                f"{self.url}: cannot be reached ({error.reason}); check the address, or forward it "
                "with kubectl port-forward"
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise PrometheusError(
                f"{self.url}: the connection broke ({type(error).__name__}); run again"
            ) from None

    def _read(self, response: Any) -> bytes:
        """All of it, in time: a server may also send a byte now and then."""
        ends_at = self.clock_s() + self.timeout_s
        parts, size = [], 0
        while part := response.read1(65536):
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise PrometheusError(
                    f"{self.url}: answers more than {MOST_BYTES >> 20} MiB; ask for fewer --hours"
                )
            if self.clock_s() > ends_at:
                raise TimeoutError
        if getattr(response, "length", None):
            raise http.client.IncompleteRead(b"")
        return b"".join(parts)

    def _silent(self) -> PrometheusError:
        return PrometheusError(
            f"{self.url}: no answer within {self.timeout_s:g} s; ask for fewer --hours, or raise "
            "--timeout"
        )

    def _refused(self, error: urllib.error.HTTPError) -> PrometheusError:
        if error.code in (301, 302, 303, 307, 308):
            return PrometheusError(f"{self.url}: leads elsewhere ({error.code}); give that address")
        try:
            said = msgspec.json.decode(self._read(error), type=_Refusal).error
        except (msgspec.DecodeError, OSError, http.client.HTTPException, PrometheusError):
            said = ""
        words = " ".join(said.split())[:200].replace(self.token or "\0", "***")
        fix = (
            "set PROMETHEUS_TOKEN to a token that may read"
            if error.code in (401, 403)
            else "check that the address is that of Prometheus itself"
        )
        return PrometheusError(
            f"{self.url}: answers {error.code}{f' ({words})' if words else ''}; {fix}"
        )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A query goes to the address that was given and to no other."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_NoRedirect)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Answers of a server that were written down."""

    where: str
    answers: Mapping[str, Any]

    def series(self, query: str, window: Window) -> list[Series]:
        """What the server said at the time.

        Raises:
            PrometheusError: if it was not asked that.
        """
        if query not in self.answers:
            raise PrometheusError(f"{self.where}: has no answer to {query}; record it again")
        return read_series(msgspec.json.encode(self.answers[query]), window, self.where)


class _Recording(Struct):
    end_s: Annotated[int, Meta(ge=0, le=10**11)]
    step_s: Annotated[int, Meta(ge=1, le=86_400)]
    steps: Annotated[int, Meta(ge=1, le=MOST_POINTS)]
    answers: dict[str, Any]


def read_recording(data: bytes, where: str) -> tuple[Recorded, Window]:
    """Answers that `recording` wrote, and of which time they are.

    Raises:
        PrometheusError: if it is something else.
    """
    try:
        found = msgspec.json.decode(data, type=_Recording)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        said = str(error).replace("`", "")
        raise PrometheusError(
            f"{where}: no recording of `berth idle --record` ({said}); record again"
        ) from None
    window = Window(end_s=found.end_s, step_s=found.step_s, steps=found.steps)
    return Recorded(where=where, answers=found.answers), window


def recording(answers: Mapping[str, Any], window: Window) -> bytes:
    """Answers as a file that `read_recording` reads."""
    return msgspec.json.encode(
        {
            "end_s": window.end_s,
            "step_s": window.step_s,
            "steps": window.steps,
            "answers": dict(answers),
        }
    )


def read_series(data: bytes, window: Window, where: str) -> list[Series]:
    """The series of an answer to a range query; a value that is no number was not seen.

    Raises:
        PrometheusError: if it is no such answer.
    """
    try:
        found = msgspec.json.decode(data, type=_Answer)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        said = str(error).replace("`", "")
        raise PrometheusError(
            f"{where}: the answer is none of a range query ({said}); check that the address is "
            "that of Prometheus itself"
        ) from None
    times = window.times_s
    return [
        Series(
            labels=each.metric,
            values={
                round(at): value
                for at, text in each.values
                if math.isfinite(at) and round(at) in times and (value := _number(text)) is not None
            },
        )
        for each in found.data.result
    ]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _json(data: bytes, where: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise PrometheusError(
            f"{where}: the answer is no JSON; check that the address is that of Prometheus itself, "
            "and not of a sign-in page"
        ) from None
