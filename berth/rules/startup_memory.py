"""Rules about GPU memory when an engine starts."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from berth.catalog.gpu import Gpu
from berth.catalog.gpu_software import is_older
from berth.catalog.model_shape import HeadCache, LatentCache, Model
from berth.planner.engine_options import EngineOptions
from berth.planner.memory import plan_memory
from berth.planner.memory_checks import option_reasons
from berth.planner.vllm_rules import is_known, parse_version
from berth.rules.drivers import refuses_driver, refuses_image
from berth.rules.model_facts import (
    MAX_LEN_OPTIONS,
    TP_HEADS_INDIVISIBLE,
    has_rope_settings,
    known_model,
)
from berth.rules.number_formats import QUANTIZATION_OPTIONS, refuses_format
from berth.rules.parallelism import TP_EXCEEDS_GPUS
from berth.rules.rule import Breach, Context, Rule
from berth.rules.sharing import MIG_MULTI_DEVICE
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import GPU_KEY, mig_profile
from berth.rules.stack_view.engine_arguments import EngineArguments
from berth.rules.stack_view.image_software import vllm_version
from berth.rules.stack_view.nodes import INSTANCE_TYPE_OPTION, Nodes
from berth.rules.stack_view.pod import Container
from berth.rules.stack_view.sharing import mig_layout, mig_strategy
from berth.rules.vendors import CPU_ARCH_MISMATCH, VENDOR_MISMATCH

GIB: Final = 2**30
_NOT_JUDGED: Final = ("--cpu-offload-gb", "--kv-cache-memory-bytes", "--kv-cache-memory")
_REFUSING_RULES: Final = (
    TP_EXCEEDS_GPUS,
    TP_HEADS_INDIVISIBLE,
    MIG_MULTI_DEVICE,
    VENDOR_MISMATCH,
    CPU_ARCH_MISMATCH,
)
_QUANTIZATIONS: Final = {
    "fp8": "fp8",
    "awq": "awq",
    "awq_marlin": "awq",
    "gptq": "gptq",
    "gptq_marlin": "gptq",
    "mxfp4": "mxfp4",
    "modelopt_fp4": "nvfp4",
    "bitsandbytes": "bitsandbytes",
}
_MADE_WHILE_LOADING: Final = {
    "bitsandbytes": 0.55,
    "eetq": 0.55,
    "fp8": 0.55,
    "bitsandbytes-fp4": 0.3,
    "bitsandbytes-nf4": 0.3,
}
"""Share of the bytes of 16 bits that stay where another engine than vLLM makes a format itself.

https://huggingface.co/docs/text-generation-inference/conceptual/quantization, read 2026-12-01
"""
_DTYPES: Final = {
    "bfloat16": "bf16",
    "half": "fp16",
    "float16": "fp16",
    "float": "fp32",
    "float32": "fp32",
}
_CACHES: Final = frozenset({"fp8", "fp8_e4m3", "fp8_e5m2"})
_A100_SLICES_GIB: Final = {"1g.5gb": 4.75, "1g.10gb": 9.5, "3g.40gb": 39.25}
_LARGEST_SLICE_SHARE: Final = 0.98
"""A slice shows at most this share of the GiB in its name."""
_LEAST_LENGTH_LOG2: Final = 10
_TENSOR_SIZES: Final = (2, 4, 8)


def _find_out_of_memory(container: Container, context: Context) -> Iterator[Breach]:
    arguments, model = container.engine_arguments, known_model(container)
    if arguments is None or model is None or not container.is_model_server:
        return
    if any(arguments.has(option) for option in _NOT_JUDGED) or arguments.is_partial:
        return
    if (arguments.text("--max-model-len") or "").lower() in ("auto", "-1"):
        return
    alternatives = context.view.nodes_of(container.pod, context.options)
    if not alternatives or _is_refused_anyway(container, context):
        return
    problems = []
    for nodes in alternatives:
        profile = _profile(container, nodes, context.view)
        parts = [(name, _slice(gpu, profile)) for name, gpu in nodes.gpus]
        vendor = container_vendor(container)
        gpus = [(name, gpu) for name, gpu in parts if gpu and gpu.vendor == vendor]
        found = [(name, gpu, _problem(container, arguments, model, gpu)) for name, gpu in gpus]
        problems.append(next((each for each in found if each[2]), None))
    if problems[0] and all(problems):
        name, gpu, text = problems[0]
        yield Breach(
            where=container.resource.name,
            what=f"{model.name} on {name}: {text}",
            change="serve it on more or larger GPUs, or shorten its requests",
            fix=_fix(container, arguments, model, gpu),
        )


def container_vendor(container: Container) -> str:
    """Whose GPUs it asks for; NVIDIA's where it asks for none."""
    return "amd" if any(key.startswith("amd.com/") for key in container.asked_keys) else "nvidia"


def _is_refused_anyway(container: Container, context: Context) -> bool:
    if any(list(rule.judge(container, context)) for rule in _REFUSING_RULES):
        return True
    return (
        refuses_format(container, context)
        or refuses_image(container, context)
        or refuses_driver(container, context)
    )


def _profile(container: Container, nodes: Nodes, view: StackView) -> str | None:
    """The MIG profile of its devices, by the name it asks for or by how its nodes are cut."""
    asked = next((p for key in container.asked_keys if (p := mig_profile(key))), None)
    if asked or nodes.pool is None or mig_strategy(view) != "single":
        return asked
    return mig_layout(nodes.pool)


def _slice(gpu: Gpu, profile: str | None) -> Gpu | None:
    """The GPU, or the part of it that a MIG device is; None for a profile that it does not have."""
    size = re.fullmatch(r"\d+g\.(\d+)gb", profile) if profile else None
    if not size or profile is None:
        return gpu
    if profile not in {each.name for each in gpu.mig_profiles}:
        return None
    named_gib = float(size[1])
    visible_gib = _A100_SLICES_GIB.get(profile, named_gib * _LARGEST_SLICE_SHARE)
    if visible_gib >= gpu.visible_gib:
        return gpu
    return gpu.model_copy(update={"visible_gib": visible_gib, "nameplate_gib": named_gib})


def _problem(
    container: Container, arguments: EngineArguments, model: Model, gpu: Gpu
) -> str | None:
    ranks = arguments.ranks()
    if container.engine != "vllm":
        count = container.gpus if container.engine == "tgi" and ranks.tensor == 1 else ranks.tensor
        gpus = (count or 0) * (ranks.pipeline or 0)
        share = _MADE_WHILE_LOADING.get(_quantization(arguments), 1.0)
        return _weights_problem(model, gpu, gpus / share) if gpus else None
    if ranks.tensor is None or ranks.pipeline is None:
        return None
    if arguments.text("--runner") == "pooling" or arguments.text("--task") in (
        "embed",
        "embedding",
        "classify",
        "score",
        "reward",
    ):
        return _pooling_problem(model, gpu, arguments, ranks.tensor * ranks.pipeline)
    version = vllm_version(container.image)
    parsed = parse_version(version) if version else None
    if version is None or parsed is None or not is_known(parsed):
        return _rough_problem(model, gpu, arguments, version)
    options = _engine_options(arguments, version, model)
    if option_reasons(model, gpu, options):
        return None
    verdict = plan_memory(model, gpu, options)
    return None if verdict.fits else verdict.reasons[0].partition("; ")[0]


def _engine_options(arguments: EngineArguments, version: str, model: Model) -> EngineOptions:
    ranks = arguments.ranks()
    stated: dict[str, Any] = {
        "max_num_seqs": arguments.tokens("--max-num-seqs"),
        "max_num_batched_tokens": arguments.tokens("--max-num-batched-tokens"),
        "block_size": arguments.tokens("--block-size"),
        "gpu_memory_utilization": arguments.number("--gpu-memory-utilization"),
    }
    cache = (arguments.text("--kv-cache-dtype") or "").lower()
    quantization = (arguments.text(*QUANTIZATION_OPTIONS) or "").lower()
    return EngineOptions(
        vllm_version=version,
        quantization=_QUANTIZATIONS.get(quantization, "auto"),
        dtype=_DTYPES.get((arguments.text("--dtype") or "").lower(), "auto"),  # type: ignore[arg-type]
        kv_cache_dtype=cache if cache in _CACHES else "auto",  # type: ignore[arg-type]
        tensor_parallel_size=ranks.tensor or 1,
        pipeline_parallel_size=ranks.pipeline or 1,
        data_parallel_size=arguments.tokens("--data-parallel-size", "-dp") or 1,
        expert_parallel=arguments.has("--enable-expert-parallel", "-ep"),
        max_model_len=_length(arguments, model),
        enforce_eager=arguments.has("--enforce-eager"),
        prefix_caching=not arguments.has("--no-enable-prefix-caching"),
        rope_settings=has_rope_settings(arguments),
        language_model_only=arguments.has("--language-model-only"),
        **_lora_options(arguments),
        **{key: value for key, value in stated.items() if value is not None},
    )


def _lora_options(arguments: EngineArguments) -> dict[str, Any]:
    """Room for adapters, with vLLM's own numbers for what is left out."""
    if not arguments.has("--enable-lora"):
        return {}
    return {
        "max_loras": arguments.tokens("--max-loras") or 1,
        "max_lora_rank": arguments.tokens("--max-lora-rank") or 16,
        "fully_sharded_loras": arguments.has("--fully-sharded-loras"),
    }


def _length(arguments: EngineArguments, model: Model) -> int | None:
    """Longest request: what is stated, at most what the model has positions for."""
    stated = arguments.tokens(*MAX_LEN_OPTIONS)
    if stated is None or has_rope_settings(arguments):
        return stated
    return min(stated, model.max_positions)


def _utilization(arguments: EngineArguments, version: str | None) -> float:
    default = 0.9 if version and is_older(version, "0.21") else 0.92
    return arguments.number("--gpu-memory-utilization") or default


def _quantization(arguments: EngineArguments) -> str:
    return (arguments.text(*QUANTIZATION_OPTIONS) or "").lower()


def _weights_problem(model: Model, gpu: Gpu, gpus: float) -> str | None:
    each_gib = model.weights_bytes / GIB / gpus
    if each_gib <= gpu.visible_gib:
        return None
    return f"weights of {each_gib:.1f} GiB per GPU do not fit {gpu.visible_gib:.1f} GiB"


def _pooling_problem(model: Model, gpu: Gpu, arguments: EngineArguments, gpus: int) -> str | None:
    needed_gib = 1.02 * model.weights_bytes / GIB / gpus + 1
    share = _utilization(arguments, None)
    if needed_gib <= share * gpu.visible_gib:
        return None
    return f"{needed_gib:.1f} GiB are needed and {share * gpu.visible_gib:.1f} GiB are allowed"


def _rough_problem(
    model: Model, gpu: Gpu, arguments: EngineArguments, version: str | None
) -> str | None:
    """Where the planner does not know the version: weights, 2.3 GiB, and one request."""
    ranks = arguments.ranks()
    tensor, pipeline = ranks.tensor or 1, ranks.pipeline or 1
    quantization = _QUANTIZATIONS.get((arguments.text(*QUANTIZATION_OPTIONS) or "").lower())
    is_16bit = model.quantization == "none"
    share = {None: 1.0, "fp8": 0.55}.get(quantization, 0.3) if is_16bit else 1.0
    weights_gib = 1.02 * model.weights_bytes / GIB * share / (tensor * pipeline)
    length = _length(arguments, model) or model.max_positions
    cache_gib = length * _cache_bytes_per_token(model, tensor) / pipeline / GIB
    needed_gib = weights_gib + 2.3 + cache_gib
    allowed_gib = _utilization(arguments, version) * gpu.visible_gib
    if needed_gib <= allowed_gib:
        return None
    return (
        f"{weights_gib:.1f} GiB of weights, 2.3 GiB beside them and {cache_gib:.1f} GiB for one "
        f"request of {length} tokens are more than {allowed_gib:.1f} GiB"
    )


def _cache_bytes_per_token(model: Model, tensor: int) -> float:
    total = 0.0
    for cache in (cache for layer in model.layers for cache in layer.caches):
        if isinstance(cache, HeadCache) and cache.window is None and cache.chunk is None:
            split = min(tensor, cache.kv_heads)
            total += cache.kv_heads * (cache.key_size + cache.value_size) * 2 / split
        elif isinstance(cache, LatentCache):
            total += (cache.latent_size + cache.rope_size) * 2
    return total


def _fix(container: Container, arguments: EngineArguments, model: Model, gpu: Gpu) -> str:
    """The smallest change after which the same judgement finds room."""

    def fits_with(option: str, value: int) -> bool:
        words = (*arguments.words, option, str(value))
        return not _problem(container, replace(arguments, words=words), model, gpu)

    length = _length(arguments, model) or model.max_positions
    option = arguments.spelling(*MAX_LEN_OPTIONS)
    for power in range((length - 1).bit_length() - 1, _LEAST_LENGTH_LOG2 - 1, -1):
        if fits_with(option, 2**power):
            return f"set {option} to {2**power}"
    option = "--num-shard" if container.engine == "tgi" else arguments.ranks().tensor_option
    for wider in _TENSOR_SIZES:
        if model.attention_heads % wider == 0 and fits_with(option, wider):
            limit = container.body.at("resources", "limits", GPU_KEY[gpu.vendor]).path
            return f"set {option} and {limit} to {wider}, on nodes of {wider} such GPUs"
    return "use GPUs of more memory, or a build of the model in fewer bits"


STARTUP_OOM = Rule(
    id="startup-oom",
    title="Weights and one request of full length fit into the memory of the GPU.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="model and options (adapters too) in the engine's arguments, version of the image, the "
    "GPUs or MIG devices that the pod may get",
    why="the server ends after minutes of loading, and starts again, for ever",
    source="https://docs.vllm.ai/en/latest/configuration/conserving_memory.html",
    subjects=StackView.containers,
    judge=_find_out_of_memory,
    options=INSTANCE_TYPE_OPTION,
)

RULES = (STARTUP_OOM,)
