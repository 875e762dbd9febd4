"""The arguments of vLLM's API server, in the words of its own parser."""

from dataclasses import dataclass

SERVER_PORT = 8000
SHUTDOWN_TIMEOUT_S = 60
"""Time that running requests get to end; with vLLM's own 0 they are cut off."""

LONG_NAMES = {"bf16": "bfloat16", "fp16": "float16"}
"""Formats of the cache as vLLM's parser spells them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What of one server is said outright."""

    model: str
    tensor_parallel_size: int
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    gpu_memory_utilization: float
    quantization: str | None
    """Format to which vLLM converts the weights while loading; None: as the checkpoint has them."""
    pipeline_parallel_size: int = 1
    data_parallel_size: int = 1
    expert_parallel: bool = False
    nodes: int = 1
    """Over which one replica is divided."""
    kv_cache_dtype: str
    """`auto` is vLLM's own default and not passed on."""


def node_args(nodes: int) -> list[str]:
    """What all ranks are told of the nodes that one replica takes; each also needs its own rank."""
    if nodes == 1:
        return []
    return ["--distributed-executor-backend", "mp", "--nnodes", str(nodes)]


def vllm_args(options: ServerOptions) -> tuple[str, ...]:
    """All arguments of one server, `--model` first.

    What vLLM would choose by the device it finds is among them, so that a plan and a start on
    another version or GPU agree.
    """
    args = [
        *("--model", options.model),
        *("--port", str(SERVER_PORT)),
        *("--tensor-parallel-size", str(options.tensor_parallel_size)),
        *("--max-model-len", str(options.max_model_len)),
        *("--max-num-seqs", str(options.max_num_seqs)),
        *("--max-num-batched-tokens", str(options.max_num_batched_tokens)),
        *("--gpu-memory-utilization", f"{options.gpu_memory_utilization:g}"),
        *("--shutdown-timeout", str(SHUTDOWN_TIMEOUT_S)),
    ]
    if options.pipeline_parallel_size != 1:
        args += ["--pipeline-parallel-size", str(options.pipeline_parallel_size)]
    if options.data_parallel_size != 1:
        args += ["--data-parallel-size", str(options.data_parallel_size)]
    if options.expert_parallel:
        args.append("--enable-expert-parallel")
    args += node_args(options.nodes)
    if options.quantization is not None:
        args += ["--quantization", options.quantization]
    if options.kv_cache_dtype != "auto":
        args += ["--kv-cache-dtype", LONG_NAMES.get(options.kv_cache_dtype, options.kv_cache_dtype)]
    return tuple(args)
