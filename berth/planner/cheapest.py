"""The cheapest way to serve a load within its goals: every GPU, format and split compared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from berth.catalog.gpu import Gpu
from berth.catalog.load import Catalog
from berth.catalog.model_shape import LatentCache, Model
from berth.catalog.speed import SpeedConstants, load_speed_constants
from berth.planner.engine_options import EngineOptions
from berth.planner.memory import MemoryVerdict, plan_memory
from berth.planner.node_choice import (
    NodeOffer,
    NodePlan,
    cheapest_nodes,
    usd_per_1m_output_tokens,
)
from berth.planner.plan import SpeedPlan
from berth.planner.sizing import Goals, Miss, Sizing, size
from berth.planner.speed.forecast import Calibration, ServerSpeed
from berth.planner.speed.serving import Traffic

TENSOR_SIZES = (1, 2, 4, 8)
STAGES = (1, 2, 4)
PCIE_RANKS = 2
"""Most tensor-parallel ranks over PCIe: with four, adding up takes longer than computing."""
LENGTH_STEP = 1024
"""Lengths that a plan chooses itself are multiples of this."""
SHORT_STEP_TOKENS = (2048, 1024)
"""Batched tokens tried where longer steps miss the goal for the time per token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """What the owner has decided; None: searched."""

    options: EngineOptions
    """Everything but the parallel sizes and the format holds as it stands."""
    formats: tuple[str, ...] | None = None
    tensor_parallel_size: int | None = None
    pipeline_parallel_size: int | None = None
    replicas: int | None = None


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
    reason: str = ""
    """Why it is out, where it is not the goals."""

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.options.ranks * self.options.data_parallel_size

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
class Comparison:
    """The answer of a search."""

    chosen: Option | None
    """None: nothing meets the goals."""
    nearest: Option
    """The choice, else what comes nearest to it."""
    pareto: tuple[Option, ...]
    """What costs more than the choice and answers faster; the cheapest first."""
    rejected: tuple[tuple[Option, str], ...]
    """Per GPU and format that lost its best try, and why."""


def compare_options(
    model: Model,
    fixed: Fixed,
    load: Traffic,
    goals: Goals,
    offers: Mapping[str, Sequence[NodeOffer]],
    catalog: Catalog,
    calibration: Calibration | None = None,
) -> Comparison:
    """Every GPU of `offers` with every format and split, the cheapest that holds the goals first.

    Raises:
        LookupError: if there is no GPU at all to choose from.
    """
    constants = load_speed_constants()
    found: list[Option] = []
    for key, of_gpu in offers.items():
        gpu = catalog.gpus[key]
        for quantization in formats_for(model, gpu, fixed):
            base = replace(fixed.options, quantization=quantization)
            if not base.vllm_version:
                version = catalog.software.vllm[gpu.vendor].version
                base = replace(base, vllm_version=version)
            tried = splits(model, gpu, of_gpu, base, fixed)
            if gpu.memory_gb_per_s is None or not gpu.dense_tflops:
                tried = list(tried)[-1:]  # one is enough to say that its speed is not known
            for options in tried:
                factors = _for_split(calibration, key, options)
                found.append(
                    _option(
                        model, key, gpu, options, load, goals, of_gpu, fixed, constants, factors
                    )
                )
    if not found:
        raise LookupError("no GPU is left to choose from; name another region, GPU or tier")
    return _compared(found)


def _for_split(
    calibration: Calibration | None, gpu: str, options: EngineOptions
) -> Calibration | None:
    """The calibration where it was measured on this GPU and split."""
    if calibration is None:
        return None
    same = (calibration.gpu, calibration.tensor_parallel_size) == (
        gpu,
        options.tensor_parallel_size,
    )
    return calibration if same else None


def formats_for(model: Model, gpu: Gpu, fixed: Fixed) -> tuple[str, ...]:
    """Formats to try: those allowed, of which the GPU computes or stores the weights."""
    if fixed.formats is not None:
        return fixed.formats
    if model.quantization != "none":
        return ("auto",)
    computes_fp8 = bool({"fp8", "fp8_fnuz"} & set(gpu.computes))
    return ("auto", "fp8") if computes_fp8 else ("auto",)


def splits(
    model: Model, gpu: Gpu, offers: Sequence[NodeOffer], base: EngineOptions, fixed: Fixed
) -> Iterable[EngineOptions]:
    """Ways to divide the model over GPUs: tensor parallel in a node, stages on PCIe or across."""
    most = max((offer.gpus for offer in offers), default=1)
    linked = gpu.fabric.kind != "pcie"
    ranks = (fixed.tensor_parallel_size,) if fixed.tensor_parallel_size else TENSOR_SIZES
    stages = (fixed.pipeline_parallel_size,) if fixed.pipeline_parallel_size else STAGES
    for tensor in ranks:
        if fixed.tensor_parallel_size is None and (
            tensor > (most if linked else min(PCIE_RANKS, most)) or model.attention_heads % tensor
        ):
            continue
        for pipeline in stages:
            if fixed.pipeline_parallel_size is None and pipeline > 1:
                across = linked and (tensor != most or pipeline > 2)
                if (
                    across
                    or pipeline > len(model.layers)
                    or (not linked and tensor * pipeline > most)
                ):
                    continue
            yield replace(base, tensor_parallel_size=tensor, pipeline_parallel_size=pipeline)
    if fixed.tensor_parallel_size is None and fixed.pipeline_parallel_size is None:
        yield from _shared_experts(model, base, most if linked else 1)


def _shared_experts(model: Model, base: EngineOptions, most: int) -> Iterable[EngineOptions]:
    """Data-parallel attention with shared experts, where tensor parallel would copy the cache."""
    latent = any(isinstance(cache, LatentCache) for cache in model.caches)
    routed = any(layer.top_k for layer in model.distinct_layers)
    if latent and routed and most >= TENSOR_SIZES[-1]:
        yield replace(base, tensor_parallel_size=1, data_parallel_size=most, expert_parallel=True)


def _option(
    model: Model,
    key: str,
    gpu: Gpu,
    options: EngineOptions,
    load: Traffic,
    goals: Goals,
    offers: Sequence[NodeOffer],
    fixed: Fixed,
    constants: SpeedConstants,
    calibration: Calibration | None,
) -> Option:
    options, verdict = _with_length(model, gpu, options, load)
    option = Option(gpu=key, options=options, verdict=verdict, speed=None, sizing=None, nodes=None)
    if not verdict.fits and fixed.tensor_parallel_size is None:
        return replace(option, reason=verdict.reasons[0])
    try:
        speed = ServerSpeed(model, key, gpu, options, verdict.terms, load, constants, calibration)
    except LookupError as error:
        return replace(option, reason=f"speed: {error.args[0]}")
    sizing = size(speed, goals, constants.safe_load_share, fixed.replicas)
    for tokens in SHORT_STEP_TOKENS if verdict.fits else ():
        if fixed.options.max_num_batched_tokens is not None or not _waits_for_prompts(sizing):
            break
        if tokens >= verdict.max_num_batched_tokens:
            continue
        shorter = replace(options, max_num_batched_tokens=tokens)
        tried = plan_memory(model, gpu, shorter)
        if tried.fits:
            speed = ServerSpeed(model, key, gpu, shorter, tried.terms, load, constants, calibration)
            options, verdict = shorter, tried
            sizing = size(speed, goals, constants.safe_load_share, fixed.replicas)
    stage = option.gpus // options.pipeline_parallel_size
    nodes = cheapest_nodes(offers, option.gpus, stage, sizing.replicas)
    reason = "" if verdict.fits else verdict.reasons[0]
    if nodes is None and verdict.fits:
        reason = f"nodes: no node of {key} holds {option.gpus} GPUs and their host memory"
        if cheapest_nodes(offers, option.gpus, stage, 1) is not None:
            reason = (
                f"load: {sizing.replicas} replicas of {option.gpus} GPUs are more than there are "
                "nodes"
            )
    return replace(
        option,
        options=options,
        verdict=verdict,
        speed=speed,
        sizing=sizing,
        nodes=nodes,
        reason=reason,
    )


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


def _waits_for_prompts(sizing: Sizing) -> bool:
    """Whether only the time per token is missed, which shorter prompt steps may mend."""
    return [miss.goal for miss in sizing.misses] == ["itl_ms"]


def _compared(found: Sequence[Option]) -> Comparison:
    holding = sorted((o for o in found if o.holds), key=_order)
    chosen = holding[0] if holding else None
    nearest = chosen if chosen is not None else min(found, key=_distance)
    pareto = _pareto(holding)
    shown = {id(option) for option in (nearest, *pareto)}
    groups: dict[tuple[str, str], list[Option]] = {}
    for option in found:
        groups.setdefault((option.gpu, option.options.quantization), []).append(option)
    rejected = []
    for group in groups.values():
        if any(id(option) in shown for option in group):
            continue
        best = min(group, key=lambda o: (not o.holds, _order(o) if o.holds else _distance(o)))
        rejected.append((best, why_out(best, nearest)))
    return Comparison(
        chosen=chosen, nearest=nearest, pareto=tuple(pareto), rejected=tuple(rejected)
    )


def _order(option: Option) -> tuple[bool, Decimal, Decimal, float, int]:
    """Price, price per token, then the most spare capacity; last the unpriced, by their GPUs."""
    usd, per_token = option.usd_per_hour, option.usd_per_1m
    spare = 0.0
    asked = option.gpus * (option.sizing.replicas if option.sizing is not None else 1)
    if option.speed is not None and option.sizing is not None:
        spare = option.speed.saturation_requests_per_s * option.sizing.replicas
    gpus = option.nodes.nodes * option.nodes.offer.gpus if option.nodes is not None else 0
    return usd is None, usd or Decimal(asked), per_token or Decimal(0), -spare, gpus


def _distance(option: Option) -> tuple[float, float, float]:
    """How far from the goals: what does not fit is farther than what is slow."""
    if option.sizing is None or not option.verdict.fits:
        return 2.0, -option.verdict.memory.visible_gib * option.gpus, 0.0
    if not option.sizing.misses:
        return 1.0, 1.0, 0.0
    return 0.0, option.sizing.misses[0].ratio, float(option.usd_per_hour or 0)


def _pareto(holding: Sequence[Option]) -> list[Option]:
    """Besides the cheapest, what costs more and is faster to the first or per token."""
    kept: list[Option] = []
    best: list[tuple[float, float]] = []
    for option in holding:
        if option.sizing is None:
            continue
        ttft, itl = option.sizing.answer.ttft_ms, option.sizing.answer.itl_ms
        if any(t <= ttft and i <= itl for t, i in best):
            continue
        best.append((ttft, itl))
        kept.append(option)
    return kept[1:]


def why_out(option: Option, chosen: Option) -> str:
    """One line: the limit that it misses, or what it costs against the choice."""
    split = split_words(option)
    if option.reason:
        return f"{split}: {option.reason}"
    if option.miss is not None:
        return f"{split}: {option.miss.words()}"
    usd, best = option.usd_per_hour, chosen.usd_per_hour
    if usd is None:
        return f"{split}: {option.nodes.offer.no_price if option.nodes else 'no price is known'}"
    if best is None:
        return f"{split}: holds the goals at {usd:.2f} USD/h"
    replicas = option.sizing.replicas if option.sizing is not None else 0
    return f"{split}: {usd:.2f} USD/h with {replicas} replicas against {best:.2f}"


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
