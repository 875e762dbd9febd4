"""The kubernetes package as the service sees it: its configuration, and a provider for each."""

import hashlib
from collections.abc import Mapping
from typing import Any

import yaml

from berth.offline.changes import Comparison
from berth.offline.checks import Problem, unknown_settings
from berth.offline.cloud import Cloud
from berth.offline.kubernetes.provider import SDK, KubernetesProvider
from berth.offline.provider import Difference
from berth.offline.schema import schema_of
from berth.offline.servicer import Package
from berth.offline.values import Properties, is_unknown, plain

_WITHOUT_KUBECONFIG = "default"


def kubernetes_package(cloud: Cloud) -> Package:
    """The stand-in for the kubernetes package over a pretended cloud."""
    return Package(
        name="kubernetes",
        version=SDK.version,
        configure=lambda config: _provider(cloud, plain(config)),
        check_config=_check_config,
        diff_config=_diff_config,
        schema=lambda: schema_of(SDK, _types(cloud)),
        components=(
            "a component is rendered by the real kubernetes provider only; declare a "
            "kubernetes.helm.v3.Release or the objects themselves to preview offline"
        ),
    )


def _types(cloud: Cloud) -> list[str]:
    return sorted({r.type for r in cloud.records() if r.type.startswith("kubernetes:")})


def _provider(cloud: Cloud, config: Properties) -> KubernetesProvider:
    settings = {key: _truth(value) for key, value in config.items()}
    namespace = config.get("namespace") or "default"
    return KubernetesProvider(cloud, cluster_of(config), str(namespace), settings)


def _truth(value: Any) -> Any:
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def cluster_of(config: Properties) -> str:
    """What tells a cluster from another: the server of the kubeconfig's context.

    A kubeconfig that is the path of a file stands for itself: no run offline reads a user's file.
    """
    text = config.get("kubeconfig")
    context = config.get("context")
    if not text or _is_path(text):
        return "#".join(str(part) for part in (text, context) if part) or _WITHOUT_KUBECONFIG
    document = _parsed(text)
    if document is None:
        return hashlib.sha256(str(text).encode()).hexdigest()[:16]
    wanted = context or document.get("current-context")
    clusters = {row["name"]: row.get("cluster", {}) for row in document.get("clusters", [])}
    contexts = {row["name"]: row.get("context", {}) for row in document.get("contexts", [])}
    name = contexts.get(wanted, {}).get("cluster", wanted)
    return str(clusters.get(name, {}).get("server") or wanted or _WITHOUT_KUBECONFIG)


def _is_path(text: Any) -> bool:
    return isinstance(text, str) and text.startswith(("/", "~", ".")) and "\n" not in text


def _parsed(text: Any) -> Mapping[str, Any] | None:
    """The kubeconfig as a structure, given as one or as text."""
    if isinstance(text, Mapping):
        return text
    try:
        document = yaml.load(str(text), Loader=yaml.CSafeLoader)  # the C form of SafeLoader
    except yaml.YAMLError:
        return None
    return document if isinstance(document, Mapping) else None


def _check_config(config: Properties) -> tuple[Properties, list[Problem]]:
    problems = unknown_settings(config, SDK.config_keys())
    text = plain(config.get("kubeconfig"))
    if text and not is_unknown(text) and not _is_path(text) and _parsed(text) is None:
        problem = "kubeconfig is neither YAML nor JSON nor the path of a file"
        problems.append(Problem(("kubeconfig",), problem))
    return config, problems


def _diff_config(old: Properties, new: Properties) -> Difference:
    """Another cluster is another provider; anything else changes in place."""
    before, after = plain(old), plain(new)
    changes = Comparison(lenient=True).changes(before, after)
    changes = [change for change in changes if change.path[0] != "version"]
    known = not is_unknown(old.get("kubeconfig")) and not is_unknown(new.get("kubeconfig"))
    moved = known and cluster_of(before) != cluster_of(after)
    replacing = [c for c in changes if moved and c.path[0] in ("kubeconfig", "context")]
    return Difference(changes=tuple(changes), replacing=tuple(replacing))
