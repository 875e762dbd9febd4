"""`berth plan` of what cannot be read or cannot run: all of it said at once, and how to mend it."""

import json
from pathlib import Path

import pytest

from berth.cli.__main__ import main

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
SILENT_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
}
"""Of Llama-3.1-8B, without its format."""


def berth_plan(*words: str) -> int:
    return main(["plan", *words])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        pytest.param(
            ["no/such-model-at-all-xyz"], "berth plan: no model is called no/such", id="model"
        ),
        pytest.param(["../../etc/passwd"], "berth plan: no model is called ../../etc", id="path"),
        pytest.param([LLAMA_8B, "--gpu", "H10O"], "berth plan: no GPU is called H10O", id="gpu"),
        pytest.param([LLAMA_8B, "--gpu", "TPU"], "berth plan: TPU is Google's", id="tpu"),
        pytest.param([], "berth plan: names neither MODEL", id="nothing"),
        pytest.param(
            [LLAMA_8B, "--instance-type", "g6.xlrge"],
            "berth plan: no instance type is called g6.xlrge; did you mean g6",
            id="instance",
        ),
        pytest.param(
            [LLAMA_8B, "--instance-type", "g6.xlarge", "--gpu", "H100"],
            "berth plan: g6.xlarge has L4, not H100-SXM-80GB",
            id="contradiction",
        ),
        pytest.param(
            ["--model-config", "/nonexistent/config.json"],
            "/nonexistent/config.json: no such file or directory",
            id="file",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], line: str
) -> None:
    code = berth_plan(*words)

    output = capsys.readouterr()
    assert code == 2
    assert output.err.startswith(line)
    assert output.err.count("\n") == 1


def test_all_that_cannot_be_read_is_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    code = berth_plan("no/such-xyz", "--gpu", "H10O", "--instance-type", "x9.big", "--replicas=0")

    lines = capsys.readouterr().err.splitlines()
    assert code == 2
    assert [line.partition(";")[0] for line in lines] == [
        "berth plan: no model is called no/such-xyz",
        "berth plan: --replicas: 0 is out of range",
        "berth plan: no GPU is called H10O",
        "berth plan: no instance type is called x9.big",
    ]


def test_an_unknown_gpu_hides_no_bad_value(capsys: pytest.CaptureFixture[str]) -> None:
    server = ("--gpu-memory-utilization=2", "--vllm-version=0.1", "--tensor-parallel-size=3")
    code = berth_plan(LLAMA_8B, "--gpu", "H10O", *server, "--max-model-len=200000")

    lines = capsys.readouterr().err.splitlines()
    assert code == 2
    assert [line.partition(":")[0] for line in lines] == [
        "berth plan",
        "vllm_version",
        "gpu_memory_utilization",
        "max_model_len",
        "tensor_parallel_size",
    ]


def test_an_unknown_model_hides_no_bad_value(capsys: pytest.CaptureFixture[str]) -> None:
    code = berth_plan("no/such-xyz", "--gpu", "H100", "--max-num-seqs=0", "--concurrency=inf")

    lines = capsys.readouterr().err.splitlines()
    assert code == 2
    assert lines[0].startswith("berth plan: no model is called")
    assert lines[-1].startswith("max_num_seqs: 0 is below 1")


def test_the_file_that_a_modelopt_repository_needs_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """NVIDIA's repositories tell their format in hf_quant_config.json alone."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(SILENT_CONFIG), encoding="utf-8")
    words = ("--model-config", str(path), "--gpu", "B200", "--quantization", "nvfp4", "--json")

    berth_plan("nvidia/Llama-3.1-8B-Instruct-NVFP4", *words)
    named = json.loads(capsys.readouterr().out)["chosen"]["reasons"]
    berth_plan("meta-llama/Llama-3.1-8B-Instruct", *words)
    other = json.loads(capsys.readouterr().out)["chosen"]["reasons"]

    assert "put hf_quant_config.json beside config.json" in named[0]
    assert "another" not in named[0]
    assert "name a repository with weights in nvfp4" in other[0]


@pytest.mark.parametrize("instance_type", ["inf2.xlarge", "trn2.48xlarge"])
def test_instances_of_other_accelerators_are_told_apart(
    capsys: pytest.CaptureFixture[str], instance_type: str
) -> None:
    code = berth_plan(LLAMA_8B, "--instance-type", instance_type)

    assert code == 2
    assert "driven by the Neuron SDK" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["tensor", "pipeline", "data", "decode-context"])
@pytest.mark.parametrize("size", ["0", "-1"])
@pytest.mark.parametrize("load", [(), ("--concurrency=4", "--input-tokens=9", "--output-tokens=9")])
def test_an_impossible_split_cannot_run(
    capsys: pytest.CaptureFixture[str], option: str, size: str, load: tuple[str, ...]
) -> None:
    asked = (LLAMA_8B, "--gpu", "H100", f"--{option}-parallel-size={size}", *load)
    code = berth_plan(*asked, "--json")

    document = json.loads(capsys.readouterr().out)
    assert code == 1
    key = option.replace("-", "_")
    assert document["chosen"]["reasons"][0].startswith(f"{key}_parallel_size: {size} is below 1")


def test_a_name_that_promises_a_format_is_noted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(SILENT_CONFIG), encoding="utf-8")

    words = ("nvidia/Llama-3.1-8B-Instruct-FP8", "--model-config", str(path), "--gpu", "L4")
    berth_plan(*words)
    noted = capsys.readouterr().err
    berth_plan(*words, "--quantization", "fp8")

    assert noted.startswith("nvidia/Llama-3.1-8B-Instruct-FP8: config.json has no quantization")
    assert "16-bit weights" in noted
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("share", ["0", "1.5", "nan"])
def test_an_impossible_utilization_cannot_run(
    capsys: pytest.CaptureFixture[str], share: str
) -> None:
    code = berth_plan(LLAMA_8B, "--gpu", "H100", "--gpu-memory-utilization", share, "--json")

    document = json.loads(capsys.readouterr().out)
    assert code == 1
    assert document["chosen"]["reasons"][0].startswith("gpu_memory_utilization:")


def test_a_stack_and_a_model_are_one_too_many(capsys: pytest.CaptureFixture[str]) -> None:
    code = berth_plan(LLAMA_8B, "--stack", "h100-prod")

    assert code == 2
    assert capsys.readouterr().err == ("berth plan: names a stack and a model; give one of them\n")
