"""How GPUs of a stack are shared: time-slicing, MPS and MIG, from charts and ConfigMaps."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import GPU_KEY
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.pool import Pool

_CONFIG_LABEL: Final = "nvidia.com/device-plugin.config"
_MIG_LABEL: Final = "nvidia.com/mig.config"


@dataclass(frozen=True, slots=True)
class Sharing:
    """How many pods may take one GPU, and under which name."""

    source: str
    """The resource that says so."""
    replicas: int
    renames: bool
    """Shares are `nvidia.com/gpu.shared`; `nvidia.com/gpu` is gone."""
    refuses_several: bool
    """A request above one fails."""


def sharing_of(pool: Pool | None, view: StackView) -> Sharing | None:
    """How whole GPUs of a pool are shared; None: not at all, as far as the stack shows.

    Raises:
        KnownAfterApplyError: if that is known after apply.
    """
    for source, configs, default in _configs(view):
        label = pool.labels.at(_CONFIG_LABEL).text() if pool else None
        name = label or default or (next(iter(configs)) if len(configs) == 1 else None)
        found = _parse(source, configs.get(name or ""))
        if found:
            return found
    return None


def _configs(view: StackView) -> Iterator[tuple[str, Mapping[str, Any], str | None]]:
    """Configurations of the device plugin: where they are, by name, and the default's name."""
    for chart in view.charts_named("gpu-operator"):
        config = chart.values.at("devicePlugin", "config")
        yield chart.resource.name, _texts(config.at("data")), config.at("default").text()
    for chart in view.charts_named("nvidia-device-plugin"):
        config = chart.values.at("config")
        yield chart.resource.name, _texts(config.at("map")), config.at("default").text()
    for resource in view.of_kind("ConfigMap"):
        data = Field(resource.props).at("data")
        shared = {} if data.is_unknown else _texts(data)
        shared = {k: v for k, v in shared.items() if isinstance(v, str) and "sharing" in v}
        if shared:
            yield resource.name, shared, None


def _texts(data: Field) -> dict[str, Any]:
    return {key: entry.known() for key, entry in data.entries().items()}


def _parse(source: str, text: Any) -> Sharing | None:
    if not isinstance(text, str):
        return None
    try:
        config = Field(yaml.load(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError):
        return None
    for kind in ("timeSlicing", "mps"):
        shared = config.at("sharing", kind)
        for resource in shared.at("resources").items():
            replicas = resource.at("replicas").integer()
            if resource.at("name").text() != GPU_KEY["nvidia"] or not replicas or replicas < 2:
                continue
            renames = shared.at("renameByDefault").boolean() is True
            renames = renames or not resource.at("rename").is_absent
            refuses = shared.at("failRequestsGreaterThanOne").boolean()
            return Sharing(source, replicas, renames, refuses is True or kind == "mps")
    return None


def mig_strategy(view: StackView) -> str | None:
    """`none`, `single` or `mixed`, from the operator's or the plugin's values; None: not shown.

    Raises:
        KnownAfterApplyError: if it is known after apply.
    """
    for chart in view.charts_named("gpu-operator"):
        stated = chart.values.at("mig", "strategy").text()
        return stated or (None if chart.has_value_files else "single")
    for chart in view.charts_named("nvidia-device-plugin"):
        return chart.values.at("migStrategy").text()
    return None


def mig_layout(pool: Pool) -> str | None:
    """The profile that every GPU of a pool is cut into; None where that is not one for all.

    Raises:
        KnownAfterApplyError: if it is known after apply.
    """
    stated = pool.labels.at(_MIG_LABEL).text() or ""
    layout = stated.removeprefix("all-")
    return layout if stated.startswith("all-") and layout[:1].isdigit() else None


def capacity_of(pool: Pool, key: str, view: StackView) -> int | None:
    """How much of a resource one node of a pool has; None where nobody can say.

    The smallest type counts, but for Karpenter, which starts one that is large enough.

    Raises:
        KnownAfterApplyError: if it is known after apply.
    """
    counts = [node.count for node in pool.nodes]
    if not counts:
        return None
    count = max(counts) if pool.kind == "node pool" else min(counts)
    if pool.vendor != "nvidia":
        return count if key == GPU_KEY.get(pool.vendor or "nvidia") else 0
    layout, strategy = mig_layout(pool), mig_strategy(view)
    slices = _slices(pool, layout) if layout else None
    if key.startswith("nvidia.com/mig-"):
        wanted = key == f"nvidia.com/mig-{layout}"
        return count * slices if strategy == "mixed" and wanted and slices else None
    if layout:
        return count * slices if strategy == "single" and slices else None
    sharing = sharing_of(pool, view)
    if sharing is None:
        return count if key == GPU_KEY["nvidia"] else None
    is_taken_away = sharing.renames == (key == GPU_KEY["nvidia"])
    return None if is_taken_away else count * sharing.replicas


def _slices(pool: Pool, layout: str) -> int | None:
    found = {
        profile.count
        for node in pool.nodes
        for profile in (node.gpu.mig_profiles if node.gpu else ())
        if profile.name == layout
    }
    return min(found) if found else None
