"""What one call of the engine asks about, read once and shared by all policies of that call."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date
from typing import Any

from pulumi.runtime.proto import analyzer_pb2

from berth.policy_pack.author_first import author_first
from berth.policy_pack.plain import Properties, plain_properties
from berth.rules.exceptions import EXCEPTIONS_POLICY, Acceptances, read_exceptions
from berth.rules.registry import RULES
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
    budget_setting: str | None
    """The stack's own `berth:budget`, as JSON."""
    stack_tags: tuple[str, ...]
    resources: tuple[Resource, ...]
    accepted: Acceptances
    """Exceptions, and which of them covered something so far."""
    exception_problems: tuple[str, ...]
    """What is wrong with the configured exceptions."""


@dataclass(frozen=True, slots=True)
class StackFacts:
    """What the engine says of the stack before it asks about resources."""

    stack: str = ""
    environment_setting: str | None = None
    budget_setting: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfiguredExceptions:
    """The exceptions of one run, and what is wrong with them."""

    accepted: Acceptances
    problems: tuple[str, ...] = ()


def read_configured(properties: Any, today: date) -> ConfiguredExceptions:
    """What the configuration of the exceptions policy says; broken ones count for nothing."""
    if not properties:
        return ConfiguredExceptions(Acceptances((), today))
    try:
        exceptions = read_exceptions(properties, [rule.id for rule in RULES])
    except ValueError as error:
        problems = tuple(f"{EXCEPTIONS_POLICY}: {line}" for line in str(error).splitlines())
        return ConfiguredExceptions(Acceptances((), today), problems)
    return ConfiguredExceptions(Acceptances(exceptions, today))


def read_resource(
    asked: analyzer_pb2.AnalyzeRequest,
    inputs: Properties,
    facts: StackFacts,
    configured: ConfiguredExceptions,
) -> Request:
    """A call about one resource, whose properties are its inputs."""
    resource = Resource(asked.type, asked.name, asked.urn, inputs.values)
    return _request([resource], inputs.secrets, facts, configured)


def read_stack(
    asked: Iterable[analyzer_pb2.AnalyzerResource],
    inputs: Mapping[str, Properties],
    facts: StackFacts,
    configured: ConfiguredExceptions,
) -> Request:
    """A call about all resources, whose properties are their outputs.

    Args:
        asked: the resources.
        inputs: what was read of the inputs of each, by URN.
        facts: what is known of the stack.
        configured: exceptions of the run.
    """
    resources: list[Resource] = []
    secrets: set[str] = set()
    for entry in asked:
        outputs = plain_properties(entry.properties)
        written = inputs.get(entry.urn, Properties({}))
        secrets |= outputs.secrets | written.secrets
        values = author_first(written.values, outputs.values) if written.values else outputs.values
        made_of = {key: tuple(urns.urns) for key, urns in entry.propertyDependencies.items()}
        resources.append(Resource(entry.type, entry.name, entry.urn, values, made_of))
    return _request(resources, secrets, facts, configured)


def _request(
    resources: Sequence[Resource],
    secrets: set[str],
    facts: StackFacts,
    configured: ConfiguredExceptions,
) -> Request:
    return Request(
        view_stack(resources),
        secrets,
        facts.stack,
        facts.environment_setting,
        facts.budget_setting,
        facts.tags,
        tuple(resources),
        configured.accepted,
        configured.problems,
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
