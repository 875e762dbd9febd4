"""A stand-in of Prometheus, and no proxy on the way to it."""

import os
from collections.abc import Iterator

import pytest

from tests.unit.idle.server import StandIn, serving


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name == "PROMETHEUS_TOKEN":
            monkeypatch.delenv(name)
    with serving() as state:
        yield state
