"""The cheapest way to serve a load within its goals: every GPU, format and split compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from berth.catalog.load import Catalog
from berth.catalog.model_shape import Model
from berth.catalog.speed import load_speed_constants
from berth.planner.engine_options import EngineOptions
from berth.planner.node_choice import NodeOffer
from berth.planner.option import Ask, Option, plan_option, split_words
from berth.planner.search_space import Fixed, formats_for, splits
from berth.planner.sizing import Goals
from berth.planner.speed.forecast import Calibration
from berth.planner.speed.serving import Traffic


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
    ask = Ask(model=model, load=load, goals=goals, fixed=fixed, constants=load_speed_constants())
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
                found.append(plan_option(ask, key, gpu, options, of_gpu, factors))
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
