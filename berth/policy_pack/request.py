"""What one call of the engine asks about, read once and shared by all policies of that call."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from pulumi.runtime.proto import analyzer_pb2

from berth.policy_pack.plain import plain_properties
from berth.rules.resource import Resource
from berth.rules.stack_view import StackView, view_stack

_CURRENT: ContextVar["Request"] = ContextVar("berth_policy_request")


@dataclass(frozen=True, slots=True)
class Request:
    """The resources of one call as the rules see them."""

    view: StackView
    secrets: set[str]
    """Texts that may not appear in a message."""
    stack: str
    """Name of the stack; empty where the engine does not say."""
    environment_setting: str | None
    """The stack's own `berth:environment`."""
    stack_tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StackFacts:
    """What the engine says of the stack before it asks about resources."""

    stack: str = ""
    environment_setting: str | None = None
    tags: tuple[str, ...] = ()


def read_request(
    asked: Iterable[analyzer_pb2.AnalyzerResource | analyzer_pb2.AnalyzeRequest], facts: StackFacts
) -> Request:
    """Read all resources of a call."""
    resources: list[Resource] = []
    secrets: set[str] = set()
    for entry in asked:
        properties = plain_properties(entry.properties)
        secrets |= properties.secrets
        dependencies = (
            {key: tuple(urns.urns) for key, urns in entry.propertyDependencies.items()}
            if isinstance(entry, analyzer_pb2.AnalyzerResource)
            else {}
        )
        resources.append(
            Resource(entry.type, entry.name, entry.urn, properties.values, dependencies)
        )
    return Request(
        view_stack(resources), secrets, facts.stack, facts.environment_setting, facts.tags
    )


@contextmanager
def serving(request: Request) -> Iterator[None]:
    """Make `request` the one that policies of this thread judge."""
    token = _CURRENT.set(request)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_request() -> Request:
    """The request that this thread serves."""
    return _CURRENT.get()
