"""What one vLLM server is started with, as far as memory goes. None means: vLLM's own default."""

from dataclasses import dataclass, replace
from typing import Literal

KvCacheDtype = Literal[
    "auto",
    "bf16",
    "fp16",
    "fp8",
    "fp8_e4m3",
    "fp8_e5m2",
    "fp8_per_token_head",
    "int8_per_token_head",
    "int4_per_token_head",
    "nvfp4",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Arguments of `vllm serve` that decide memory."""

    vllm_version: str
    quantization: str = "auto"
    """`auto`: the checkpoint's own format; `none`: 16 bits; `fp8` on a 16-bit checkpoint is made
    while loading; awq, gptq, int4, nvfp4 and mxfp4 mean a repository in that format."""
    dtype: Literal["auto", "bf16", "fp16", "fp32"] = "auto"
    kv_cache_dtype: KvCacheDtype = "auto"
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    data_parallel_size: int = 1
    expert_parallel: bool = False
    decode_context_parallel_size: int = 1
    max_model_len: int | None = None
    """None: the model's own limit."""
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    gpu_memory_utilization: float | None = None
    kv_cache_memory_bytes: int | None = None
    block_size: int | None = None
    enforce_eager: bool = False
    prefix_caching: bool = True
    async_scheduling: bool = True
    """Off on backends without it; it doubles the tokens that may be in flight."""
    rope_settings: bool = False
    """The server is given rope settings of its own, for more positions than the model's."""
    margin_share: float | None = None
    """Share of the GPU that must be left beyond the need of one request before it is said to fit,
    as the estimate is uncertain; None: 0.015, and 0.065 on memory shared with the CPU."""
    language_model_only: bool = False
    """Without the towers for images and sound."""
    cpu_offload_gib: float = 0.0
    """Weights per rank that stay in host memory."""
    speculative_tokens: int = 0
    max_loras: int = 0
    """LoRA adapters that one step may hold; 0: the server takes none."""
    max_lora_rank: int = 16
    fully_sharded_loras: bool = False
    """Tensor parallel divides both matrices of an adapter, not one."""
    lora_target_modules: tuple[str, ...] = ()
    """Ends of the modules that take adapters; empty: all that can."""
    load_requests: int | None = None
    """Requests that are served at once; None: not stated."""
    load_tokens: int | None = None
    """Tokens of such a request, prompt and answer together."""

    @property
    def ranks(self) -> int:
        """GPUs of one engine."""
        return self.tensor_parallel_size * self.pipeline_parallel_size


MOST: dict[str, int] = {
    "tensor_parallel_size": 1 << 16,
    "pipeline_parallel_size": 1 << 16,
    "data_parallel_size": 1 << 16,
    "decode_context_parallel_size": 1 << 16,
    "max_model_len": 1 << 31,
    "max_num_seqs": 1 << 20,
    "max_num_batched_tokens": 1 << 24,
    "kv_cache_memory_bytes": 1 << 50,
    "block_size": 1 << 16,
}
"""More is a slip of the keyboard."""
MOST_LORAS = 1 << 12
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Choices of `--max-lora-rank` in vLLM 0.32."""


def countable(options: EngineOptions, layers: int) -> EngineOptions:
    """`options` with every value that no server can have left out or brought into range."""
    share = options.gpu_memory_utilization
    return replace(
        options,
        gpu_memory_utilization=share if share is not None and 0 < share <= 1 else None,
        tensor_parallel_size=_in_range(options, "tensor_parallel_size"),
        pipeline_parallel_size=min(max(1, options.pipeline_parallel_size), max(1, layers)),
        data_parallel_size=_in_range(options, "data_parallel_size"),
        decode_context_parallel_size=_in_range(options, "decode_context_parallel_size"),
        max_model_len=_countable(options, "max_model_len"),
        max_num_seqs=_countable(options, "max_num_seqs"),
        max_num_batched_tokens=_countable(options, "max_num_batched_tokens"),
        kv_cache_memory_bytes=_countable(options, "kv_cache_memory_bytes"),
        block_size=_countable(options, "block_size"),
        speculative_tokens=max(0, options.speculative_tokens),
        max_loras=min(max(0, options.max_loras), MOST_LORAS),
        max_lora_rank=min(max(1, options.max_lora_rank), LORA_RANKS[-1]),
    )


def _in_range(options: EngineOptions, key: str) -> int:
    return min(max(1, int(getattr(options, key))), MOST[key])


def _countable(options: EngineOptions, key: str) -> int | None:
    value: int | None = getattr(options, key)
    return value if value is not None and 0 < value <= MOST[key] else None
