"""One resource of a stack as plain data, whatever it was read from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Resource:
    """What the engine, a manifest or a state file says of one resource."""

    type: str
    """Pulumi type token, such as `kubernetes:apps/v1:Deployment`."""
    name: str
    urn: str
    """Empty where there is no engine."""
    props: Mapping[str, Any]
    """JSON values, and `UNKNOWN` for what the cloud assigns."""
    property_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Property to the URNs of the resources whose outputs it was made of, as far as known."""


def manifest_type(api_version: str, kind: str) -> str:
    """Pulumi's type token of a Kubernetes manifest."""
    version = api_version if "/" in api_version else f"core/{api_version}"
    return f"kubernetes:{version}:{kind}"
