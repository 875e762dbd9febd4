"""Which GPUs did anything in a window of time, by what their exporter and vLLM say of them.

A GPU is idle only where every step of the window was seen and none was above the threshold: a gap
is not idleness, and neither is a GPU that nobody scrapes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from berth.idle.prometheus import Series, Source, Window

UTIL: Final = "DCGM_FI_DEV_GPU_UTIL"
ENGINE: Final = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
"""Per cent, and a share of 1; MIG slices have only the second.
Source: https://docs.nvidia.com/datacenter/dcgm/latest/dcgm-api/dcgm-api-field-ids.html"""
TOKENS: Final = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total")
"""Source: https://docs.vllm.ai/en/stable/design/metrics/"""
MOST_IDLE_PERCENT: Final = 1.0
"""A busy model server is far above; the exporter rounds to whole per cent."""
_POD_LABELS: Final = (
    ("exported_namespace", "exported_pod"),
    ("namespace", "pod"),
)
"""Where Prometheus keeps the exporter's own labels apart from those of the scrape, the first."""

_EXPORTER: Final = "dcgm-exporter"

State = Literal["used", "idle", "not seen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """What holds a GPU."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUse:
    """One GPU, or one MIG slice of one."""

    uuid: str
    slice: str
    """GPU instance of MIG; empty for a whole GPU."""
    host: str
    product: str
    """As the driver calls it, such as `NVIDIA L4`."""
    pod: Pod | None
    """The last that held it in the window; None: nobody does, or nobody says."""
    state: State
    most_percent: float | None
    """None: never seen."""
    steps_seen: int
    served_tokens: float | None
    """By its pod in the window; None: no vLLM, or not seen all the time."""


@dataclass(slots=True)
class _Seen:
    labels: Mapping[str, str] = field(default_factory=dict)
    last_s: int = -1
    values: dict[int, float] = field(default_factory=dict)

    def add(self, series: Series, factor: float) -> None:
        for at, value in series.values.items():
            self.values[at] = max(self.values.get(at, 0.0), value * factor)
        last_s = max(series.values, default=-1)
        if last_s >= self.last_s:
            self.labels, self.last_s = series.labels, last_s


def gpu_queries(window: Window) -> tuple[str, str]:
    """The greatest use of every step, so that no peak falls between two points."""
    step = f"{window.step_s}s"
    return f"max_over_time({UTIL}[{step}])", f"max_over_time({ENGINE}[{step}])"


def token_query(window: Window) -> str:
    """Tokens of every step by pod, prompts and answers together."""
    names = "|".join(TOKENS)
    return f'sum by (namespace, pod) (increase({{__name__=~"{names}"}}[{window.step_s}s]))'


def gpu_uses(source: Source, window: Window) -> list[GpuUse]:
    """Every GPU that was seen at all, in order of host and number."""
    util, engine = gpu_queries(window)
    seen: dict[tuple[str, str], _Seen] = {}
    _collect(source.series(util, window), 1.0, seen)
    by_engine: dict[tuple[str, str], _Seen] = {}
    _collect(source.series(engine, window), 100.0, by_engine)
    for key, found in by_engine.items():
        seen.setdefault(key, found)
    tokens = _tokens(source.series(token_query(window), window))
    uses = [_use(key, found, window, tokens) for key, found in seen.items()]
    return sorted(uses, key=lambda use: (use.host, use.uuid, use.slice))


def _collect(series: Iterable[Series], factor: float, seen: dict[tuple[str, str], _Seen]) -> None:
    """By GPU: the labels of its pod change while it stays the same GPU."""
    for each in series:
        uuid = each.labels.get("UUID") or each.labels.get("uuid", "")
        number = each.labels.get("gpu", "")
        key = uuid or f"{_host(each.labels)}/{number}"
        seen.setdefault((key, each.labels.get("GPU_I_ID", "")), _Seen()).add(each, factor)


def _host(labels: Mapping[str, str]) -> str:
    return labels.get("Hostname") or labels.get("node") or labels.get("instance", "")


def _use(
    key: tuple[str, str],
    seen: _Seen,
    window: Window,
    tokens: Mapping[tuple[str, str], Mapping[int, float]],
) -> GpuUse:
    uuid, slice_id = key
    pod = _pod(seen.labels)
    served = tokens.get((pod.namespace, pod.name)) if pod is not None else None
    total = sum(served.values()) if served is not None else None
    most = max(seen.values.values(), default=None)
    whole = len(seen.values) == window.steps
    if served is not None and len(served) < window.steps:
        whole, total = False, total or None
    return GpuUse(
        uuid=uuid,
        slice=slice_id,
        host=_host(seen.labels),
        product=seen.labels.get("modelName", ""),
        pod=pod,
        state=_state(most, total, whole),
        most_percent=most,
        steps_seen=len(seen.values),
        served_tokens=total,
    )


def _state(most: float | None, tokens: float | None, whole: bool) -> State:
    """A single busy step, or token, is use; idleness takes all steps."""
    if (most or 0.0) > MOST_IDLE_PERCENT or (tokens or 0.0) > 0:
        return "used"
    return "idle" if whole else "not seen"


def _pod(labels: Mapping[str, str]) -> Pod | None:
    for namespace, name in _POD_LABELS:
        if namespace.startswith("exported") and namespace not in labels:
            continue
        found = labels.get(name, "")
        if not found or _EXPORTER in found:  # the scrape's own pod, where none holds the GPU
            return None
        return Pod(namespace=labels.get(namespace, ""), name=found)
    return None


def _tokens(series: Iterable[Series]) -> dict[tuple[str, str], Mapping[int, float]]:
    found: dict[tuple[str, str], dict[int, float]] = {}
    for each in series:
        pod = found.setdefault((each.labels.get("namespace", ""), each.labels.get("pod", "")), {})
        for at, value in each.values.items():
            pod[at] = pod.get(at, 0.0) + value
    return dict(found)
