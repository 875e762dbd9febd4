"""Arguments of engines, in the spellings that their own parsers take."""

from typing import Any

import pytest

from berth.rules.stack_view.command_line import ELSEWHERE_MARK, UNKNOWN_MARK
from berth.rules.stack_view.engine_arguments import EngineArguments, find_engine
from berth.rules.unknown import KnownAfterApplyError

TENSOR = ("--tensor-parallel-size", "-tp", "--tp", "--tp-size", "--num-shard")


def arguments(line: str, engine: Any = "vllm", *, is_partial: bool = False) -> EngineArguments:
    return EngineArguments(tuple(line.split()), "args", engine, is_partial)


@pytest.mark.parametrize(
    ("line", "engine", "rest"),
    [
        ("vllm serve m -tp 2", "vllm", "m -tp 2"),
        ("/opt/venv/bin/vllm serve m", "vllm", "m"),
        ("uv run vllm serve", "vllm", ""),
        ("VLLM_USE_V1=1 exec vllm serve m", "vllm", "m"),
        ("python3 -m vllm.entrypoints.openai.api_server --model m", "vllm", "--model m"),
        ("python3 /app/vllm/entrypoints/openai/api_server.py --model m", "vllm", "--model m"),
        ("python3 -m sglang.launch_server --model-path m", "sglang", "--model-path m"),
        ("python3 sglang/launch_server.py --tp 2", "sglang", "--tp 2"),
        ("sglang serve --model-path m", "sglang", "--model-path m"),
        ("python3 -m dynamo.vllm --model m", "vllm", "--model m"),
        ("python3 -m dynamo.sglang --model m", "sglang", "--model m"),
        ("lmdeploy serve api_server m", "lmdeploy", "api_server m"),
        ("python3 -m lmdeploy.serve.openai.api_server m", "lmdeploy", "m"),
        ("text-generation-launcher --model-id m", "tgi", "--model-id m"),
        ("text-embeddings-router --model-id m", "tei", "--model-id m"),
        (
            "/opt/tritonserver/bin/tritonserver --model-repository=/m",
            "triton",
            "--model-repository=/m",
        ),
        ("mpirun -n 2 trtllm-serve m", "tensorrt-llm", "m"),
        ("ollama serve", "ollama", ""),
    ],
)
def test_a_command_that_starts_an_engine(line: str, engine: str, rest: str) -> None:
    assert find_engine(line.split()) == (engine, rest.split())


@pytest.mark.parametrize(
    "line",
    [
        "",
        "vllm",
        "vllm bench serve",
        "serve vllm",
        "# vllm serve m",
        "run # vllm serve m",
        "python3 -m http.server",
        "python3 -m",
        "echo vllm.entrypoints.openai.api_server",
        "python3 -m vllm",
        "python3 -m sglang.bench_serving",
        "ollama pull m",
    ],
)
def test_other_commands_start_none(line: str) -> None:
    assert find_engine(line.split()) is None


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("--tensor-parallel-size 2", "2"),
        ("--tensor-parallel-size=2", "2"),
        ("--tensor_parallel_size=2", "2"),
        ("-tp 2", "2"),
        ("-tp=2", "2"),
        ("m -tp 2 --port 80", "2"),
        ("-tp 2 -tp 4", "4"),
        ("--enforce-eager -tp 2", "2"),
        ("-tp -1", "-1"),
        ("-tp --port 80", None),
        ("-tp", None),
        ("tp 2", None),
        ("--port -tp 2", "2"),
        ("--served-model-name -tp", None),
        ("", None),
    ],
)
def test_the_last_value_of_an_option_counts(line: str, value: str | None) -> None:
    assert arguments(line).value(*TENSOR) == value


def test_an_underscore_is_a_dash_in_long_options_only() -> None:
    assert arguments("-t_p 2").value("-t-p") is None


@pytest.mark.parametrize(
    "line", [f"-tp {UNKNOWN_MARK}", f"-tp=x{UNKNOWN_MARK}", f"m {UNKNOWN_MARK}", UNKNOWN_MARK]
)
def test_a_word_that_is_known_after_apply_may_be_the_option(line: str) -> None:
    with pytest.raises(KnownAfterApplyError) as caught:
        arguments(line).value(*TENSOR)

    assert caught.value.field == "args"


@pytest.mark.parametrize(
    "line",
    [f"{UNKNOWN_MARK} -tp 2", f"--port {UNKNOWN_MARK} -tp 2", f"--port={UNKNOWN_MARK} -tp 2"],
)
def test_a_stated_value_needs_no_other_word(line: str) -> None:
    assert arguments(line).value(*TENSOR) == "2"


@pytest.mark.parametrize(
    ("line", "engine", "is_open"),
    [
        (f"m {ELSEWHERE_MARK}", "vllm", True),
        (f"--port 80 {ELSEWHERE_MARK}", "vllm", True),
        (ELSEWHERE_MARK, "sglang", True),
        (ELSEWHERE_MARK, "vllm", False),
        (f"{ELSEWHERE_MARK} --port 80", "vllm", False),
        (f"m --port {ELSEWHERE_MARK}", "vllm", False),
        (f"m --port={ELSEWHERE_MARK}", "vllm", False),
    ],
)
def test_a_variable_of_its_own_may_hold_more_options(line: str, engine: str, is_open: bool) -> None:
    read = arguments(line, engine)

    assert read.value(*TENSOR) == (ELSEWHERE_MARK if is_open else None)
    assert read.ranks().tensor == (None if is_open else 1)


def test_a_hidden_file_may_hold_what_is_not_stated() -> None:
    read = arguments("-tp 2", is_partial=True)

    assert read.ranks().tensor == 2
    assert read.ranks().pipeline is None
    assert read.text("--max-model-len") is None


@pytest.mark.parametrize(
    ("value", "number"),
    [("0.9", 0.9), ("8", 8.0), ("x", None), ("nan", None), ("inf", None), ("", None),
     (ELSEWHERE_MARK, None)],
)  # fmt: skip
def test_numbers(value: str, number: float | None) -> None:
    words = (f"--gpu-memory-utilization={value}",)

    assert EngineArguments(words, "args", "vllm").number("--gpu-memory-utilization") == number


@pytest.mark.parametrize(
    ("value", "tokens"),
    [("8192", 8192), ("8k", 8000), ("8K", 8192), ("1m", 1_000_000), ("1M", 1_048_576),
     ("25.6k", 25_600), ("auto", None), ("-1", None), ("8 k", None)],
)  # fmt: skip
def test_counts_of_tokens_as_vllm_reads_them(value: str, tokens: int | None) -> None:
    words = ("--max-model-len", value)

    assert EngineArguments(words, "args", "vllm").tokens("--max-model-len") == tokens


def test_tokens_that_are_not_stated() -> None:
    assert arguments("").tokens("--max-model-len") is None


@pytest.mark.parametrize(
    ("line", "engine", "model"),
    [
        ("org/m --port 80", "vllm", "org/m"),
        ("--model org/m", "vllm", "org/m"),
        ("other --model org/m", "vllm", "org/m"),
        ("--port 80", "vllm", None),
        ("", "vllm", None),
        ("serve org/m", "vllm", "org/m"),
        (f"{ELSEWHERE_MARK} -tp 2", "vllm", None),
        (f"x{UNKNOWN_MARK} -tp 2", "vllm", None),
        ("--model-path org/m", "sglang", "org/m"),
        ("--model org/m", "sglang", "org/m"),
        ("org/m", "sglang", None),
        ("--model-id org/m", "tgi", "org/m"),
        ("--port 80", "tgi", "org/env"),
        ("", "tei", "org/env"),
        ("--model-id org/m", "tei", "org/m"),
        ("org/m", "tgi", "org/env"),
        ("org/m", "tensorrt-llm", "org/m"),
        ("api_server org/m", "lmdeploy", "org/m"),
        ("serve", "ollama", None),
        ("--model org/m", None, None),
    ],
)
def test_the_model_that_an_engine_loads(line: str, engine: Any, model: str | None) -> None:
    assert arguments(line, engine).model({"MODEL_ID": "org/env"}) == model


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-tp 2", (2, 1, 1, 1)),
        ("-tp 4 -pp 2 -dp 3", (4, 2, 3, 1)),
        ("--tp-size 8 --pp-size 2 --nnodes 2", (8, 2, 1, 2)),
        ("-dp 8 -dpl 2", (1, 1, 2, 1)),
        ("-dp 8 --data-parallel-size-local=4", (1, 1, 4, 1)),
        ("-dp 8 --data-parallel-rank 3", (1, 1, 1, 1)),
        ("-dp 8 --data-parallel-hybrid-lb", (1, 1, 1, 1)),
        ("--tp 8 --dp 8 --enable-dp-attention", (8, 1, 1, 1)),
        ("-tp auto", (None, 1, 1, 1)),
        ("-tp 0x2", (None, 1, 1, 1)),
        ("-tp 2" + ELSEWHERE_MARK, (None, 1, 1, 1)),
    ],
)
def test_parallel_sizes(line: str, expected: tuple[int | None, ...]) -> None:
    ranks = arguments(line).ranks()

    assert (ranks.tensor, ranks.pipeline, ranks.data, ranks.nodes) == expected


@pytest.mark.parametrize(
    ("line", "spelling"),
    [("-tp 2", "-tp"), ("--tensor_parallel_size=2", "--tensor_parallel_size"),
     ("-tp 2 --tp 4", "--tp"), ("", "--tensor-parallel-size")],
)  # fmt: skip
def test_an_option_is_named_as_its_author_spells_it(line: str, spelling: str) -> None:
    assert arguments(line).ranks().tensor_option == spelling


def test_an_option_is_there_with_and_without_a_value() -> None:
    read = arguments("--enforce-eager --max_model_len=8")

    assert read.has("--enforce-eager")
    assert read.has("--max-model-len")
    assert not read.has("--port")
