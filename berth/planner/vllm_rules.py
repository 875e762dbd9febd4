"""How vLLM's memory rules differ by version.

Source: vLLM's own code (`config/vllm.py`, `engine/arg_utils.py`, `v1/worker/gpu_worker.py`,
`v1/worker/gpu_model_runner.py`) of 0.8.5 to 0.32.0 and the pull requests named below.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from berth.catalog.gpu import Gpu
from berth.catalog.model_shape import CompressedCache, Model, StateCache

Version = tuple[int, int, int]
OLDEST: Version = (0, 6, 0)
NEWEST: Version = (0, 32, 0)
_FORM = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?(?![0-9])")

V2_BEFORE_ALL = frozenset({"DeepseekV2ForCausalLM", "Qwen2MoeForCausalLM", "GraniteMoeForCausalLM"})
"""MoE classes that runner V2 takes from 0.25, before it takes all models in 0.29 (#53183)."""
V2_FROM_0_24 = frozenset({"LlamaForCausalLM", "MistralForCausalLM", "Qwen3ForCausalLM"})
V2_FROM_0_28 = frozenset({"DeepseekV4ForCausalLM", "KimiK3ForConditionalGeneration"})


def parse_version(text: str) -> Version | None:
    """`0.26.1rc1.dev608` as (0, 26, 1); None where the text is no version."""
    found = _FORM.match(text.strip())
    if found is None:
        return None
    major, minor, patch = found.groups(default="0")
    return int(major), int(minor), int(patch)


def is_known(version: Version) -> bool:
    """Whether memory rules of this version are known."""
    return OLDEST <= version <= (NEWEST[0], NEWEST[1], 999)


@dataclass(frozen=True, slots=True)
class MemoryRules:
    """The rules of one version for one model."""

    version: Version
    runner_v2: bool
    sampler_bytes: float
    """Per row and vocabulary entry of the profile run's sampler."""
    sampler_buffer_bytes: int
    default_utilization: float
    graphs_in_budget: bool
    """The estimate of CUDA graphs is taken off the KV cache; before, they took what was left."""
    batches_in_flight: int
    """Batches whose tokens a sliding window still holds."""
    tokens_follow_max_len: bool
    """The printed cache size is concurrency times length (#41069), not blocks times block size."""
    reserves_null_block: bool
    """One block is held back when the cache is checked against one request."""
    chunks_keep_all: bool
    """Layers that look at a chunk keep all tokens: the hybrid cache is off for them."""


@lru_cache(maxsize=4096)
def memory_rules(version: Version, model: Model, pipeline_parallel_size: int) -> MemoryRules:
    """The rules that hold for `model` under `version`."""
    runner_v2 = uses_runner_v2(version, model)
    sampler_bytes = _sampler_bytes(version, runner_v2=runner_v2)
    return MemoryRules(
        version=version,
        runner_v2=runner_v2,
        sampler_bytes=sampler_bytes,
        # The buffer of the Triton top-k and top-p kernel (#33538).
        sampler_buffer_bytes=80 * 1024**2 if sampler_bytes == 14 and version >= (0, 17, 0) else 0,
        default_utilization=0.92 if version >= (0, 21, 0) else 0.90,
        graphs_in_budget=version >= (0, 21, 0),
        batches_in_flight=_batches(version, pipeline_parallel_size, runner_v2=runner_v2),
        tokens_follow_max_len=version >= (0, 21, 0),
        # In 0.31 and 0.32, not in 0.28; between them not read.
        reserves_null_block=version >= (0, 31, 0),
        # VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE is on in 0.24, was off in 0.11; not
        # read between them.
        chunks_keep_all=version < (0, 12, 0),
    )


def uses_runner_v2(version: Version, model: Model) -> bool:
    """Whether vLLM's second model runner is the default (`use_v2_model_runner`)."""
    if version >= (0, 29, 0):
        return True
    if version >= (0, 28, 0) and model.architecture in V2_FROM_0_28:
        return True
    dense = not any(layer.top_k for layer in model.distinct_layers)
    hybrid = any(isinstance(c, StateCache | CompressedCache) for c in model.caches)
    if version >= (0, 25, 0):
        return (dense and not hybrid) or model.architecture in V2_BEFORE_ALL
    if version >= (0, 24, 0):
        return model.architecture in V2_FROM_0_24
    return (
        version >= (0, 22, 0)
        and model.architecture == "Qwen3ForCausalLM"
        and model.quantization == "none"
    )


def batch_defaults(version: Version, gpu: Gpu) -> tuple[int, int]:
    """Default `max_num_batched_tokens` and `max_num_seqs` of the API server.

    Source: `get_batch_defaults` in vLLM's `engine/arg_utils.py`; #17073 (70 GiB), #17885 (not
    A100), #51726 (160 GiB, from 0.28).
    """
    if version < (0, 8, 3):
        return 2048, 256
    large = gpu.visible_gib >= 70 and gpu.capability != (8, 0)
    if large and gpu.visible_gib >= 160 and version >= (0, 28, 0):
        return 16384, 1024
    return (8192, 1024) if large else (2048, 256)


def _sampler_bytes(version: Version, *, runner_v2: bool) -> float:
    """Bytes per row and vocabulary entry that the profile run's sampler holds at once.

    27.6 and 38.4 (sort of PyTorch up to 2.7, and from 2.8) are fitted on start-up logs of 0.7 to
    0.11; 14 and 6 are the tensors that the code holds: 16-bit logits, an fp32 copy, and without
    runner V2 probabilities and noise.
    """
    if version < (0, 9, 0):
        return 27.6
    if version < (0, 10, 2):
        return 14
    if version < (0, 17, 0):
        return 38.4
    return 6 if runner_v2 else 14


def _batches(version: Version, pipeline_parallel_size: int, *, runner_v2: bool) -> int:
    if version < (0, 26, 0):
        return 1
    if runner_v2:
        return pipeline_parallel_size + 1
    return max(2, pipeline_parallel_size)
