"""What the service asks of a stand-in provider, in Python values."""

from dataclasses import dataclass
from typing import Protocol

from berth.offline.changes import Change
from berth.offline.checks import Problem
from berth.offline.values import Properties


class CloudError(Exception):
    """The pretended cloud refuses, in the words of the real one."""


class UnsupportedError(Exception):
    """What was asked for needs the real provider, or a line in a data file."""


@dataclass(frozen=True, slots=True)
class Naming:
    """How the engine wants a resource named that its program leaves unnamed."""

    proposed: str = ""
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Resource:
    """Which resource a request is about."""

    urn: str
    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What a change of inputs does to a resource."""

    changes: tuple[Change, ...] = ()
    replacing: tuple[Change, ...] = ()
    deletes_first: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A resource as it is now."""

    id: str
    inputs: Properties
    outputs: Properties


class Provider(Protocol):
    """One configured provider; the engine may hold several of the same package."""

    def check(
        self, resource: Resource, old: Properties | None, new: Properties, naming: Naming
    ) -> tuple[Properties, list[Problem]]:
        """The inputs with names and defaults put in, and everything that is wrong with them."""

    def diff(
        self, resource: Resource, old_inputs: Properties, old_outputs: Properties, new: Properties
    ) -> Difference:
        """What changing to the new inputs would do."""

    def create(
        self, resource: Resource, inputs: Properties, preview: bool
    ) -> tuple[str, Properties]:
        """Make it; a preview makes nothing and leaves unknown what the cloud would assign."""

    def update(
        self,
        resource: Resource,
        resource_id: str,
        old_inputs: Properties,
        old_outputs: Properties,
        new: Properties,
        preview: bool,
    ) -> Properties:
        """Change it in place."""

    def read(
        self, resource: Resource, resource_id: str, inputs: Properties, outputs: Properties
    ) -> Found | None:
        """Look at it; None if it does not exist."""

    def delete(self, resource: Resource, resource_id: str, outputs: Properties) -> None:
        """Remove it; one that is gone already is no error."""

    def invoke(self, token: str, arguments: Properties) -> Properties:
        """Answer a look-up."""
