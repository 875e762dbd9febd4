"""Inputs and outputs of one resource as one: what its author wrote, completed by what is known.

Stack policies get outputs. Where a provider cannot be asked yet, such as Kubernetes on a cluster of
the same preview, they are empty; where it can, they hold defaults that nobody wrote.
"""

from collections.abc import Mapping
from typing import Any

from berth.rules.unknown import UNKNOWN


def author_first(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs, their unknown values filled from the outputs, and what only outputs know."""
    assigned = {
        key: value for key, value in outputs.items() if key not in inputs and value is not UNKNOWN
    }
    return {**{key: _filled(value, outputs.get(key)) for key, value in inputs.items()}, **assigned}


def _filled(written: Any, known: Any) -> Any:
    if written is UNKNOWN:
        return UNKNOWN if known is None else known
    if isinstance(written, Mapping) and isinstance(known, Mapping):
        return {key: _filled(value, known.get(key)) for key, value in written.items()}
    if isinstance(written, list) and isinstance(known, list) and len(written) == len(known):
        return [_filled(item, other) for item, other in zip(written, known, strict=True)]
    return written
