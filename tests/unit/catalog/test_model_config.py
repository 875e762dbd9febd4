"""Configurations from outside: what is wrong is said, all at once, and nothing is guessed."""

import json
from pathlib import Path
from typing import Any

import pytest

from berth.catalog.config_values import ModelConfigError, parse_config, read_config_file
from berth.catalog.model_config import model_from_config


def a_config(**changes: Any) -> dict[str, Any]:
    """A small valid model; a test names only what it is about."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 100,
        "max_position_embeddings": 512,
    }
    return {key: value for key, value in (config | changes).items() if value is not None}


def problems(config: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(ModelConfigError) as caught:
        model_from_config(config, "config.json")
    return caught.value.lines


def test_a_small_model_is_counted_by_hand() -> None:
    """Per layer: q and o 64 x 64 x 2, k and v 32 x 64 x 2, three of 128 x 64, two norms of 64."""
    layer = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 128 * 64 + 2 * 64

    model = model_from_config(a_config(), "any")

    assert model.parameters == 2 * layer + 2 * 100 * 64 + 64


def test_tied_embeddings_count_once() -> None:
    untied = model_from_config(a_config(), "any")
    tied = model_from_config(a_config(tie_word_embeddings=True), "any")

    assert untied.parameters - tied.parameters == 100 * 64


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        pytest.param(
            {"hidden_size": None},
            "config.json: hidden_size: is missing; add it, a whole number from 1 to 16777216",
            id="missing",
        ),
        pytest.param(
            {"num_hidden_layers": -3},
            "config.json: num_hidden_layers: -3 is out of range; give 1 to 1000",
            id="negative",
        ),
        pytest.param(
            {"vocab_size": 10**30},
            "config.json: vocab_size: 1000000000000000000000000000000 is out of range; "
            "give 1 to 16777216",
            id="absurd",
        ),
        pytest.param(
            {"hidden_size": "4096"},
            "config.json: hidden_size: '4096' is no whole number; give 1 to 16777216",
            id="text",
        ),
        pytest.param(
            {"hidden_size": float("nan")},
            "config.json: hidden_size: nan is no whole number; give 1 to 16777216",
            id="not-a-number",
        ),
        pytest.param(
            {"num_attention_heads": True},
            "config.json: num_attention_heads: True is no whole number; give 1 to 4096",
            id="flag",
        ),
        pytest.param(
            {"tie_word_embeddings": "yes"},
            "config.json: tie_word_embeddings: 'yes' is neither true nor false; give one of them",
            id="flag-as-text",
        ),
        pytest.param(
            {"quantization_config": {"quant_method": "magic"}},
            "config.json: quantization_config: quant_method: magic is not known; known are "
            "auto-round, awq, bitsandbytes, compressed-tensors, fbgemm_fp8, fp8, gptq, modelopt, "
            "mxfp4, quark",
            id="quantization",
        ),
        pytest.param(
            {"quantization_config": [1]},
            "config.json: quantization_config: [1] is no mapping; give keys and values",
            id="section",
        ),
    ],
)
def test_a_bad_value_is_named(changes: dict[str, Any], line: str) -> None:
    assert problems(a_config(**changes)) == (line,)


def test_all_bad_values_are_named_together() -> None:
    lines = problems(a_config(hidden_size=None, vocab_size=0, num_attention_heads="x"))

    assert [line.split(": ")[1] for line in lines] == [
        "hidden_size",
        "num_attention_heads",
        "vocab_size",
    ]


def test_an_unknown_architecture_says_what_was_understood() -> None:
    (line,) = problems(a_config(architectures=["FancyForCausalLM"]))

    assert line.startswith(
        "config.json: architectures: FancyForCausalLM is not known; understood hidden_size 64, "
        "num_hidden_layers 2, num_attention_heads 4, num_key_value_heads 2, vocab_size 100; "
    )


def test_a_pattern_that_would_take_for_ever_is_refused() -> None:
    slow = {"quant_method": "fp8", "modules_to_not_convert": ["re:(a+)+$"]}

    (line,) = problems(a_config(quantization_config=slow))

    assert "is too complex a pattern" in line


def test_infinity_in_a_key_that_is_not_read_does_not_matter() -> None:
    text = json.dumps(a_config(time_step_limit=[0.0, float("inf")]))

    assert model_from_config(parse_config(text, "any"), "any").hidden_size == 64


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param('{"a": ', "is no JSON: expecting value in line 1, column 7", id="cut-off"),
        pytest.param("[" * 100_000, "is nested too deep", id="deep"),
        pytest.param('{"a": ' * 100_000, "is nested too deep", id="deep-objects"),
        pytest.param("[1, 2]", "holds no object", id="list"),
        pytest.param('{"a": ' + "9" * 10_000 + "}", "thousands of digits", id="long-number"),
    ],
)
def test_unreadable_text_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ModelConfigError, match=problem):
        parse_config(text, "config.json")


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(100 * 1024 * 1024)

    with pytest.raises(ModelConfigError, match="has more than 4194304 bytes"):
        read_config_file(path)


def test_a_device_that_never_ends_is_not_read() -> None:
    with pytest.raises(ModelConfigError, match="is no regular file"):
        read_config_file(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"num_key_value_heads": 3}, "3 does not divide the 4 attention", id="kv"),
        pytest.param({"num_key_value_heads": 8}, "8 does not divide the 4 attention", id="more-kv"),
        pytest.param({"hidden_size": 66}, "4 does not divide the hidden size 66", id="heads"),
    ],
)
def test_heads_that_do_not_divide_are_refused(changes: dict[str, Any], problem: str) -> None:
    (line,) = problems(a_config(**changes))

    assert problem in line


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelConfigError, match="no such file or directory"):
        read_config_file(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("quantization", "bytes_per_weight"),
    [
        pytest.param({"quant_method": "fp8"}, 1.0, id="fp8-tensor"),
        pytest.param(
            {"quant_method": "fp8", "weight_block_size": [128, 128]}, 1 + 4 / 128**2, id="fp8-block"
        ),
        pytest.param(
            {"quant_method": "awq", "bits": 4, "group_size": 128}, 4.15625 / 8, id="awq-group-128"
        ),
        pytest.param(
            {"quant_method": "gptq", "bits": 4, "group_size": 128}, 4.15625 / 8, id="gptq-group-128"
        ),
        pytest.param({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4.5 / 8, id="nvfp4"),
        pytest.param(
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {
                        "targets": ["Linear"],
                        "weights": {"num_bits": 4, "type": "int", "group_size": 32},
                    }
                },
            },
            4.5 / 8,
            id="int4-group-32",
        ),
    ],
)
def test_formats_take_the_bytes_that_they_store(
    quantization: dict[str, Any], bytes_per_weight: float
) -> None:
    """One projection of 1024 x 1024: weights, scales and zero points by group."""
    config = a_config(
        hidden_size=1024,
        num_attention_heads=8,
        num_key_value_heads=8,
        quantization_config=quantization,
    )
    model = model_from_config(config, "any")

    (projection,) = [t for t in model.layers[0].tensors if t.module == "self_attn.q_proj"]
    stored = projection.format.stored_bytes(projection.rows, projection.columns)
    assert stored / projection.parameters == pytest.approx(bytes_per_weight, abs=1e-5)


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        pytest.param(["lm_head"], set(), id="head-only"),
        pytest.param(["model.layers.0.self_attn"], {0}, id="prefix-of-one-layer"),
        pytest.param(["model.layers.*.self_attn"], {0, 1}, id="star"),
        pytest.param(["re:.*layers\\.1\\.self_attn.*"], {1}, id="regular-expression"),
        pytest.param(["self_attn"], {0, 1}, id="word"),
    ],
)
def test_lists_of_modules_keep_layers_in_16_bits(names: list[str], kept: set[int]) -> None:
    quantization = {"quant_method": "fp8", "modules_to_not_convert": names}
    model = model_from_config(a_config(quantization_config=quantization), "any")

    wide = {
        index
        for index, layer in enumerate(model.layers)
        for tensor in layer.tensors
        if tensor.module == "self_attn.q_proj" and tensor.format.family == "16bit"
    }
    assert wide == kept
