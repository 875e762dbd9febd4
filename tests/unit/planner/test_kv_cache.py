"""The KV cache to the token: what vLLM itself computed, and blocks worked out by hand."""

import csv
from pathlib import Path
from typing import Any

import pytest

from berth.catalog.gpu import load_gpus
from berth.catalog.model import load_models
from berth.planner.engine_options import EngineOptions
from berth.planner.kv_groups import group_pages
from berth.planner.kv_pages import Page
from berth.planner.memory import plan_memory
from berth.planner.memory_terms import Terms, memory_terms

DATA = Path(__file__).parents[2] / "data"
GIB = 1024**3


def capacities() -> list[dict[str, str]]:
    with (DATA / "kv_cache_capacity.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def terms(model: str, gpu: str, **options: Any) -> Terms:
    settings = {"vllm_version": "0.32.0"} | options
    return memory_terms(load_models()[model], load_gpus()[gpu], EngineOptions(**settings))


@pytest.mark.parametrize(
    "row", capacities(), ids=lambda row: f"{row['repository']}-{row['max_model_len']}"
)
def test_capacity_is_that_of_vllm_to_the_token(row: dict[str, str]) -> None:
    """Computed by vLLM's CPU build: blocks of 128 tokens, one batch in flight."""
    options = EngineOptions(
        vllm_version="0.25.1",
        kv_cache_memory_bytes=int(row["kv_cache_gib"]) * GIB,
        max_model_len=int(row["max_model_len"]),
        max_num_seqs=int(row["max_num_seqs"]),
        max_num_batched_tokens=int(row["max_num_batched_tokens"]),
        block_size=128,
    )

    memory = plan_memory(
        load_models()[row["repository"]], load_gpus()["H200-SXM-141GB"], options
    ).memory

    assert memory.kv_cache_tokens == int(row["kv_cache_tokens"])
    assert round(memory.max_concurrency, 2) == float(row["max_concurrency"])


@pytest.mark.parametrize(
    ("model", "gpu", "options", "kv_gib", "tokens"),
    [
        pytest.param(
            "meta-llama/Llama-3.1-8B",
            "A100-SXM-80GB",
            {"vllm_version": "0.31.0"},
            56.21,
            460_496,
            id="dense",
        ),
        pytest.param(
            "Qwen/Qwen3-235B-A22B",
            "RTX-PRO-6000",
            {"vllm_version": "0.28.0", "tensor_parallel_size": 4, "max_model_len": 32768},
            27.85,
            621_392,
            id="one-kv-head-per-rank",
        ),
        pytest.param(
            "moonshotai/Kimi-K2-Instruct",
            "H200-SXM-141GB",
            {"vllm_version": "0.11.0", "tensor_parallel_size": 8},
            46.80,
            715_072,
            id="latent-not-divided",
        ),
        pytest.param(
            "Qwen/Qwen3-14B-AWQ",
            "RTX-5090",
            {"vllm_version": "0.29.0", "max_model_len": 32768},
            9.27,
            60_768,
            id="awq",
        ),
        pytest.param(
            "openai/gpt-oss-120b",
            "A100-SXM-80GB",
            {"vllm_version": "0.10.1", "tensor_parallel_size": 4, "max_model_len": 16384},
            45.32,
            2_640_144,
            id="sliding-window",
        ),
    ],
)
def test_tokens_are_as_logged_up_to_the_rounding_of_the_printed_gib(
    model: str, gpu: str, options: dict[str, Any], kv_gib: float, tokens: int
) -> None:
    """The log prints GiB to 0.01: half of that either way, and one block."""
    kv_bytes = round(kv_gib * GIB)

    computed = terms(model, gpu, kv_cache_memory_bytes=kv_bytes, **options)

    rounding = 0.005 / kv_gib * tokens
    assert abs(computed.kv_cache_tokens - tokens) <= rounding + computed.layout.block_tokens


@pytest.mark.parametrize("ranks", [pytest.param(4, id="divided"), pytest.param(8, id="copied")])
def test_a_token_costs_one_kv_head_at_least(ranks: int) -> None:
    """Four KV heads: 94 layers x 256 values x 2 B = 47 KiB per GPU, with four ranks or eight."""
    computed = terms("Qwen/Qwen3-235B-A22B", "H100-SXM-80GB", tensor_parallel_size=ranks)

    assert computed.layout.block_bytes == 47 * 1024 * 16


def test_state_layers_enlarge_the_block() -> None:
    """Qwen3-Next, TP2, 0.10.2, prefix cache off: 7162 blocks of 544, so 7162 // 4 x 544 tokens."""
    computed = terms(
        "Qwen/Qwen3-Next-80B-A3B-Instruct",
        "H200-SXM-141GB",
        vllm_version="0.10.2",
        tensor_parallel_size=2,
        prefix_caching=False,
        kv_cache_memory_bytes=round(44.59 * GIB),
    )

    assert computed.layout.block_tokens == 544
    assert computed.num_blocks == 7162
    assert computed.kv_cache_tokens == 973_760
    assert computed.max_concurrency == pytest.approx(14.77, abs=0.005)


def test_a_hybrid_with_prefix_cache_keeps_two_states() -> None:
    """Qwen3.8-27B, 0.29: 652 blocks of 784 tokens; 11 + 3 x 2 of them per request of 8192."""
    computed = terms(
        "Qwen/Qwen3.8-27B",
        "RTX-PRO-6000",
        vllm_version="0.29.0",
        max_model_len=8192,
        kv_cache_memory_bytes=round(31.24 * GIB),
    )

    assert (computed.layout.block_tokens, computed.num_blocks) == (784, 652)
    assert computed.request_blocks(8192) == 17
    assert computed.kv_cache_tokens == 314_187


def test_mamba2_checkpoints_take_a_third_state() -> None:
    """Nemotron-3-Nano, 0.32: block of 6 x 2096 x 1024 B; 63 + 4 x 3 blocks for 131,072 tokens."""
    computed = terms(
        "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "H100-SXM-80GB", max_model_len=131_072
    )

    assert computed.layout.block_tokens == 2096
    assert computed.layout.block_bytes == 12_877_824
    assert computed.request_blocks(131_072) == 75


def test_deepseek_v4_packs_unlike_pages_into_one_block() -> None:
    """V4-Pro at 1,048,576: 17,434 blocks of 1,435,968 B are the 23.32 GiB that the log wants."""
    computed = terms(
        "deepseek-ai/DeepSeek-V4-Pro",
        "MI300X",
        vllm_version="0.28.0",
        tensor_parallel_size=8,
        max_model_len=1_048_576,
        max_num_batched_tokens=16_384,
    )

    assert computed.layout.block_bytes == 1_435_968
    assert computed.request_blocks(1_048_576) == 17_434
    assert computed.needed_bytes / GIB == pytest.approx(23.32, abs=0.005)


def test_gemma_3_is_grouped_with_padding() -> None:
    """10 full and 52 sliding layers: seven groups of ten, eight of them padding."""
    computed = terms("google/gemma-3-27b-it", "MI300X", vllm_version="0.11.0", max_model_len=4096)

    assert [group.layers for group in computed.layout.groups] == [10] * 7


@pytest.mark.parametrize(
    ("version", "blocks"),
    [
        pytest.param("0.25.1", 8192 // 16 + 72 + 1, id="one-batch"),
        pytest.param("0.26.0", 8192 // 16 + 136 + 1, id="two-batches"),
    ],
)
def test_a_sliding_window_holds_the_batches_in_flight(version: str, blocks: int) -> None:
    """gpt-oss: 512 blocks in full layers; (127 + n x 1024) / 16 rounded up, and one, elsewhere."""
    computed = terms(
        "openai/gpt-oss-20b",
        "H100-SXM-80GB",
        vllm_version=version,
        max_model_len=8192,
        max_num_batched_tokens=1024,
        max_num_seqs=4,
    )

    assert computed.request_blocks(8192) == blocks


def test_pipeline_stages_take_the_pool_of_the_worst() -> None:
    """94 layers on four stages are 23, 24, 24, 23: the worst block has 24 x 16 x 4 x 256 x 2 B."""
    computed = terms("Qwen/Qwen3-235B-A22B", "H200-SXM-141GB", pipeline_parallel_size=4)

    assert computed.layout.block_bytes == 24 * 16 * 4 * 256 * 2


@pytest.mark.parametrize(
    ("full", "sliding", "sizes"),
    [
        pytest.param(10, 20, [10, 10, 10], id="one-to-two"),
        pytest.param(13, 12, [13, 13], id="nearly-equal-pads-up"),
        pytest.param(8, 12, [8, 8, 8], id="half-more-does-not"),
    ],
)
def test_groups_have_equally_many_layers(full: int, sliding: int, sizes: list[int]) -> None:
    pages = [Page("full", 16, 1024)] * full + [Page("sliding", 16, 1024, 128)] * sliding

    layout = group_pages(pages, packed=False)

    assert [group.layers for group in layout.groups] == sizes


def test_smaller_pages_get_more_tokens_per_block() -> None:
    """A page half as large holds twice the tokens; the printed size counts the fewest."""
    pages = [Page("full", 16, 512), Page("sliding", 16, 1024, 128)]

    layout = group_pages(pages, packed=False)

    assert [group.pages[0].block_tokens for group in layout.groups] == [32, 16]
    assert (layout.block_bytes, layout.block_tokens) == (1024, 16)


@pytest.mark.parametrize(
    ("kind", "bytes_per_token"),
    [
        pytest.param("auto", 2 * 8 * 128 * 2 * 32, id="16-bit"),
        pytest.param("fp8", 2 * 8 * 128 * 32, id="fp8"),
        pytest.param("int8_per_token_head", (2 * 8 * 128 + 2 * 8 * 4) * 32, id="int8-with-scales"),
        pytest.param("int4_per_token_head", (8 * 128 + 2 * 8 * 4) * 32, id="int4-with-scales"),
        pytest.param("nvfp4", (8 * 128 + 2 * 8 * 128 // 16) * 32, id="nvfp4-with-scales"),
    ],
)
def test_a_token_takes_the_bytes_of_its_format(kind: str, bytes_per_token: int) -> None:
    """Llama-3.1-8B: 32 layers of 8 heads with 128 keys and 128 values each."""
    computed = terms("meta-llama/Llama-3.1-8B", "B200-SXM-180GB", kv_cache_dtype=kind)

    assert computed.layout.block_bytes == bytes_per_token * 16
