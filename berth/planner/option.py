"""One GPU model, format and split for a load: memory, speed, replicas and nodes together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from berth.catalog.gpu import Gpu
from berth.catalog.model_shape import Model
from berth.catalog.speed import SpeedConstants
from berth.planner.engine_options import EngineOptions
from berth.planner.host_fit import HostFit, host_fit
from berth.planner.memory import MemoryVerdict, plan_memory
from berth.planner.node_choice import (
    NodeOffer,
    NodePlan,
    cheapest_nodes,
    usd_per_1m_output_tokens,
)
from berth.planner.plan import SpeedPlan
from berth.planner.search_space import Fixed
from berth.planner.sizing import Goals, Miss, Sizing, size
from berth.planner.speed.forecast import Calibration, ServerSpeed
from berth.planner.speed.serving import Traffic

LENGTH_STEP = 1024
"""Lengths that a plan chooses itself are multiples of this."""
SHORT_STEP_TOKENS = (2048, 1024)
"""Batched tokens tried where longer steps miss the goal for the time per token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One GPU model, format and split with its replicas."""

    gpu: str
    options: EngineOptions
    verdict: MemoryVerdict
    speed: ServerSpeed | None
    """None where it does not fit or its speed is not known."""
    sizing: Sizing | None
    nodes: NodePlan | None
    host: HostFit | None = None
    """What one replica takes of its host; None without nodes."""
    reason: str = ""
    """Why it is out, where it is not the goals."""

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.options.ranks * self.options.data_parallel_size

    @property
    def nodes_per_replica(self) -> int | None:
        """Nodes that one replica takes, in part or whole; None without any."""
        return None if self.nodes is None else -(-self.gpus // self.nodes.offer.gpus)

    @property
    def holds(self) -> bool:
        """Whether it fits and meets the goals."""
        sized = self.sizing is not None and not self.sizing.misses
        return self.verdict.fits and sized and self.nodes is not None

    @property
    def usd_per_hour(self) -> Decimal | None:
        """Of all nodes."""
        return None if self.nodes is None else self.nodes.usd_per_hour

    @property
    def miss(self) -> Miss | None:
        """What is missed by most."""
        return self.sizing.misses[0] if self.sizing is not None and self.sizing.misses else None

    def plan(self) -> SpeedPlan | None:
        """Its speed as a plan says it."""
        if self.speed is None or self.sizing is None:
            return None
        return self.speed.plan(self.sizing.replicas)

    @property
    def usd_per_1m(self) -> Decimal | None:
        """Price of a million output tokens under the load."""
        usd = self.usd_per_hour
        if usd is None or self.sizing is None:
            return None
        tokens = self.sizing.answer.output_tokens_per_s * self.sizing.replicas
        return usd_per_1m_output_tokens(usd, tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What every option of one search is held to."""

    model: Model
    load: Traffic
    goals: Goals
    fixed: Fixed
    constants: SpeedConstants


def plan_option(
    ask: Ask,
    key: str,
    gpu: Gpu,
    options: EngineOptions,
    offers: Sequence[NodeOffer],
    calibration: Calibration | None,
) -> Option:
    """One split on the GPU called `key`, with the replicas and nodes that the load needs."""
    options, verdict = _with_length(ask.model, gpu, options, ask.load)
    option = Option(gpu=key, options=options, verdict=verdict, speed=None, sizing=None, nodes=None)
    if not verdict.fits and ask.fixed.tensor_parallel_size is None:
        return replace(option, reason=verdict.reasons[0])
    try:
        option = _sized(ask, option, gpu, calibration)
    except LookupError as error:
        return replace(option, reason=f"speed: {error.args[0]}")
    for tokens in SHORT_STEP_TOKENS if verdict.fits else ():
        if ask.fixed.options.max_num_batched_tokens is not None or not _waits_for_prompts(option):
            break
        shorter = replace(option.options, max_num_batched_tokens=tokens)
        if tokens < verdict.max_num_batched_tokens:
            tried = plan_memory(ask.model, gpu, shorter)
            if tried.fits:
                changed = replace(option, options=shorter, verdict=tried)
                option = _sized(ask, changed, gpu, calibration)
    return _on_nodes(option, offers)


def _sized(ask: Ask, option: Option, gpu: Gpu, calibration: Calibration | None) -> Option:
    """With its speed and replicas.

    Raises:
        LookupError: if the speed of the GPU or of its links is not known.
    """
    speed = ServerSpeed(
        ask.model,
        option.gpu,
        gpu,
        option.options,
        option.verdict.terms,
        ask.load,
        ask.constants,
        calibration,
    )
    sizing = size(speed, ask.goals, ask.constants.safe_load_share, ask.fixed.replicas)
    return replace(option, speed=speed, sizing=sizing)


def _on_nodes(option: Option, offers: Sequence[NodeOffer]) -> Option:
    """With the cheapest nodes for its replicas, or the reason why there are none."""
    replicas = option.sizing.replicas if option.sizing is not None else 1
    if option.gpus < 1:
        return replace(option, reason=option.verdict.reasons[0])
    stage = option.gpus // option.options.pipeline_parallel_size
    if option.gpus <= max((offer.gpus for offer in offers), default=0):
        stage = option.gpus  # planned for one node, where stages are near each other
    host: HostFit | None = None
    reason = "" if option.verdict.fits else option.verdict.reasons[0]
    too_small = f"nodes: no node of {option.gpu} holds {option.gpus} GPUs and their host memory"
    left = list(offers)
    while (nodes := cheapest_nodes(left, option.gpus, stage, replicas)) is not None:
        offer = nodes.offer
        host = host_fit(
            option.verdict.weights_bytes,
            option.gpus,
            offer.instance,
            option.options.cpu_offload_gib,
            offer.gpus,
        )
        if not (missing := host.reasons(offer.instance_type or option.gpu)):
            break
        too_small = missing[0]
        left = [each for each in left if each is not offer]
    if nodes is None and option.verdict.fits:
        reason = too_small
        if left and cheapest_nodes(left, option.gpus, stage, 1) is not None:
            reason = (
                f"load: {replicas} replicas of {option.gpus} GPUs are more than there are nodes"
            )
    return replace(option, nodes=nodes, host=host if nodes is not None else None, reason=reason)


def _with_length(
    model: Model, gpu: Gpu, options: EngineOptions, load: Traffic
) -> tuple[EngineOptions, MemoryVerdict]:
    """The memory with the length asked for; where none is, the longest that fits and serves."""
    verdict = plan_memory(model, gpu, options)
    if options.max_model_len is not None or verdict.verdict != "too_little_kv":
        return options, verdict
    longest = verdict.longest_model_len_tokens // LENGTH_STEP * LENGTH_STEP
    if longest < load.input_tokens + load.output_tokens:
        return options, verdict
    shorter = replace(options, max_model_len=longest)
    return shorter, plan_memory(model, gpu, shorter)


def _waits_for_prompts(option: Option) -> bool:
    """Whether only the time per token is missed, which shorter prompt steps may mend."""
    misses = option.sizing.misses if option.sizing is not None else ()
    return [miss.goal for miss in misses] == ["itl_ms"]


def split_words(option: Option) -> str:
    """The split in words, such as `fp8, TP 4`."""
    options = option.options
    parts = [
        "the checkpoint's format" if options.quantization == "auto" else options.quantization,
        f"TP {options.tensor_parallel_size}",
    ]
    if options.pipeline_parallel_size > 1:
        parts.append(f"PP {options.pipeline_parallel_size}")
    if options.data_parallel_size > 1:
        parts.append(f"DP {options.data_parallel_size} with shared experts")
    return ", ".join(parts)
