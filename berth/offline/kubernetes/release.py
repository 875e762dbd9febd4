"""A Helm release, as the one resource that the provider makes of it."""

import copy
from collections.abc import Callable
from typing import Any, Final

from berth.offline.values import UNKNOWN, Properties, is_unknown, plain

RELEASE: Final = "kubernetes:helm.sh/v3:Release"
REPLACE_ON: Final = ("name", "namespace")
MAX_NAME_LENGTH: Final = 53
"""Helm's own bound: https://github.com/helm/helm pkg/chart/common/util/validate_name.go"""

_MADE: Final = "__name_made"


def filled_release(
    new: Properties, old: Properties | None, namespace: str, make_name: Callable[[], str]
) -> Properties:
    """The inputs with name and namespace put in where the program has none."""
    inputs = copy.deepcopy({k: v for k, v in new.items() if not k.startswith("__")})
    if not inputs.get("name"):
        before = old or {}
        inputs["name"] = before["name"] if before.get(_MADE) is True else make_name()
        inputs[_MADE] = True
    if not inputs.get("namespace"):
        inputs["namespace"] = namespace
    return inputs


def planned_release(inputs: Properties) -> Properties:
    """The release before Helm has seen it."""
    outputs = {key: copy.deepcopy(v) for key, v in inputs.items() if not key.startswith("__")}
    for name in ("status", "manifest", "resourceNames", "version"):
        outputs.setdefault(name, UNKNOWN)
    return outputs


def live_release(planned: Properties, old: Properties | None = None) -> Properties:
    """The release once it is deployed; every update is a revision more."""
    live = dict(planned)
    bare = plain(planned)
    if is_unknown(live["version"]):
        live["version"] = plain(old or {}).get("version") or "0.0.0-pretended"
    revision = plain(old or {}).get("status", {}).get("revision", 0) + 1
    live["status"] = {
        "appVersion": "",
        "chart": str(bare.get("chart", "")).rpartition("/")[2],
        "name": bare["name"],
        "namespace": bare["namespace"],
        "revision": revision,
        "status": "deployed",
        "version": plain(live["version"]),
    }
    empty: dict[str, Any] = {}
    for name in ("manifest", "resourceNames"):
        if is_unknown(live[name]):
            live[name] = empty
    return live


def is_auto_named(inputs: Properties) -> bool:
    """True if the provider made the release's name."""
    return inputs.get(_MADE) is True
