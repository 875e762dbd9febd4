"""The answer to one `berth plan` as the JSON that others read; its shape is a contract."""

from typing import Any

from berth.catalog.model_shape import Model
from berth.catalog.modelopt_file import MODELOPT_FILE, format_in_name
from berth.planner.document import memory_document
from berth.planner.engine_options import EngineOptions
from berth.planner.search import Candidate, Search
from berth.planner.vllm_args import ServerOptions, vllm_args


def search_document(
    model: Model, found: Search, *, model_name: str, replicas: int, gpus_per_node: int
) -> dict[str, Any]:
    """Chosen, alternatives, rejections and the facts that they rest on."""
    return {
        "model": model_name,
        "chosen": candidate_document(model, found.chosen, model_name, replicas, gpus_per_node),
        "alternatives": [
            candidate_document(model, other, model_name, replicas, gpus_per_node)
            for other in found.alternatives
        ],
        "rejected": [
            {"gpu": c.gpu, "reason": "; ".join(c.verdict.reasons)} for c in found.rejected
        ],
        "model_facts": model_facts(model),
    }


def candidate_document(
    model: Model, candidate: Candidate, model_name: str, replicas: int, gpus_per_node: int
) -> dict[str, Any]:
    """One candidate; sizes in GiB per GPU."""
    options, verdict = candidate.options, candidate.verdict
    per_node = gpus_per_node // candidate.gpus
    nodes = -(-replicas // per_node) if per_node else replicas * -(-candidate.gpus // gpus_per_node)
    return {
        "gpu": candidate.gpu,
        "instance_type": candidate.instance_type,
        "tier": None,
        "quantization": shown_quantization(model, candidate),
        "kv_cache_dtype": options.kv_cache_dtype,
        "tensor_parallel_size": options.tensor_parallel_size,
        "pipeline_parallel_size": options.pipeline_parallel_size,
        "gpus_per_replica": candidate.gpus,
        "replicas": replicas,
        "nodes": nodes,
        "fits": verdict.fits,
        "reasons": [*verdict.reasons, *_notes(model, candidate, model_name)],
        "memory": memory_document(verdict.memory),
        "vllm_args": list(server_arguments(candidate, model_name)),
    }


def _notes(model: Model, candidate: Candidate, name: str) -> list[str]:
    """What a plan that fits rests on and the arguments do not say."""
    if not candidate.verdict.other_repository or not candidate.verdict.fits:
        return []
    wanted = candidate.options.quantization
    if format_in_name(name) == wanted:
        return [
            f"quantization: config.json is silent of {wanted}, which the name promises; planned "
            f"with weights in {wanted}: put {MODELOPT_FILE} beside config.json for the layers "
            "that stay in 16 bits"
        ]
    return [
        f"quantization: {model.name} holds 16-bit weights, and {wanted} cannot be made while "
        f"loading; name a repository with weights in {wanted} instead"
    ]


def shown_quantization(model: Model, candidate: Candidate) -> str:
    """The format of the weights, the checkpoint's own where none was asked for."""
    asked = candidate.options.quantization
    return model.quantization if asked == "auto" else asked


def server_arguments(candidate: Candidate, model_name: str) -> tuple[str, ...]:
    """Arguments of the server that was planned."""
    options, verdict = candidate.options, candidate.verdict
    memory = verdict.memory
    share = options.gpu_memory_utilization or round(memory.requested_gib / memory.visible_gib, 4)
    args = vllm_args(
        ServerOptions(
            model=model_name,
            tensor_parallel_size=options.tensor_parallel_size,
            pipeline_parallel_size=options.pipeline_parallel_size,
            data_parallel_size=options.data_parallel_size,
            expert_parallel=options.expert_parallel,
            max_model_len=verdict.max_model_len,
            max_num_seqs=verdict.max_num_seqs,
            max_num_batched_tokens=verdict.max_num_batched_tokens,
            gpu_memory_utilization=share,
            quantization=verdict.quantization_argument,
            kv_cache_dtype=options.kv_cache_dtype,
        )
    )
    more: list[str] = []
    if options.decode_context_parallel_size != 1:
        more += ["--decode-context-parallel-size", str(options.decode_context_parallel_size)]
    if options.dtype != "auto":
        more += ["--dtype", {"bf16": "bfloat16", "fp16": "half", "fp32": "float"}[options.dtype]]
    if options.kv_cache_memory_bytes is not None:
        more += ["--kv-cache-memory-bytes", str(options.kv_cache_memory_bytes)]
    if options.block_size is not None:
        more += ["--block-size", str(options.block_size)]
    if options.enforce_eager:
        more.append("--enforce-eager")
    if options.cpu_offload_gib:
        more += ["--cpu-offload-gb", f"{options.cpu_offload_gib:g}"]
    if not options.prefix_caching:
        more.append("--no-enable-prefix-caching")
    if options.language_model_only:
        more.append("--language-model-only")
    return (*args, *more, *_lora_arguments(options))


def _lora_arguments(options: EngineOptions) -> list[str]:
    if not options.max_loras:
        return []
    more = ["--enable-lora", "--max-loras", str(options.max_loras)]
    more += ["--max-lora-rank", str(options.max_lora_rank)]
    if options.fully_sharded_loras:
        more.append("--fully-sharded-loras")
    if options.lora_target_modules:
        more += ["--lora-target-modules", *options.lora_target_modules]
    return more


def model_facts(model: Model) -> dict[str, Any]:
    """What the plan took for the model."""
    source = model.source
    where = str(source.url or source.cite) if source is not None else model.name
    return {
        "parameters": model.parameters,
        "language_parameters": model.language_parameters,
        "active_parameters": model.active_parameters,
        "layers": len(model.layers),
        "kv_heads": model.kv_heads,
        "head_size": model.head_size,
        "attention": list(model.attention),
        "source": where,
    }
