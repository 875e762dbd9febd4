"""The arguments of `berth plan` as those of one server, and what is wrong with them anywhere."""

import argparse
from dataclasses import replace
from typing import Any

from berth.catalog.load import Catalog
from berth.catalog.model_shape import Model
from berth.config.problems import one_line
from berth.planner.engine_options import EngineOptions
from berth.planner.memory_checks import reasons_on_any_gpu


def engine_options(args: argparse.Namespace) -> EngineOptions:
    """The server that is asked for, under the load that is told."""
    tokens = round((args.input_tokens or 0) + (args.output_tokens or 0))
    return replace(
        _server(args),
        load_requests=None if args.concurrency is None else round(args.concurrency),
        load_tokens=tokens or None,
    )


def server_problems(args: argparse.Namespace, model: Model | None, catalog: Catalog) -> list[str]:
    """What the planner would refuse on every GPU, for a question that it cannot be asked yet."""
    options = _server(args)
    if args.tensor_parallel_size is not None:
        options = replace(options, tensor_parallel_size=args.tensor_parallel_size)
    if not options.vllm_version:
        options = replace(options, vllm_version=catalog.software.vllm["nvidia"].version)
    return reasons_on_any_gpu(model, options)


def _server(args: argparse.Namespace) -> EngineOptions:
    return EngineOptions(
        vllm_version=args.vllm_version,
        quantization=args.quantization or "auto",
        dtype=args.dtype,
        kv_cache_dtype=args.kv_cache_dtype,
        pipeline_parallel_size=(
            1 if args.pipeline_parallel_size is None else args.pipeline_parallel_size
        ),
        data_parallel_size=args.data_parallel_size,
        decode_context_parallel_size=args.decode_context_parallel_size,
        expert_parallel=args.enable_expert_parallel,
        cpu_offload_gib=args.cpu_offload_gb,
        prefix_caching=not args.no_enable_prefix_caching,
        language_model_only=args.language_model_only,
        **_lora_options(args),
        max_model_len=args.max_model_len,
        max_num_seqs=args.max_num_seqs,
        max_num_batched_tokens=args.max_num_batched_tokens,
        gpu_memory_utilization=args.gpu_memory_utilization,
        kv_cache_memory_bytes=args.kv_cache_memory_bytes,
        block_size=args.block_size,
        enforce_eager=args.enforce_eager,
    )


def _lora_options(args: argparse.Namespace) -> dict[str, Any]:
    """Room for adapters; vLLM's own numbers where only the switch is given."""
    if not args.enable_lora:
        return {}
    return {
        "max_loras": 1 if args.max_loras is None else args.max_loras or -1,
        "max_lora_rank": 16 if args.max_lora_rank is None else args.max_lora_rank,
        "fully_sharded_loras": args.fully_sharded_loras,
        "lora_target_modules": tuple(one_line(name) for name in args.lora_target_modules),
    }
