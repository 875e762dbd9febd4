"""Whole verdicts, against start-up logs that people published and against hand-worked sums."""

from typing import Any

import pytest

from berth.catalog.gpu import Gpu, find_gpu, load_gpus
from berth.catalog.model import load_models
from berth.planner.engine_options import EngineOptions
from berth.planner.memory import MemoryVerdict, plan_memory

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
LLAMA_70B_FP8 = "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"
GIB = 1024**3


def a_gpu(name: str) -> Gpu:
    gpus = load_gpus()
    return gpus[find_gpu(gpus, name)]


def planned(model: str, gpu: str, **options: Any) -> MemoryVerdict:
    settings = {"vllm_version": "0.32.0"} | options
    return plan_memory(load_models()[model], a_gpu(gpu), EngineOptions(**settings))


def test_8b_on_h100_is_as_logged_under_0_11() -> None:
    """Logged: load 14.99, other 0.13, activation 4.76, KV cache 51.38 GiB of 79.18 x 0.9."""
    memory = planned(
        LLAMA_8B, "H100", vllm_version="0.11.0", max_model_len=16000, gpu_memory_utilization=0.9
    ).memory

    assert memory.weights_gib == pytest.approx(14.99, rel=0.005)
    assert memory.non_torch_gib == pytest.approx(0.13, abs=0.05)
    assert memory.activation_peak_gib == pytest.approx(4.76, abs=0.15)
    assert memory.kv_cache_gib == pytest.approx(51.38, abs=0.3)


def test_70b_fp8_on_one_h100_is_refused_as_logged_under_0_11() -> None:
    """Logged: load 67.72, available KV cache -1.44 GiB, no memory for cache blocks."""
    verdict = planned(
        LLAMA_70B_FP8,
        "H100",
        vllm_version="0.11.0",
        max_model_len=16000,
        gpu_memory_utilization=0.9,
    )

    assert verdict.verdict == "fails_at_start"
    assert verdict.memory.weights_gib == pytest.approx(67.72, rel=0.005)
    assert verdict.memory.kv_cache_gib == 0


def test_70b_fp8_fits_on_two_h100() -> None:
    """A token is 80 layers x 4 heads x 256 values x 2 B = 160 KiB per GPU: 16,384 need 2.5 GiB."""
    verdict = planned(
        LLAMA_70B, "H100", quantization="fp8", tensor_parallel_size=2, max_model_len=16384
    )

    assert verdict.verdict == "fits"
    assert verdict.memory.weights_gib == pytest.approx(33.88, rel=0.005)
    assert verdict.memory.needed_kv_gib == 2.5
    assert verdict.memory.kv_cache_tokens == int(verdict.num_blocks / 1024 * 16384)


def test_a_memory_plan_adds_up_to_what_was_requested() -> None:
    memory = planned(LLAMA_8B, "L4", max_model_len=8192).memory

    parts = memory.weights_gib + memory.non_torch_gib + memory.activation_peak_gib
    parts += memory.cuda_graphs_gib + memory.kv_cache_gib
    assert parts == pytest.approx(memory.requested_gib, abs=0.001)


@pytest.mark.parametrize(
    ("length", "verdict"),
    [pytest.param(32752, "fits", id="last"), pytest.param(32753, "too_little_kv", id="first-not")],
)
def test_the_longest_length_is_the_last_that_starts(length: int, verdict: str) -> None:
    """4 GiB of cache are 2048 blocks of 16 tokens x 128 KiB; one of them is held back."""
    planned_verdict = planned(LLAMA_8B, "L4", max_model_len=length, kv_cache_memory_bytes=4 * GIB)

    assert planned_verdict.longest_model_len_tokens == 32752
    assert planned_verdict.verdict == verdict


def test_the_estimate_must_exceed_the_need_by_a_margin() -> None:
    """0.015 of 22.03 GiB are 0.33: what fits by less than that does not fit with the margin."""
    tight = planned(LLAMA_8B, "L4", max_model_len=35_000)
    bold = planned(LLAMA_8B, "L4", max_model_len=35_000, margin_share=0.0)

    assert (tight.verdict, bold.verdict) == ("too_little_kv", "fits")


def test_too_little_cache_names_the_longest_length() -> None:
    verdict = planned(LLAMA_8B, "L4")

    (reason,) = verdict.reasons
    assert reason.startswith(
        "max_model_len: a request of 131072 tokens needs 16.00 GiB of KV cache"
    )
    assert reason.endswith(f"set max_model_len to {verdict.longest_model_len_tokens} or lower")


def test_fp8_made_while_loading_downloads_16_bits() -> None:
    """141,107,412,992 B are downloaded; the other repository has about half."""
    made = planned(
        LLAMA_70B, "H100", quantization="fp8", tensor_parallel_size=2, max_model_len=4096
    )
    ready = planned(LLAMA_70B_FP8, "H100", tensor_parallel_size=2, max_model_len=4096)

    assert made.weights_bytes == 141_107_412_992
    assert ready.weights_bytes == pytest.approx(72.7e9, rel=0.001)
    assert made.load_peak_gib > ready.load_peak_gib


def test_bitsandbytes_never_has_the_whole_model_in_16_bits() -> None:
    """Each matrix is quantized as it is read: 4-bit weights, and at most one layer of 1.6 GiB.

    131.4 GiB / 80 layers = 1.64 GiB (`model_loader/bitsandbytes_loader.py` of vLLM).
    """
    made = planned(
        LLAMA_70B,
        "H100",
        quantization="bitsandbytes",
        tensor_parallel_size=1,
        max_model_len=4096,
        vllm_version="0.18.0",
    )
    assert made.load_peak_gib - made.memory.weights_gib == pytest.approx(1.64, abs=0.05)


@pytest.mark.parametrize(
    ("version", "verdict"),
    [
        pytest.param("0.12.0", "fits", id="before-both-copies"),
        pytest.param("0.13.0", "fails_at_start", id="logged-out-of-memory"),
        pytest.param("0.24.0", "fits", id="layer-by-layer"),
    ],
)
def test_fp8_of_a_72b_made_while_loading_on_140_gib(version: str, verdict: str) -> None:
    """vLLM 0.13.0 ran out of 139.7 GiB, 0.12.0 had started: vllm-project/vllm issue 31273."""
    model = "Qwen/Qwen2.5-72B-Instruct"

    planned_verdict = planned(model, "H20", vllm_version=version, quantization="fp8")

    assert planned_verdict.verdict == verdict


@pytest.mark.parametrize(
    ("model", "quantization", "version", "argument", "other"),
    [
        pytest.param(LLAMA_70B, "fp8", "0.32.0", "fp8_per_tensor", False, id="made-while-loading"),
        pytest.param(LLAMA_70B, "fp8", "0.19.0", "fp8", False, id="before-fp8-per-tensor"),
        pytest.param(LLAMA_70B_FP8, "fp8", "0.32.0", None, False, id="stored-so"),
        pytest.param(LLAMA_70B, "awq", "0.32.0", None, True, id="other-repository"),
        pytest.param(LLAMA_70B_FP8, "none", "0.32.0", None, True, id="16-bit-repository"),
    ],
)
def test_what_the_quantization_argument_has_to_say(
    model: str, quantization: str, version: str, argument: str | None, other: bool
) -> None:
    verdict = planned(
        model, "H100", quantization=quantization, vllm_version=version, tensor_parallel_size=4
    )

    assert (verdict.quantization_argument, verdict.other_repository) == (argument, other)


def test_a_load_above_the_cache_preempts_but_fits() -> None:
    verdict = planned(LLAMA_8B, "L4", max_model_len=8192, load_requests=64, load_tokens=4096)

    assert verdict.fits
    assert verdict.verdict == "preempts"


@pytest.mark.parametrize(
    ("options", "start"),
    [
        pytest.param(
            {"tensor_parallel_size": 3}, "tensor_parallel_size: 3 does not divide", id="heads"
        ),
        pytest.param(
            {"gpu_memory_utilization": 1.5}, "gpu_memory_utilization: 1.5 is no share", id="above"
        ),
        pytest.param(
            {"gpu_memory_utilization": 0.0}, "gpu_memory_utilization: 0 is no share", id="zero"
        ),
        pytest.param(
            {"max_model_len": 200_000}, "max_model_len: 200000 is above the 131072", id="length"
        ),
        pytest.param(
            {"vllm_version": "0.99.0"}, "vllm_version: the memory rules of '0.99.0'", id="new"
        ),
        pytest.param(
            {"vllm_version": "main"}, "vllm_version: the memory rules of 'main'", id="no-version"
        ),
        pytest.param({"quantization": "gguf"}, "quantization: 'gguf' is not known", id="format"),
        pytest.param({"max_num_seqs": 0}, "max_num_seqs: 0 is below 1", id="seqs"),
        pytest.param(
            {"pipeline_parallel_size": 33}, "pipeline_parallel_size: 33 stages", id="stages"
        ),
        pytest.param(
            {"kv_cache_dtype": "fp8"}, "kv_cache_dtype: this GPU holds no fp8", id="cache"
        ),
        pytest.param({"dtype": "bf16"}, "dtype: this GPU does not compute bf16", id="dtype"),
        pytest.param({"block_size": 7}, "block_size: 7 tokens are no multiple of 16", id="block"),
        pytest.param(
            {"max_num_seqs": 10**30}, "max_num_seqs: 1000000000000000000000000000000 is", id="huge"
        ),
        pytest.param(
            {"tensor_parallel_size": 4, "decode_context_parallel_size": 3},
            "decode_context_parallel_size: 3 does not divide the 4",
            id="context-parallel",
        ),
        pytest.param(
            {"quantization": "nvfp4"}, "quantization: nvfp4 weights can be neither", id="nvfp4"
        ),
    ],
)
def test_impossible_options_are_reasons(options: dict[str, Any], start: str) -> None:
    verdict = planned(LLAMA_8B, "T4", **options)

    assert not verdict.fits
    assert any(reason.startswith(start) for reason in verdict.reasons)


def test_a_checkpoint_is_not_given_another_format() -> None:
    verdict = planned(LLAMA_70B_FP8, "H200", quantization="awq")

    assert not verdict.fits
    assert verdict.reasons[0].startswith(f"quantization: the weights of {LLAMA_70B_FP8} are fp8")


@pytest.mark.parametrize(
    ("cache_gib", "verdict"),
    [pytest.param(61, "fits", id="last"), pytest.param(63, "fails_at_start", id="first-above")],
)
def test_a_cache_set_by_hand_must_fit_beside_the_rest(cache_gib: int, verdict: str) -> None:
    """H100: 78.57 GiB free; 15.0 of weights, 0.73 of activation (6 B x 1024 x 128,256), 0.63 kept
    (0.13 and 4.125 B x 1024 x 128,256) and 0.35 of graphs leave 61.9."""
    planned_cache = planned(LLAMA_8B, "H100", kv_cache_memory_bytes=cache_gib * GIB)

    assert planned_cache.verdict == verdict


def test_all_impossible_options_are_named_together() -> None:
    verdict = planned(LLAMA_8B, "T4", tensor_parallel_size=3, max_model_len=200_000, dtype="bf16")

    keys = [reason.partition(":")[0] for reason in verdict.reasons]
    assert keys[:3] == ["max_model_len", "tensor_parallel_size", "dtype"]


def test_graphs_on_amd_that_two_figures_carry_widen_the_band() -> None:
    """36 layers x 0.1 GiB, of which 0.05 to 0.18 were seen: off by up to 0.8 of the estimate."""
    graphs = planned("Qwen/Qwen3-8B", "MI300X").memory
    eager = planned("Qwen/Qwen3-8B", "MI300X", enforce_eager=True).memory

    assert eager.error_gib == pytest.approx(0.024 * 191.98, abs=0.01)
    assert graphs.cuda_graphs_gib > 3
    assert graphs.error_gib == pytest.approx(
        (eager.error_gib**2 + (0.8 * graphs.cuda_graphs_gib) ** 2) ** 0.5, abs=0.01
    )
