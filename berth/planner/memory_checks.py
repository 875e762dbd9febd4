"""Options that vLLM, the model or the GPU refuse whatever the memory; one line each."""

from berth.catalog.gpu import Gpu
from berth.catalog.model_shape import HeadCache, Model
from berth.planner.engine_options import LORA_RANKS, MOST, MOST_LORAS, EngineOptions
from berth.planner.errors import problem
from berth.planner.vllm_rules import NEWEST, OLDEST, Version, is_known, parse_version
from berth.planner.weights import FORMATS, resolved_quantization

NEEDS: dict[str, tuple[str, ...]] = {
    "fp8": ("fp8", "fp8_fnuz"),
    "int8": ("int8",),
    "int4": ("int4",),
    "mxfp4": ("mxfp4",),
    "nvfp4": ("nvfp4",),
    "nf4": ("int4",),
}
"""Formats of a GPU that serve a family of weights."""
BLOCKS_OF_16_FROM: Version = (0, 8, 0)
FAMILY_OF = {"awq": "int4", "gptq": "int4", "bitsandbytes": "nf4", "fp8_channel": "fp8"}
FP8_CACHE_ON_AMPERE: Version = (0, 30, 0)
"""Seen running on capability 8.6 in 0.30; refused up to 0.29."""


def option_reasons(model: Model, gpu: Gpu, options: EngineOptions) -> list[str]:
    """Every reason to refuse `options` that does not come from counting bytes."""
    return [*reasons_on_any_gpu(model, options), *_format_reasons(model, gpu, options)]


def reasons_on_any_gpu(model: Model | None, options: EngineOptions) -> list[str]:
    """Those that no GPU changes; without a model, those that no model changes either."""
    if model is None:
        return _number_reasons(options)
    return [
        *_number_reasons(options),
        *_length_reasons(model, options),
        *_parallel_reasons(model, options),
    ]


def _number_reasons(options: EngineOptions) -> list[str]:
    reasons = []
    version = parse_version(options.vllm_version)
    if version is None or not is_known(version):
        span = f"{'.'.join(map(str, OLDEST))} to {NEWEST[0]}.{NEWEST[1]}"
        reasons.append(
            problem(
                "vllm_version",
                f"the memory rules of {options.vllm_version[:40]!r} are not known",
                f"use one of {span}",
            )
        )
    share = options.gpu_memory_utilization
    if share is not None and not 0 < share <= 1:
        reasons.append(
            problem(
                "gpu_memory_utilization", f"{share:g} is no share of the memory", "use 0.5 to 0.95"
            )
        )
    for key, most in MOST.items():
        value = getattr(options, key)
        if value is not None and value < 1:
            reasons.append(problem(key, f"{value} is below 1", "use 1 or more"))
        elif value is not None and value > most:
            reasons.append(problem(key, f"{str(value)[:40]} is beyond any server", f"use {most}"))
    reasons += [*_block_reasons(options, version), *_lora_reasons(options)]
    seqs, tokens = options.max_num_seqs, options.max_num_batched_tokens
    if seqs and tokens and tokens < seqs:
        reasons.append(
            problem(
                "max_num_batched_tokens",
                f"{tokens} is below max_num_seqs {seqs}",
                f"use {seqs} or more",
            )
        )
    return reasons


def _block_reasons(options: EngineOptions, version: Version | None) -> list[str]:
    """Attention back ends take blocks of sixteen tokens and multiples; before V1 of eight too."""
    size = options.block_size
    smallest = 16 if version is None or version >= BLOCKS_OF_16_FROM else 8
    if size is None or not 1 <= size <= MOST["block_size"] or size % smallest == 0:
        return []
    fix = "use 16, 32, 64 or 128"
    return [problem("block_size", f"{size} tokens are no multiple of {smallest}", fix)]


def _lora_reasons(options: EngineOptions) -> list[str]:
    reasons = []
    if not 0 <= options.max_loras <= MOST_LORAS:
        what = f"{str(options.max_loras)[:40]} adapters at once are out of range"
        reasons.append(problem("max_loras", what, f"use 1 to {MOST_LORAS}"))
    if options.max_loras and options.max_lora_rank not in LORA_RANKS:
        what = f"{str(options.max_lora_rank)[:40]} is no rank that vLLM takes"
        reasons.append(
            problem("max_lora_rank", what, f"use {_list_or(list(map(str, LORA_RANKS)))}")
        )
    return reasons


def _length_reasons(model: Model, options: EngineOptions) -> list[str]:
    length = options.max_model_len
    if length is None or length <= model.max_positions or options.rope_settings:
        return []
    return [
        problem(
            "max_model_len",
            f"{length} is above the {model.max_positions} positions of {model.name}",
            f"use {model.max_positions} or lower, or a model with rope settings for more",
        )
    ]


def _parallel_reasons(model: Model, options: EngineOptions) -> list[str]:
    reasons = []
    ranks = max(1, options.tensor_parallel_size)
    if model.attention_heads % ranks:
        reasons.append(
            problem(
                "tensor_parallel_size",
                f"{ranks} does not divide the {model.attention_heads} attention heads of "
                f"{model.name}",
                f"use {_list_or(_divisors(model.attention_heads))}",
            )
        )
    caches = [c for c in model.caches if isinstance(c, HeadCache)]
    unlike = [n for n in sorted({c.kv_heads for c in caches}) if n % ranks and ranks % n]
    if unlike and not reasons:
        reasons.append(
            problem(
                "tensor_parallel_size",
                f"{ranks} neither divides the {unlike[0]} KV heads of {model.name} nor is a "
                "multiple",
                f"use {_list_or(_divisors(unlike[0]))}",
            )
        )
    shared = options.decode_context_parallel_size
    if shared > 1 and ranks % shared:
        what = f"{shared} does not divide the {ranks} tensor-parallel ranks"
        reasons.append(problem("decode_context_parallel_size", what, "use a divisor of them"))
    stages = options.pipeline_parallel_size
    if stages > len(model.layers):
        reasons.append(
            problem(
                "pipeline_parallel_size",
                f"{stages} stages for {len(model.layers)} layers",
                f"use {len(model.layers)} or fewer",
            )
        )
    return reasons


def _format_reasons(model: Model, gpu: Gpu, options: EngineOptions) -> list[str]:
    reasons = []
    available = (*gpu.computes, *gpu.stores)
    families: set[str] = {t.format.family for la in model.distinct_layers for t in la.tensors}
    families -= {"16bit", "fp32"}
    chosen = resolved_quantization(model, options.quantization)
    if chosen != "auto":
        families = {FAMILY_OF.get(chosen, chosen)} - {"none"}
        if chosen != "none" and chosen not in FORMATS:
            known = _list_or(["none", *sorted(FORMATS)])
            return [problem("quantization", f"{chosen[:30]!r} is not known", f"use {known}")]
    if chosen != "auto" and model.quantization != "none":
        fix = f"leave it out, or name a repository with weights in {chosen}"
        what = f"the weights of {model.name} are {model.quantization}, not {chosen}"
        return [problem("quantization", what, fix), *_cache_reasons(model, gpu, options)]
    for family in sorted(families):
        if not set(NEEDS[family]).intersection(available):
            reasons.append(
                problem(
                    "quantization",
                    f"{family} weights can be neither computed nor stored on this GPU "
                    f"({', '.join(available)})",
                    "use another format or GPU",
                )
            )
    if options.dtype == "bf16" and "bf16" not in gpu.computes:
        reasons.append(problem("dtype", "this GPU does not compute bf16", "use fp16 or auto"))
    reasons += _cache_reasons(model, gpu, options)
    return reasons


def _cache_reasons(model: Model, gpu: Gpu, options: EngineOptions) -> list[str]:
    kind = options.kv_cache_dtype
    if kind in ("auto", "bf16", "fp16"):
        return []
    if kind.endswith("_per_token_head") or kind == "nvfp4":
        wanted_format = "nvfp4" if kind == "nvfp4" else "bf16"
        if wanted_format in gpu.computes:
            return []
        fix = "use auto"
        return [problem("kv_cache_dtype", f"this GPU holds no {kind} KV cache", fix)]
    wanted = "fp8_e5m2" if kind == "fp8_e5m2" else "fp8"
    version = parse_version(options.vllm_version)
    too_old = (
        gpu.vendor == "nvidia"
        and (8, 0) <= gpu.capability < (8, 9)
        and wanted == "fp8"
        and version is not None
        and version < FP8_CACHE_ON_AMPERE
    )
    if wanted in gpu.kv_cache and not too_old:
        return []
    return [
        problem(
            "kv_cache_dtype",
            f"this GPU holds no {kind} KV cache under vLLM {options.vllm_version}",
            "use auto",
        )
    ]


def _divisors(number: int) -> list[str]:
    return [str(n) for n in (1, 2, 4, 8, 16) if number % n == 0]


def _list_or(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
