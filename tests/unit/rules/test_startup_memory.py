"""What of an engine's words the memory planner is given."""

from typing import Any

import pytest

from berth.catalog.model import load_models
from berth.rules.stack_view.engine_arguments import EngineArguments
from berth.rules.startup_memory import _engine_options

MODEL = load_models()["Qwen/Qwen3-8B"]


@pytest.mark.parametrize(
    ("words", "name", "expected"),
    [
        ([], "prefix_caching", True),
        (["--enable-prefix-caching"], "prefix_caching", True),
        (["--no-enable-prefix-caching"], "prefix_caching", False),
        (["--enforce-eager"], "enforce_eager", True),
        ([], "enforce_eager", False),
        (["--max-num-seqs", "16"], "max_num_seqs", 16),
        (["--max-num-batched-tokens", "8k"], "max_num_batched_tokens", 8000),
        (["--block-size=32"], "block_size", 32),
        (["--gpu-memory-utilization", "0.8"], "gpu_memory_utilization", 0.8),
        (["-q", "AWQ_Marlin"], "quantization", "awq"),
        (["--dtype", "half"], "dtype", "fp16"),
        (["--kv-cache-dtype", "fp8_e5m2"], "kv_cache_dtype", "fp8_e5m2"),
        (["--kv-cache-dtype", "auto"], "kv_cache_dtype", "auto"),
        (["-tp", "2"], "tensor_parallel_size", 2),
        (["-pp", "2"], "pipeline_parallel_size", 2),
        (["-dp", "2"], "data_parallel_size", 2),
        (["--enable-expert-parallel"], "expert_parallel", True),
        (["--max-model-len", "50000"], "max_model_len", 40_960),
        (["--max-model-len", "50000", "--hf-overrides={}"], "max_model_len", 50_000),
        (["--language-model-only"], "language_model_only", True),
        (["--enable-lora"], "max_loras", 1),
        (["--enable-lora"], "max_lora_rank", 16),
        (["--enable-lora", "--max-loras", "4"], "max_loras", 4),
        (["--enable-lora", "--max-lora-rank", "64"], "max_lora_rank", 64),
        (["--enable-lora", "--fully-sharded-loras"], "fully_sharded_loras", True),
        (["--enable-lora"], "fully_sharded_loras", False),
        (["--max-loras", "4"], "max_loras", 0),
    ],
)
def test_an_option_is_handed_on(words: list[str], name: str, expected: Any) -> None:
    options = _engine_options(EngineArguments(tuple(words), "args", "vllm"), "0.30.0", MODEL)

    assert getattr(options, name) == expected
