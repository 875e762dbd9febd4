"""What a preview says of its stack besides resources: settings, region, day."""

import json
from collections.abc import Mapping
from typing import Any, Final

from berth.costs.resources.documents import EngineDocument, Side
from berth.costs.resources.values import NotShownError, text

AWS_PROVIDER: Final = "pulumi:providers:aws"
_ARN_REGION: Final = 3


def settings_of(document: EngineDocument) -> dict[str, Any]:
    """The stack's settings by full key, structures decoded; empty for an export."""
    return {key: _decoded(value) for key, value in document.config.items()}


def _decoded(value: Any) -> Any:
    if isinstance(value, Mapping):  # {"value": ..., "secret": ...} of newer engines
        value = value.get("value")
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def region_of(side: Side) -> str | None:
    """The region that the resources are in: of an AWS provider, else of an ARN; None: not said."""
    for resource in side.resources.values():
        if resource.type == AWS_PROVIDER:
            found = _text(resource.inputs, "region") or _text(resource.outputs, "region")
            if found is not None:
                return found
    for resource in side.resources.values():
        parts = (_text(resource.outputs, "arn") or "").split(":")
        if len(parts) > _ARN_REGION and parts[_ARN_REGION]:
            return parts[_ARN_REGION]
    return None


def _text(values: Mapping[str, Any], key: str) -> str | None:
    try:
        return text(values, key)
    except NotShownError:
        return None
