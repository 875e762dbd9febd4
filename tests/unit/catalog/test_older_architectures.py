"""Decoders of 2019 to 2023, by the parameter counts of their repositories."""

from typing import Any

import pytest

from berth.catalog.config_values import ModelConfigError
from berth.catalog.model_config import model_from_config

LARGE: dict[str, Any] = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 2048,
}
FALCON: dict[str, Any] = {"architectures": ["FalconForCausalLM"], "vocab_size": 65024}


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        pytest.param(
            {"architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_layer": 12, "n_head": 12}
            | {"n_positions": 1024, "vocab_size": 50257},
            124_439_808,
            id="gpt2",
        ),
        pytest.param(
            LARGE
            | {"architectures": ["GPTNeoXForCausalLM"], "intermediate_size": 16384}
            | {"vocab_size": 50432, "tie_word_embeddings": False},
            6_857_302_016,
            id="pythia-6.9b",
        ),
        pytest.param(
            LARGE
            | {"architectures": ["OPTForCausalLM"], "ffn_dim": 16384, "vocab_size": 50272}
            | {"word_embed_proj_dim": 4096},
            6_658_473_984,
            id="opt-6.7b",
        ),
        pytest.param(
            {"architectures": ["PhiForCausalLM"], "hidden_size": 2560, "num_hidden_layers": 32}
            | {"num_attention_heads": 32, "intermediate_size": 10240, "vocab_size": 51200}
            | {"max_position_embeddings": 2048, "tie_word_embeddings": False},
            2_779_683_840,
            id="phi-2",
        ),
        pytest.param(
            FALCON
            | {"hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71}
            | {"multi_query": True, "parallel_attn": True, "new_decoder_architecture": False},
            6_921_720_704,
            id="falcon-7b",
        ),
        pytest.param(
            FALCON
            | {"hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128}
            | {"num_kv_heads": 8, "new_decoder_architecture": True},
            41_303_293_952,
            id="falcon-40b",
        ),
    ],
)
def test_parameters_are_those_of_the_repository(config: dict[str, Any], parameters: int) -> None:
    assert model_from_config(config, "any").parameters == parameters


def test_one_kv_head_for_all_is_cached_once() -> None:
    config = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}

    assert model_from_config(FALCON | config, "any").kv_heads == 1


def test_projected_embeddings_are_refused() -> None:
    config = LARGE | {"architectures": ["OPTForCausalLM"], "ffn_dim": 4096, "vocab_size": 50272}

    with pytest.raises(ModelConfigError, match="word_embed_proj_dim: differs from hidden_size"):
        model_from_config(config | {"word_embed_proj_dim": 512}, "any")
