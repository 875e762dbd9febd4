"""The step model and the serving formulas, against values worked out apart from this code."""

import pytest

from berth.catalog.gpu import load_gpus
from berth.catalog.model import load_models
from berth.catalog.speed import SpeedConstants, load_speed_constants
from berth.planner.speed.launch import graph_rows
from berth.planner.speed.serving import Answer, Limits, Replica, Traffic
from berth.planner.speed.step import Setup, StepModel

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
GPT_OSS = "openai/gpt-oss-120b"
MANY = 1e9


def steps_of(
    model: str,
    gpu: str,
    ranks: int = 1,
    constants: SpeedConstants | None = None,
    **setup: object,
) -> StepModel:
    """The steps of a model on a GPU of the catalog."""
    options = Setup(**({"tensor_parallel_size": ranks} | setup))  # type: ignore[arg-type]
    used = constants or load_speed_constants()
    return StepModel(load_models()[model], gpu, load_gpus()[gpu], options, used)


def of_the_prototype() -> SpeedConstants:
    """The constants with which the prototype worked its values out."""
    ours = load_speed_constants()
    reading = {"16bit": 0.82, "fp8": 0.80, "kv": 0.95, "experts_mxfp4_hopper": 0.69}
    computing = {"16bit": 0.56, "fp8": 0.54, "attention": 0.53, "experts": 0.27}
    floor = ours.prompt_floor_us.model_copy(update={"eager": 590})
    return ours.model_copy(
        update={
            "read_share": {**ours.read_share, **reading},
            "compute_share": {**ours.compute_share, **computing},
            "read_share_exponent": 0.0,
            "layer_us": 33.5,
            "step_us": 380,
            "prompt_floor_us": floor,
        }
    )


def answer_of(
    steps: StepModel, lengths: tuple[float, float], clients: float | None, rate: float | None = None
) -> Answer:
    """One replica with room for all, 8,192 batched tokens."""
    limits = Limits(kv_requests=MANY, max_num_seqs=1024, max_num_batched_tokens=8192)
    traffic = Traffic(
        input_tokens=lengths[0],
        output_tokens=lengths[1],
        concurrency=clients,
        requests_per_s=rate,
    )
    return Replica(steps, limits, load_speed_constants()).answer(traffic)


@pytest.mark.parametrize(
    ("model", "gpu", "ranks", "version", "lengths", "clients", "rate", "expected"),
    [
        (LLAMA_8B, "H100-SXM-80GB", 1, "0.24.0", (1000, 200), 1, None, (6.97, 42.9, 140)),
        (LLAMA_8B, "H100-SXM-80GB", 1, "0.24.0", (1000, 200), 32, None, (12.1, 117, 2530)),
        (LLAMA_70B, "H100-SXM-80GB", 4, "0.24.0", (2000, 500), 32, None, (20.2, 352, 1530)),
        (LLAMA_70B, "H100-SXM-80GB", 4, "0.12.0", (2000, 500), 32, None, (21.1, 353, 1470)),
        (LLAMA_70B, "H100-SXM-80GB", 4, "0.24.0", (2000, 500), None, 2, (15.8, 147, 1000)),
        (GPT_OSS, "H200-SXM-141GB", 2, "0.24.0", (2000, 500), 32, None, (12.2, 163, 2560)),
    ],
)
def test_the_formulas_give_the_values_of_an_independent_prototype(
    model: str,
    gpu: str,
    ranks: int,
    version: str,
    lengths: tuple[float, float],
    clients: float | None,
    rate: float | None,
    expected: tuple[float, float, float],
) -> None:
    quantization = "fp8" if model == LLAMA_70B else "auto"
    steps = steps_of(
        model, gpu, ranks, of_the_prototype(), vllm_version=version, quantization=quantization
    )

    answer = answer_of(steps, lengths, clients, rate)

    found = (answer.itl_ms, answer.ttft_ms, answer.output_tokens_per_s)
    assert found == pytest.approx(expected, rel=0.006)


@pytest.mark.parametrize(
    ("model", "gpu", "ranks", "quantization", "decode_ms", "mixed_ms"),
    [
        (LLAMA_8B, "H100-SXM-80GB", 1, "auto", 8.51, 31.0),
        (LLAMA_70B, "H100-SXM-80GB", 4, "fp8", 13.97, 111.5),
        (GPT_OSS, "H200-SXM-141GB", 2, "auto", 9.77, 48.1),
    ],
)
def test_steps_take_what_the_prototype_says(
    model: str, gpu: str, ranks: int, quantization: str, decode_ms: float, mixed_ms: float
) -> None:
    prompt, answer = (1000, 200) if model == LLAMA_8B else (2000, 500)
    steps = steps_of(
        model, gpu, ranks, of_the_prototype(), vllm_version="0.24.0", quantization=quantization
    )
    context = prompt + answer / 2

    plain = steps.step_ms(32, context)
    mixed = steps.step_ms(32, context, prompt, prompt**2 / 2, 1)

    assert (plain, mixed) == pytest.approx((decode_ms, mixed_ms), rel=0.003)


def test_the_terms_of_a_step_add_up_to_it() -> None:
    steps = steps_of(GPT_OSS, "H200-SXM-141GB", 2)

    terms = steps.terms(32, 2250, 2000, 2_000_000, 1)

    assert terms.total_ms == pytest.approx(steps.step_ms(32, 2250, 2000, 2_000_000, 1))


def test_the_ceiling_of_8b_awq_on_a_4090_is_bandwidth_over_bytes() -> None:
    # 6.98 billion weights at 4.156 bits and a head of 128,256 x 4,096 at 16: 4.68 GB at 1,008 GB/s
    steps = steps_of(LLAMA_8B, "RTX-4090", quantization="awq")

    assert steps.decode_ceiling_tokens_per_s() == pytest.approx(215, abs=1)


@pytest.mark.parametrize(
    ("model", "gpu", "version", "eager", "measured_ms"),
    [
        # https://github.com/tenstorrent/tt-inference-server/issues/340, one client, 128 in
        pytest.param("Qwen/Qwen3-1.7B", "A100-SXM-80GB", "0.9.1", False, 4.6, id="piecewise"),
        # https://github.com/vllm-project/vllm/issues/20469, one client, --enforce-eager
        pytest.param("Qwen/Qwen3-14B-AWQ", "A100-SXM-80GB", "0.9.1", True, 20.6, id="eager"),
        # https://github.com/cloudrift-ai/emmy/pull/822, one client
        pytest.param(
            "Qwen/Qwen3-30B-A3B-Instruct-2507", "H200-SXM-141GB", "0.17.0", False, 4.62, id="full"
        ),
    ],
)
def test_one_token_takes_what_others_measured_with_each_kind_of_graph(
    model: str, gpu: str, version: str, eager: bool, measured_ms: float
) -> None:
    steps = steps_of(model, gpu, vllm_version=version, enforce_eager=eager)

    assert steps.step_ms(1, 200) == pytest.approx(measured_ms, rel=0.2)


def test_a_matrix_product_on_mi300x_is_not_faster_than_any_ever_measured() -> None:
    # 668 TFLOPS, the best of ml-engineering's search; 8B on 100,000 tokens without its embedding
    terms = steps_of(LLAMA_8B, "MI300X").terms(0, 0, 100_000, 1, 0)

    tflops = 2 * 6.98e9 * 100_000 / terms.matrices_ms / 1e9
    assert tflops < 668


@pytest.mark.parametrize(
    ("ranks", "seconds"),
    [
        pytest.param(2, 0.30, id="33.6 MB at 18 GB/s, 160 times"),
        pytest.param(4, 2.24, id="33.6 MB at 2.4 GB/s, 160 times"),
        pytest.param(8, 4.88, id="33.6 MB at 1.1 GB/s, 160 times"),
    ],
)
def test_all_reduce_over_pcie_as_measured_on_l40s(ranks: int, seconds: float) -> None:
    terms = steps_of(LLAMA_70B, "L40S", ranks).terms(0, 0, 2048, 2048**2 / 2, 1)

    assert terms.all_reduce_ms / 1000 == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize(("sequences", "rows"), [(1, 1), (3, 4), (5, 8), (33, 40), (600, 600)])
def test_decode_steps_are_rounded_up_to_a_captured_size(sequences: int, rows: int) -> None:
    assert graph_rows(sequences) == rows


def test_before_asynchronous_scheduling_each_sequence_costs_more() -> None:
    # 28 us a sequence instead of 3.4: 128 sequences make 3.15 ms
    old = steps_of(LLAMA_8B, "H100-SXM-80GB", vllm_version="0.13.0").step_ms(128, 1000)
    new = steps_of(LLAMA_8B, "H100-SXM-80GB", vllm_version="0.14.0").step_ms(128, 1000)

    assert old - new == pytest.approx(3.15, abs=0.01)


def test_a_gpu_whose_bandwidth_was_not_read_has_no_speed() -> None:
    with pytest.raises(LookupError, match="bandwidth and TFLOPS of B300-SXM-288GB were not read"):
        steps_of(LLAMA_8B, "B300-SXM-288GB")


def test_more_than_is_answered_is_overload() -> None:
    steps = steps_of(LLAMA_8B, "L4")
    limits = Limits(kv_requests=20, max_num_seqs=256, max_num_batched_tokens=2048)
    replica = Replica(steps, limits, load_speed_constants())

    answer = replica.answer(Traffic(input_tokens=1000, output_tokens=200, requests_per_s=50))

    assert (answer.overloaded, answer.ttft_ms) == (True, float("inf"))


def test_pipeline_stages_raise_throughput_and_not_the_time_per_token() -> None:
    one = steps_of(LLAMA_8B, "L4")
    two = steps_of(LLAMA_8B, "L4", pipeline_parallel_size=2)
    traffic = Traffic(input_tokens=500, output_tokens=200, concurrency=32)
    limits = {"kv_requests": MANY, "max_num_seqs": 256, "max_num_batched_tokens": 2048}

    alone = Replica(one, Limits(**limits), load_speed_constants()).answer(traffic)  # type: ignore[arg-type]
    staged = Replica(two, Limits(**limits, lanes=2), load_speed_constants()).answer(traffic)  # type: ignore[arg-type]

    assert staged.output_tokens_per_s > alone.output_tokens_per_s
    assert two.step_ms(1, 600) >= one.step_ms(1, 600)
