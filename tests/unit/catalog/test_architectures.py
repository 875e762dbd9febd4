"""Families beside the catalog's own, by the parameter counts that their authors publish."""

from typing import Any

import pytest

from berth.catalog.model_config import model_from_config

MAMBA: dict[str, Any] = {"conv_kernel": 4, "use_conv_bias": True, "num_hidden_layers": 64}
MIXER: dict[str, Any] = {"mamba_d_conv": 4, "mamba_d_head": 64, "mamba_d_state": 128}


@pytest.mark.parametrize(
    ("architecture", "config", "billions"),
    [
        pytest.param(
            "MambaForCausalLM",
            MAMBA
            | {"hidden_size": 2560, "intermediate_size": 5120, "state_size": 16}
            | {"time_step_rank": 160, "vocab_size": 50280},
            2.77,
            id="mamba-2.8b",
        ),
        pytest.param(
            "FalconMambaForCausalLM",
            MAMBA
            | {"hidden_size": 4096, "intermediate_size": 8192, "state_size": 16}
            | {"time_step_rank": 256, "vocab_size": 65024, "tie_word_embeddings": False},
            7.27,
            id="falcon-mamba-7b",
        ),
        pytest.param(
            "Mamba2ForCausalLM",
            MAMBA
            | {"hidden_size": 4096, "num_heads": 128, "head_dim": 64, "state_size": 128}
            | {"n_groups": 8, "vocab_size": 32768, "tie_word_embeddings": False},
            7.29,
            id="codestral-mamba-7b",
        ),
        pytest.param(
            "JambaForCausalLM",
            {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32}
            | {"num_attention_heads": 32, "num_key_value_heads": 8, "num_experts": 16}
            | {"vocab_size": 65536, "max_position_embeddings": 262144, "mamba_dt_rank": 256},
            51.6,
            id="jamba",
        ),
        pytest.param(
            "BambaForCausalLM",
            MIXER
            | {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32}
            | {"num_attention_heads": 32, "num_key_value_heads": 8, "mamba_n_heads": 128}
            | {"mamba_n_groups": 1, "attn_layer_indices": [9, 18, 27], "vocab_size": 128256}
            | {"max_position_embeddings": 262144, "tie_word_embeddings": False},
            9.78,
            id="bamba-9b",
        ),
        pytest.param(
            "GraniteMoeHybridForCausalLM",
            MIXER
            | {"hidden_size": 1536, "intermediate_size": 512, "shared_intermediate_size": 1024}
            | {"num_hidden_layers": 40, "num_attention_heads": 12, "num_key_value_heads": 4}
            | {"num_local_experts": 64, "num_experts_per_tok": 6, "mamba_n_heads": 48}
            | {"mamba_n_groups": 1, "vocab_size": 100352, "max_position_embeddings": 131072}
            | {"layer_types": (["mamba"] * 5 + ["attention"] + ["mamba"] * 4) * 4},
            6.94,
            id="granite-4-tiny",
        ),
        pytest.param(
            "Lfm2ForCausalLM",
            {"hidden_size": 2048, "block_ff_dim": 12288, "block_ffn_dim_multiplier": 1.0}
            | {"num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8}
            | {"full_attn_idxs": [2, 5, 8, 10, 12, 14], "vocab_size": 65536}
            | {"max_position_embeddings": 128000},
            1.17,
            id="lfm2-1.2b",
        ),
        pytest.param(
            "SeedOssForCausalLM",
            {"hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64}
            | {"num_attention_heads": 80, "num_key_value_heads": 8, "head_dim": 128}
            | {"vocab_size": 155136, "max_position_embeddings": 524288, "attention_bias": True},
            36.15,
            id="seed-oss-36b",
        ),
        pytest.param(
            "Exaone4ForCausalLM",
            {"hidden_size": 5120, "intermediate_size": 27392, "num_hidden_layers": 64}
            | {"num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128}
            | {"vocab_size": 102400, "max_position_embeddings": 131072, "sliding_window": 4096}
            | {"sliding_window_pattern": "LLLG"},
            32.0,
            id="exaone-4-32b",
        ),
    ],
)
def test_parameters_are_as_published(
    architecture: str, config: dict[str, Any], billions: float
) -> None:
    model = model_from_config({"architectures": [architecture]} | config, "any")

    assert model.parameters / 1e9 == pytest.approx(billions, rel=0.002)


def test_a_pattern_of_letters_says_which_layers_have_a_window() -> None:
    """LLLG: three local layers, then a global one."""
    config = {
        "architectures": ["Exaone4ForCausalLM"],
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 8,
        "num_attention_heads": 4,
        "vocab_size": 64,
        "max_position_embeddings": 512,
        "sliding_window": 128,
        "sliding_window_pattern": "LLLG",
    }

    model = model_from_config(config, "any")

    windows = [getattr(layer.cache, "window", None) for layer in model.layers]
    assert windows == [128, 128, 128, None] * 2


def test_a_reranker_has_no_head_for_the_vocabulary() -> None:
    config = {
        "architectures": ["Qwen3ForSequenceClassification"],
        "model_type": "qwen3",
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "vocab_size": 1000,
        "max_position_embeddings": 512,
    }

    model = model_from_config(config, "any")

    assert model.head is None
    assert not model.generates
