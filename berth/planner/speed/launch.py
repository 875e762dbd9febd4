"""What a step costs the CPU: launching kernels, bookkeeping, and steps outside of a CUDA graph."""

from dataclasses import dataclass

from berth.catalog.speed import SpeedConstants
from berth.planner.speed.work import Work
from berth.planner.vllm_rules import NEWEST, parse_version

GRAPH_MULTIPLE = 8
"""CUDA graphs of decode steps are captured for 1, 2, 4 and multiples of 8 sequences."""
LARGEST_GRAPH = 512


@dataclass(frozen=True, slots=True)
class Launch:
    """Times of one step that no GPU makes shorter, in milliseconds."""

    fixed_ms: float
    sequence_ms: float
    """Per sequence in the step."""
    decode_floor_ms: float
    """What a step without prompt tokens takes at least."""
    graph_floor_ms: float
    """What one with prompt tokens takes at least, in a piecewise CUDA graph."""
    eager_floor_ms: float
    """The same outside of any graph."""
    graph_tokens: int
    """Most tokens of a step in a graph."""

    def floor_ms(self, tokens: float, prompt_tokens: float) -> float:
        """What a step of `tokens`, of which some are of prompts, takes at least."""
        if not prompt_tokens:
            return self.decode_floor_ms
        return self.graph_floor_ms if tokens <= self.graph_tokens else self.eager_floor_ms


def launch_of(
    work: Work,
    constants: SpeedConstants,
    *,
    vllm_version: str,
    async_scheduling: bool | None,
    enforce_eager: bool,
    blackwell: bool,
) -> Launch:
    """The launches of one model on one version of the engine.

    Args:
        work: its layers.
        constants: times per layer, step and sequence.
        vllm_version: decides the kind of graphs and, if nothing is said, the scheduling.
        async_scheduling: None for the default of the version.
        enforce_eager: no CUDA graphs at all.
        blackwell: on data-centre Blackwell.
    """
    version = parse_version(vllm_version) or NEWEST
    floor = constants.prompt_floor_us
    eager_ms = (floor.eager_blackwell if blackwell else floor.eager) * work.layers / 1e3
    layers_us = constants.layer_us * work.layers + constants.moe_layer_us * work.moe_layers
    layers_us += constants.state_layer_us * work.state_layers
    decode_floor_ms = 0.0
    if enforce_eager:
        decode_floor_ms = eager_ms
    elif version < (parse_version(constants.full_graphs_from) or NEWEST):
        decode_floor_ms = constants.piecewise_layer_us * work.layers / 1e3
    return Launch(
        fixed_ms=(layers_us + constants.step_us) / 1e3,
        sequence_ms=_sequence_us(version, async_scheduling, constants) / 1e3,
        decode_floor_ms=decode_floor_ms,
        graph_floor_ms=eager_ms if enforce_eager else floor.graph * work.layers / 1e3,
        eager_floor_ms=eager_ms,
        graph_tokens=constants.prompt_graph_tokens,
    )


def graph_rows(sequences: float) -> float:
    """Rows that a decode step computes: the next captured size."""
    if sequences > LARGEST_GRAPH:
        return sequences
    for size in (0, 1, 2, 4):
        if sequences <= size:
            return size
    return GRAPH_MULTIPLE * -(-sequences // GRAPH_MULTIPLE)


def _sequence_us(
    version: tuple[int, int, int], async_scheduling: bool | None, constants: SpeedConstants
) -> float:
    on_from = parse_version(constants.async_scheduling_from) or NEWEST
    if not (version >= on_from if async_scheduling is None else async_scheduling):
        return constants.sequence_before_async_us
    return constants.sequence_early_async_us if version < on_from else constants.sequence_us
