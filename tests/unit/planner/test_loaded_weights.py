"""What loading takes beside the weights: rounded blocks, positions, room for adapters."""

import pytest

from berth.catalog.gpu import find_gpu, load_gpus
from berth.catalog.model import load_models
from berth.planner.allocator import fused_slack_bytes, slack_bytes
from berth.planner.engine_options import EngineOptions
from berth.planner.memory import MemoryVerdict, plan_memory

GPUS = load_gpus()
MODELS = load_models()
GIB, MIB = 1024**3, 1024**2


def planned(model: str, gpu: str, version: str, **options: object) -> MemoryVerdict:
    chosen = EngineOptions(vllm_version=version, **options)  # type: ignore[arg-type]
    return plan_memory(MODELS[model], GPUS[find_gpu(GPUS, gpu)], chosen)


@pytest.mark.parametrize(
    ("size_mib", "lost_mib"),
    [
        pytest.param(8.3, 0, id="shares a segment with others"),
        pytest.param(32, 0, id="a multiple of 2 MiB"),
        pytest.param(31.5, 0.5, id="half a MiB is too little to split off"),
        pytest.param(125, 1, id="so is one MiB"),
        pytest.param(24.5, 0, id="one and a half is split off"),
    ],
)
def test_a_block_is_rounded_up_and_little_is_not_split_off(
    size_mib: float, lost_mib: float
) -> None:
    assert slack_bytes(size_mib * MIB) == pytest.approx(lost_mib * MIB, abs=1)


def test_query_key_and_value_are_one_block() -> None:
    """28, 1.75 and 1.75 MiB are 31.5 together, and none of them alone loses anything."""
    weights = [("attn.q_proj", 28 * MIB), ("attn.k_proj", 1.75 * MIB), ("attn.v_proj", 1.75 * MIB)]

    assert fused_slack_bytes(weights) == 0.5 * MIB


@pytest.mark.parametrize(
    ("model", "gpu", "version", "ranks", "logged_gib"),
    [
        pytest.param("Qwen/Qwen2-7B-Instruct", "A100-80", "0.10.1.1", 1, 14.2488, id="rounding"),
        pytest.param("Qwen/Qwen2-7B-Instruct", "A100-80", "0.10.1.1", 2, 7.1217, id="on two ranks"),
        pytest.param("unsloth/Llama-3.2-3B-Instruct", "T4", "0.8.2", 1, 6.0160, id="positions"),
        pytest.param(
            "Qwen/Qwen3-Next-80B-A3B-Instruct", "H200", "0.10.2", 2, 74.2812, id="a quarter turned"
        ),
        pytest.param(
            "deepseek-ai/DeepSeek-V2-Lite-Chat", "H100", "0.6.6", 1, 29.3010, id="before MLA"
        ),
        pytest.param(
            "amd/Meta-Llama-3.1-405B-Instruct-FP8-KV", "MI300X", "0.6.4", 4, 97.4347, id="MI300X"
        ),
    ],
)
def test_weights_are_as_logged_to_a_few_mib(
    model: str, gpu: str, version: str, ranks: int, logged_gib: float
) -> None:
    """Start-up logs with four decimals; sources in tests/data/start_logs.csv."""
    weights_gib = planned(model, gpu, version, tensor_parallel_size=ranks).memory.weights_gib

    assert weights_gib == pytest.approx(logged_gib, abs=3 / 1024)


def test_positions_of_video_are_counted_four_times() -> None:
    """Qwen3.5: 262,144 positions x 4 x a quarter of 256 values x 2 bytes (vLLM, mrope.py)."""
    assert MODELS["Qwen/Qwen3.5-27B"].rope_table_bytes == 128 * MIB


def test_gemma_3_stretches_its_far_positions_only() -> None:
    """131,072 positions x 128 values x 2 bytes near, eight times as many far (gemma3.py)."""
    assert MODELS["google/gemma-3-27b-it"].rope_table_bytes == (32 + 256) * MIB


def test_a_latent_projection_in_16_bits_is_not_copied() -> None:
    """GLM-4.7-Flash, 55.87 GiB in a log; copies would be 0.4 GiB more (0.7 %)."""
    weights_gib = planned("zai-org/GLM-4.7-Flash", "H100", "0.19.0").memory.weights_gib

    assert weights_gib == pytest.approx(55.87, rel=0.003)


def test_a_quantized_latent_projection_is_copied_from_0_7_1_on() -> None:
    """DeepSeek-R1 on 8 ranks: 61 layers x 16 heads x (128 + 128) x 512 x 2 bytes."""
    options = {"tensor_parallel_size": 8, "max_model_len": 8192}
    before = planned("deepseek-ai/DeepSeek-R1", "H200", "0.7.0", **options)
    after = planned("deepseek-ai/DeepSeek-R1", "H200", "0.7.1", **options)

    copies = after.terms.weights_bytes - before.terms.weights_bytes
    assert copies == 61 * 16 * 256 * 512 * 2


def test_symmetric_gptq_keeps_no_zero_points() -> None:
    """Qwen2.5-7B-Instruct-GPTQ-Int4, 5.1811 GiB in a log of 0.9."""
    verdict = planned("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "L40S", "0.9.1", max_model_len=4096)

    assert verdict.memory.weights_gib == pytest.approx(5.1811, rel=0.003)


def test_gpt_oss_keeps_its_positions_in_fp32() -> None:
    """131,072 positions x 64 values x 4 bytes."""
    assert MODELS["openai/gpt-oss-20b"].rope_table_bytes == 32 * MIB


@pytest.mark.parametrize(
    ("model", "version", "logged_gib"),
    [
        pytest.param("Qwen/Qwen3-8B-FP8", "0.10.2", 8.9638, id="without embeddings"),
        pytest.param("unsloth/Llama-3.2-1B-Instruct-FP8-Block", "0.11.2", 1.4721, id="with them"),
    ],
)
def test_room_for_one_adapter_of_rank_32_is_as_logged(
    model: str, version: str, logged_gib: float
) -> None:
    """Logs of two notebooks that set max_lora_rank to 32; sources in start_logs.csv."""
    verdict = planned(model, "L4", version, max_loras=1, max_lora_rank=32)

    assert verdict.memory.weights_gib == pytest.approx(logged_gib, abs=3 / 1024)


def test_room_for_adapters_follows_from_the_shapes() -> None:
    """Qwen3-8B, per layer: q, k, v 3 x 4096 + 6144; o 8192; gate, up 2 x 4096 + 24,576; down
    12,288 + 4096; 75,776 x rank 32 x 2 bytes x 36 layers x 4 adapters."""
    verdict = planned("Qwen/Qwen3-8B", "H100", "0.32.0", max_loras=4, max_lora_rank=32)

    assert verdict.terms.lora_bytes == 75_776 * 32 * 2 * 36 * 4


def test_only_the_named_projections_get_room() -> None:
    """Qwen3-8B, q and v: 4096 + 4096 and 4096 + 1024."""
    verdict = planned(
        "Qwen/Qwen3-8B", "H100", "0.32.0", max_loras=1, lora_target_modules=("q_proj", "v_proj")
    )

    assert verdict.terms.lora_bytes == (8192 + 5120) * 16 * 2 * 36


def test_two_ranks_divide_one_matrix_and_fully_sharded_ones_both() -> None:
    """Qwen3-8B o_proj: inputs 4096 are divided, outputs 4096 only when fully sharded."""
    options = {"tensor_parallel_size": 2, "max_loras": 1, "lora_target_modules": ("o_proj",)}
    half = planned("Qwen/Qwen3-8B", "H100", "0.32.0", **options)
    sharded = planned("Qwen/Qwen3-8B", "H100", "0.32.0", fully_sharded_loras=True, **options)

    assert half.terms.lora_bytes == (2048 + 4096) * 16 * 2 * 36
    assert sharded.terms.lora_bytes == (2048 + 2048) * 16 * 2 * 36


def test_every_expert_has_room_of_its_own() -> None:
    """Qwen3-30B-A3B, one rank: 128 experts x (2 x (2048 + 768) + 768 + 2048) x 48 layers."""
    verdict = planned(
        "Qwen/Qwen3-30B-A3B",
        "H100",
        "0.32.0",
        max_loras=1,
        lora_target_modules=("gate_up_proj", "down_proj"),
    )

    assert verdict.terms.lora_bytes == 128 * 3 * (2048 + 768) * 16 * 2 * 48


def test_room_for_adapters_is_taken_off_the_cache() -> None:
    without = planned("Qwen/Qwen3-8B", "L4", "0.32.0", max_model_len=8192)
    room = planned("Qwen/Qwen3-8B", "L4", "0.32.0", max_model_len=8192, max_loras=2)

    lost = without.terms.kv_bytes - room.terms.kv_bytes
    assert lost == pytest.approx(room.terms.lora_bytes)


def test_a_rank_that_vllm_does_not_take_is_named() -> None:
    verdict = planned("Qwen/Qwen3-8B", "L4", "0.32.0", max_loras=-1, max_lora_rank=20)

    assert any(reason.startswith("max_loras: -1") for reason in verdict.reasons)
    assert any("20 is no rank" in reason and "16, 32" in reason for reason in verdict.reasons)
