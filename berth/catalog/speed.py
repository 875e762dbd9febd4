"""Constants of the speed model: what share of a GPU's peaks vLLM reaches, and fixed times."""

from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Annotated

import yaml
from pydantic import Field

from berth.catalog.entry import Entry, Source

Positive = Annotated[float, Field(gt=0)]
Band = tuple[Positive, Positive]
"""Low and high end as factors of the expected value."""


class PromptFloor(Entry):
    """Least time per layer of a step that carries prompt tokens."""

    graph: Positive
    """Up to `prompt_graph_tokens`, in a piecewise CUDA graph."""
    eager: Positive
    eager_blackwell: Positive


class StageHop(Entry):
    """Fixed time from one pipeline stage to the next."""

    node: Positive
    """Inside one node; not measured, a rule of ours."""
    network: Positive
    """Between nodes; not measured, a rule of ours."""


class Bands(Entry):
    """Factors within which nine of ten measured runs lie."""

    itl: Band
    ttft: Band


class WiderBands(Bands):
    """Bands of a GPU with measured runs, and what others get."""

    low_evidence_factor: Annotated[float, Field(ge=1)]
    """Both ends are this much further away on GPUs with fewer than ten measured runs."""


class SpeedConstants(Entry):
    """One fitted set; a plan names it."""

    name: str
    engine_versions: tuple[str, str]
    """Oldest and newest vLLM among the runs."""
    fitted: date
    measured_gpus: Mapping[str, int]
    read_share: Mapping[str, Positive]
    reachable_peak: Mapping[str, Positive]
    """Best matrix speed ever measured as a share of the peak, over that of H100, where lower."""
    full_read_gb_per_s: Positive
    """Bandwidth up to which `read_share` holds."""
    read_share_exponent: Annotated[float, Field(ge=0, lt=1)]
    """Beyond, it falls with the bandwidth to this power."""
    compute_share: Mapping[str, Positive]
    layer_us: float
    moe_layer_us: float
    state_layer_us: float
    """More for a layer with a state: convolution, update, gated norm are own kernels."""
    piecewise_layer_us: float
    """Least time per layer of a decode step before `full_graphs_from`: attention outside graphs."""
    full_graphs_from: str
    state_layer_runs: int
    """Runs of models with such layers; with fewer than ten their evidence is low on any GPU."""
    step_us: float
    sequence_us: float
    sequence_before_async_us: float
    sequence_early_async_us: float
    """With asynchronous scheduling before it was the default."""
    async_scheduling_from: str
    elementwise_bytes: float
    """Per hidden value, token and layer; every rank does it for all tokens."""
    prompt_floor_us: PromptFloor
    prompt_graph_tokens: int
    rank_skew_us: float
    """Per all-reduce and doubling of ranks, beyond the kernel tables."""
    blackwell_fixed_share: float
    """Of latency and skew, where all-reduce and norm are fused."""
    stage_hop_us: StageHop
    network_gb_per_s: Positive
    """One pipeline hop between nodes over EFA; not measured, a rule of ours."""
    server_ms: float
    """Path of a request through the server and back."""
    front_end_ms: float
    """Per request, one after the other: HTTP and tokenizer."""
    front_end_us_per_token: float
    band: WiderBands
    calibrated_band: Bands
    safe_load_share: Annotated[float, Field(gt=0, le=1)]
    """Most of the modelled saturation that a plan uses."""
    gddr: tuple[str, ...]
    """GPUs with GDDR memory."""
    norms_over_ranks: tuple[str, ...]
    """Architectures with one more all-reduce per layer, without payload."""
    all_reduce_of: Mapping[str, str]
    """For GPUs whose all-reduce was not measured, the GPU whose figures stand in."""
    source: Source


@cache
def load_speed_constants() -> SpeedConstants:
    """The constants of this version of Berth."""
    text = files(__package__).joinpath("speed.yaml").read_text(encoding="utf-8")
    return SpeedConstants.model_validate(yaml.load(text, Loader=yaml.CSafeLoader))
