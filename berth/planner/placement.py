"""How one model server is split over the GPUs of its tier, and in which number format."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from berth.catalog.model import Model
from berth.config.stack import ModelConfig
from berth.planner.engine_options import EngineOptions
from berth.planner.errors import problem
from berth.planner.memory import MemoryVerdict, plan_memory
from berth.planner.memory_checks import option_reasons
from berth.planner.search_space import PCIE_RANKS
from berth.planner.spanning import over_nodes, splits_over_nodes
from berth.planner.tiers import Tier
from berth.planner.weights import is_made_while_loading


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The first split that fits, widest format first, then the fewest GPUs."""

    quantization: str
    tensor_parallel_size: int
    pipeline_parallel_size: int = 1
    data_parallel_size: int = 1
    expert_parallel: bool = False
    gpu_memory_utilization: float
    verdict: MemoryVerdict

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tensor_parallel_size * self.pipeline_parallel_size * self.data_parallel_size


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    quantization: str
    options: EngineOptions
    verdict: MemoryVerdict


def place(
    name: str,
    config: ModelConfig,
    model: Model,
    tier: Tier,
    vllm_version: str,
    problems: list[str],
) -> Placement | None:
    """Where the server called `name` fits on `tier`; None with a line in `problems`.

    A replica takes several nodes only where none of its formats fits on one.
    """
    key = f"berth:models.{name}"
    formats = _formats(key, config, model, tier, problems)
    attempts: list[_Attempt] = []
    for splits in (
        _splits_of_one_node(key, config, model, tier, problems),
        splits_over_nodes(config, model, tier),
    ):
        for quantization, (size, stages) in product(formats, splits):
            options = engine_options(
                config,
                "auto" if quantization == model.quantization else quantization,
                size,
                vllm_version,
            )
            options = replace(options, pipeline_parallel_size=stages)
            verdict = plan_memory(model, tier.gpu, options)
            if verdict.fits:
                return Placement(
                    quantization=quantization,
                    tensor_parallel_size=size,
                    pipeline_parallel_size=options.pipeline_parallel_size,
                    data_parallel_size=options.data_parallel_size,
                    expert_parallel=options.expert_parallel,
                    gpu_memory_utilization=_utilization(config, verdict),
                    verdict=verdict,
                )
            attempts.append(_Attempt(quantization=quantization, options=options, verdict=verdict))
    if attempts:
        problems.extend(_refusals(key, config, model, tier, attempts))
    return None


def _formats(
    key: str, config: ModelConfig, model: Model, tier: Tier, problems: list[str]
) -> tuple[str, ...]:
    """Formats to try, the widest first; none where the one asked for is not the checkpoint's."""
    own, wanted = model.quantization, config.quantization
    if own == "none" and wanted == "auto":
        computes_fp8 = bool({"fp8", "fp8_fnuz"} & set(tier.gpu.computes))
        return ("none", "fp8") if computes_fp8 else ("none",)
    if wanted == "auto":
        return (own,)
    wrong = wrong_format(key, config, model)
    if wrong is not None:
        problems.append(wrong)
        return ()
    return (wanted,)


def wrong_format(key: str, config: ModelConfig, model: Model) -> str | None:
    """A line where the format asked for is neither the checkpoint's nor made while loading."""
    own, wanted = model.quantization, config.quantization
    if wanted in ("auto", own) or is_made_while_loading(model, wanted):
        return None
    weights = "in 16 bits" if own == "none" else own
    return problem(
        f"{key}.quantization",
        f"{wanted} is asked for, but the weights of {config.model} are {weights}",
        "leave it out, or name a repository in that format",
    )


def _splits_of_one_node(
    key: str, config: ModelConfig, model: Model, tier: Tier, problems: list[str]
) -> Sequence[tuple[int, int]]:
    """Tensor parallel sizes to try with their stages, the smallest first; those given as they are.

    What is given may take several nodes.
    """
    given, stages = config.tensor_parallel_size, config.pipeline_parallel_size or 1
    refused = over_nodes(key, config, tier)
    if refused is not None:
        problems.append(refused)
        return ()
    if given is None:
        copies = stages * (config.data_parallel_size or 1)
        linked = tier.gpu.fabric.kind != "pcie"
        room = tier.most_gpus // copies
        most = room if linked else min(PCIE_RANKS, room)
        powers = [1 << exponent for exponent in range(most.bit_length())]
        return [(size, stages) for size in powers if model.attention_heads % size == 0]
    return [(given, stages)]


def engine_options(
    config: ModelConfig, quantization: str, ranks: int, vllm_version: str
) -> EngineOptions:
    """What the stack says of the engine, with a format and a split."""
    return EngineOptions(
        vllm_version=vllm_version,
        quantization=quantization,
        kv_cache_dtype=config.kv_cache_dtype,
        tensor_parallel_size=ranks,
        pipeline_parallel_size=config.pipeline_parallel_size or 1,
        data_parallel_size=config.data_parallel_size or 1,
        expert_parallel=config.expert_parallel,
        max_model_len=config.max_model_len,
        max_num_seqs=config.max_num_seqs,
        max_num_batched_tokens=config.max_num_batched_tokens,
        gpu_memory_utilization=config.gpu_memory_utilization,
    )


def _utilization(config: ModelConfig, verdict: MemoryVerdict) -> float:
    """The share that is asked for, else vLLM's default with which the verdict counted."""
    memory = verdict.memory
    return config.gpu_memory_utilization or round(memory.requested_gib / memory.visible_gib, 4)


def _refusals(
    key: str, config: ModelConfig, model: Model, tier: Tier, attempts: list[_Attempt]
) -> list[str]:
    """Why no attempt fits: options that are refused anyhow, else the memory in each format.

    Of each format the split over the most GPUs speaks, since more GPUs leave more memory.
    """
    widest = {attempt.options.quantization: attempt for attempt in attempts}.values()
    options = [option_reasons(model, tier.gpu, attempt.options) for attempt in widest]
    if any(options):
        once = dict.fromkeys(reason for reasons in options for reason in reasons)
        return [_in_stack_key(key, reason) for reason in once]
    lines: list[str] = []
    for attempt in widest:
        words = "16 bit" if attempt.quantization == "none" else attempt.quantization
        ranks = attempt.options.ranks
        where = f"{config.model} in {words} on {ranks} x {tier.gpu_key}, "
        lines.extend(_in_stack_key(key, reason, where) for reason in attempt.verdict.reasons)
    return lines


def _in_stack_key(key: str, reason: str, where: str = "") -> str:
    """A reason `option: text`, said of a key of the stack where the option is one."""
    option, _, text = reason.partition(": ")
    if option in ModelConfig.model_fields:
        return f"{key}.{option}: {where}{text}"
    return f"{key}: {where}{option} {text}"
