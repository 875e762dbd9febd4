"""`berth plan`: what is fixed stays fixed, the JSON keeps its shape, bad questions are refused."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from berth.cli import plan

LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
AWQ_70B = "hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4"
AWQ_7B = "Qwen/Qwen2.5-7B-Instruct-AWQ"


def berth_plan(*words: str) -> int:
    parser = argparse.ArgumentParser()
    plan.add_parser(parser.add_subparsers())
    return plan.run(parser.parse_args(["plan", *words]))


def planned(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = berth_plan(*words, "--json")
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, document


def test_the_json_keeps_its_shape(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = planned(capsys, LLAMA_70B, "--gpu", "H100", "--quantization", "fp8")

    assert code == 0
    assert set(document) == {
        *("model", "chosen", "alternatives", "rejected", "model_facts", "search_ms"),
    }
    assert list(document["chosen"]) == [
        *("gpu", "instance_type", "tier", "quantization", "kv_cache_dtype"),
        *(
            "tensor_parallel_size",
            "pipeline_parallel_size",
            "gpus_per_replica",
            "replicas",
            "nodes",
        ),
        *("fits", "reasons", "memory", "vllm_args", "speed", "startup"),
    ]
    assert list(document["chosen"]["memory"]) == [
        *("visible_gib", "requested_gib", "weights_gib", "non_torch_gib", "activation_peak_gib"),
        *("cuda_graphs_gib", "kv_cache_gib", "kv_cache_tokens", "max_concurrency"),
        *("needed_kv_gib", "error_gib", "cold_start_extra_gib"),
    ]


def test_model_facts_are_those_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = planned(capsys, LLAMA_8B, "--gpu", "H100")

    facts = document["model_facts"]
    assert facts.pop("source").startswith("https://huggingface.co/meta-llama/")
    assert facts == {
        "parameters": 8030261248,
        "language_parameters": 8030261248,
        "active_parameters": 8030261248,
        "layers": 32,
        "kv_heads": 8,
        "head_size": 128,
        "attention": ["full"],
    }


def test_everything_fixed_still_answers(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = planned(
        capsys, LLAMA_70B, "--gpu", "H100", "--tensor-parallel-size", "1", "--quantization", "none"
    )

    chosen = document["chosen"]
    assert (code, chosen["fits"], chosen["tensor_parallel_size"]) == (1, False, 1)
    assert chosen["reasons"]
    assert chosen["memory"]["weights_gib"] == pytest.approx(131.45, abs=0.05)


def test_what_is_left_out_is_searched(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = planned(capsys, LLAMA_70B, "--max-model-len", "8192")

    gpus = [document["chosen"]["gpu"], *(other["gpu"] for other in document["alternatives"])]
    assert "MI300X" in gpus
    assert document["rejected"][0]["gpu"] == "T4"


@pytest.mark.parametrize(
    ("words", "gpus", "fits"),
    [
        pytest.param([LLAMA_8B, "--gpu", "L4", "--max-model-len", "8192"], 1, True, id="8b-on-l4"),
        pytest.param(
            [LLAMA_8B, "--gpu", "A10G", "--max-model-len", "8192"], 1, True, id="8b-on-a10g"
        ),
        pytest.param(
            [AWQ_7B, "--gpu", "T4", "--max-model-len", "8192"], 1, True, id="7b-awq-on-t4"
        ),
        pytest.param(
            [LLAMA_70B, "--gpu", "H100", "--max-model-len", "8192"], 2, True, id="70b-h100"
        ),
        pytest.param(
            [AWQ_70B, "--gpu", "L4", "--max-model-len", "4096", "--tensor-parallel-size", "1"],
            1,
            False,
            id="70b-awq-not-on-one-24-gb",
        ),
        pytest.param(
            [AWQ_70B, "--gpu", "A10G", "--max-model-len", "1024", "--max-num-seqs", "16"],
            2,
            True,
            id="70b-awq-on-two-24-gb-at-least",
        ),
    ],
)
def test_the_well_known_table_of_what_fits_where(
    capsys: pytest.CaptureFixture[str], words: list[str], gpus: int, fits: bool
) -> None:
    """FP16 is about 2 GB per billion, AWQ about 0.5."""
    _, document = planned(capsys, *words)

    chosen = document["chosen"]
    assert (chosen["fits"], chosen["gpus_per_replica"]) == (fits, gpus)


def test_two_24_gb_cards_have_next_to_nothing_left_for_70b_awq(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """About 19 GiB of weights per card: what is left for the cache is stated, not hidden."""
    words = ("--gpu", "L4", "--tensor-parallel-size", "2", "--max-num-seqs", "8")
    _, document = planned(capsys, AWQ_70B, *words, "--max-model-len", "1024")

    memory = document["chosen"]["memory"]
    assert memory["weights_gib"] == pytest.approx(18.5, abs=0.6)
    assert memory["kv_cache_gib"] < 1.0


def test_an_instance_type_names_its_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = planned(
        capsys, LLAMA_8B, "--instance-type", "g6.xlarge", "--max-model-len", "8192"
    )

    chosen = document["chosen"]
    assert (chosen["gpu"], chosen["instance_type"]) == ("L4", "g6.xlarge")


def test_more_gpus_than_the_instance_has_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--instance-type", "g6.xlarge", "--tensor-parallel-size", "4")
    code, document = planned(capsys, LLAMA_8B, *words)

    assert code == 1
    assert document["chosen"]["reasons"][0] == (
        "tensor_parallel_size: 4 ranks are more than the 1 GPUs of one g6.xlarge; "
        "use 1 or fewer, and pipeline_parallel_size across nodes"
    )


def test_stages_of_one_replica_may_be_on_several_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    """DeepSeek-R1 has 641 GiB of weights: not on 8 H100 with a cache, but on 16."""
    words = ("--gpu", "H100", "--tensor-parallel-size", "8", "--pipeline-parallel-size", "2")
    code, document = planned(capsys, "deepseek-ai/DeepSeek-R1", *words, "--replicas", "3")

    assert code == 0
    assert document["chosen"]["gpus_per_replica"] == 16
    assert document["chosen"]["nodes"] == 6


def test_fp8_of_16_bit_weights_is_asked_for_by_the_name_that_vllm_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """vLLM 0.31 and later refuse plain `fp8` for a checkpoint in 16 bits."""
    _, document = planned(capsys, LLAMA_70B, "--gpu", "H200", "--quantization", "fp8")

    args = document["chosen"]["vllm_args"]
    assert args[args.index("--quantization") + 1] == "fp8_per_tensor"


def test_a_configuration_file_is_planned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "max_position_embeddings": 40960,
        "tie_word_embeddings": False,
    }
    path.write_text(json.dumps(config), encoding="utf-8")

    code, document = planned(capsys, "--model-config", str(path), "--gpu", "L40S")

    assert code == 0
    assert document["model_facts"]["parameters"] == 8190735360  # as the hub counts Qwen3-8B


def test_a_gpu_without_bf16_is_given_half(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = planned(capsys, AWQ_7B, "--gpu", "T4", "--max-model-len", "4096")

    args = document["chosen"]["vllm_args"]
    assert args[args.index("--dtype") + 1] == "half"


def test_what_is_asked_of_the_server_is_among_its_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("--data-parallel-size=8", "--enable-expert-parallel", "--no-enable-prefix-caching")
    code, document = planned(capsys, "deepseek-ai/DeepSeek-R1", "--gpu", "H200", *words)

    args = document["chosen"]["vllm_args"]
    assert code == 0
    assert document["chosen"]["gpus_per_replica"] == 8
    assert {"--data-parallel-size", *words[1:]} <= set(args)


def test_vllms_own_names_of_formats_are_understood_and_passed_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("--gpu", "H100", "--kv-cache-dtype", "bfloat16", "--dtype", "half")
    _, document = planned(capsys, LLAMA_8B, *words)

    args = document["chosen"]["vllm_args"]
    assert args[args.index("--kv-cache-dtype") + 1] == "bfloat16"
    assert args[args.index("--dtype") + 1] == "half"


def test_a_format_that_another_repository_has_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--gpu", "L4", "--quantization", "awq", "--max-model-len", "8192")
    code, document = planned(capsys, LLAMA_8B, *words)

    assert code == 0
    assert "name a repository with weights in awq" in document["chosen"]["reasons"][0]


def test_room_for_adapters_is_planned_and_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    """Llama-3.1-8B: 81,920 values per layer and rank, and 132,352 in the embedding and the head."""
    words = ("--gpu", "A10G", "--max-model-len", "8192", "--enable-lora", "--max-loras", "4")
    _, document = planned(capsys, LLAMA_8B, *words, "--max-lora-rank", "64")
    _, without = planned(capsys, LLAMA_8B, "--gpu", "A10G", "--max-model-len", "8192")

    room_gib = (81_920 * 32 + 2 * 132_352) * 64 * 2 * 4 / 1024**3
    both = document["chosen"]["memory"], without["chosen"]["memory"]
    assert both[0]["weights_gib"] - both[1]["weights_gib"] == pytest.approx(room_gib, abs=0.01)
    assert document["chosen"]["vllm_args"][-5:] == [
        *("--enable-lora", "--max-loras", "4", "--max-lora-rank", "64"),
    ]


def test_adapters_without_their_switch_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    code = berth_plan(LLAMA_8B, "--gpu", "L4", "--max-loras", "4")

    assert code == 2
    assert "--max-loras: nothing without --enable-lora" in capsys.readouterr().err


def test_the_page_says_what_adapters_take(capsys: pytest.CaptureFixture[str]) -> None:
    berth_plan(LLAMA_8B, "--gpu", "L4", "--max-model-len", "4096", "--enable-lora")

    assert "room for 1 LoRA adapter of rank 16" in capsys.readouterr().out


def test_the_page_shows_the_bar_and_the_ways_out(capsys: pytest.CaptureFixture[str]) -> None:
    code = berth_plan(LLAMA_8B, "--gpu", "L4", "--tensor-parallel-size", "1")

    page = capsys.readouterr().out
    assert code == 1
    assert "22.03 GiB per GPU: weights 14.99 [#]" in page  # as logged
    assert "does not fit: starts with too little KV cache" in page
    assert "/dev/shm 1 GiB" in page
    assert "Nearest ways to make it fit, each planned" in page
    assert "max_model_len" in page


def test_a_gpu_that_lost_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    berth_plan(LLAMA_70B, "--max-model-len", "8192", "--explain", "MI300X")

    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last.startswith("MI300X fits with 1 GPUs, 192 GiB in all; ")


def test_the_plot_is_a_drawing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bar.svg"

    berth_plan(LLAMA_8B, "--gpu", "H100", "--plot", str(path))

    text = path.read_text(encoding="utf-8")
    assert text.startswith("<svg ")
    assert text.count("<rect") == 13  # ground, six parts, six in the legend


def test_a_png_has_the_colours_in_proportion(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "bar.png"

    berth_plan(LLAMA_8B, "--gpu", "H100", "--plot", str(path))

    with Image.open(path) as image:
        middle = [image.getpixel((x, 2 * 92)) for x in range(2 * 24, 2 * (960 - 24))]
    weights = sum(pixel == (0x34, 0x50, 0x7A) for pixel in middle)
    assert weights / len(middle) == pytest.approx(15.0 / 79.18, abs=0.003)  # GiB of the card's


def test_a_stack_is_planned_without_the_engine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])

    code = berth_plan("--stack", "h100-prod", "--json")

    document = json.loads(capsys.readouterr().out)
    (server,) = document["servers"].values()
    assert (code, server["gpu"], server["fits"]) == (0, "H100-SXM-80GB", True)
