"""Wrappers, embedders, older decoders and expert mixes, by counts that their authors publish.

Counts are those of the repositories' files (safetensors totals) or of the papers.
"""

from typing import Any

import pytest

from berth.catalog.config_values import ModelConfigError
from berth.catalog.model_config import model_from_config
from berth.catalog.model_shape import HeadCache

CLIP = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24} | {
    "image_size": 336,
    "patch_size": 14,
    "model_type": "clip_vision_model",
}
INTERN_VIT = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24} | {
    "image_size": 448,
    "patch_size": 14,
    "qkv_bias": True,
    "qk_normalization": False,
    "norm_type": "layer_norm",
}
SO400M = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27} | {
    "patch_size": 14,
    "model_type": "siglip_vision_model",
}


def plain(
    hidden: int, inner: int, layers: int, heads: int, kv_heads: int, vocabulary: int
) -> dict[str, Any]:
    """Sizes under the keys that most decoders use, with 4,096 positions."""
    return {
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": vocabulary,
        "max_position_embeddings": 4096,
    }


@pytest.mark.parametrize(
    ("architecture", "config", "billions"),
    [
        pytest.param(
            "LlavaForConditionalGeneration",
            {"text_config": {"model_type": "llama", "vocab_size": 32064}, "vision_config": CLIP}
            | {"tie_word_embeddings": False},
            7.063,
            id="llava-1.5-7b",
        ),
        pytest.param(
            "LlavaNextForConditionalGeneration",
            {"vision_config": CLIP, "tie_word_embeddings": False}
            | {"text_config": {"model_type": "mistral", "vocab_size": 32064}},
            7.567,
            id="llava-1.6-mistral-7b",
        ),
        pytest.param(
            "InternVLChatModel",
            {"vision_config": INTERN_VIT, "max_dynamic_patch": 12}
            | {
                "llm_config": plain(4096, 14336, 32, 32, 8, 92553)
                | {"architectures": ["InternLM2ForCausalLM"]}
            },
            8.075,
            id="internvl-2.5-8b",
        ),
        pytest.param(
            "PaliGemmaForConditionalGeneration",
            {"vision_config": SO400M}
            | {
                "text_config": {"model_type": "gemma", "hidden_size": 2048}
                | {"intermediate_size": 16384, "num_hidden_layers": 18, "vocab_size": 257216}
                | {"num_attention_heads": 8, "num_key_value_heads": 1}
            },
            2.923,
            id="paligemma-3b",
        ),
        pytest.param(
            "Glm4vForConditionalGeneration",
            {
                "text_config": plain(4096, 13696, 40, 32, 2, 151552) | {"attention_bias": True},
                "vision_config": {"hidden_size": 1536, "depth": 24, "out_hidden_size": 4096}
                | {"intermediate_size": 13696, "image_size": 336, "patch_size": 14}
                | {"temporal_patch_size": 2, "spatial_merge_size": 2},
            },
            10.29,
            id="glm-4.1v-9b",
        ),
        pytest.param(
            "ChatGLMModel",
            {"hidden_size": 4096, "ffn_hidden_size": 13696, "num_layers": 40}
            | {"num_attention_heads": 32, "multi_query_attention": True}
            | {"multi_query_group_num": 2, "kv_channels": 128, "padded_vocab_size": 151552}
            | {"add_qkv_bias": True, "add_bias_linear": False, "seq_length": 131072},
            9.40,
            id="glm-4-9b-chat",
        ),
        pytest.param(
            "DbrxForCausalLM",
            {"d_model": 6144, "n_heads": 48, "n_layers": 40, "vocab_size": 100352}
            | {"max_seq_len": 32768, "attn_config": {"kv_n_heads": 8}}
            | {"ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}},
            131.6,
            id="dbrx",
        ),
        pytest.param(
            "HunYuanMoEV1ForCausalLM",
            plain(4096, 3072, 32, 32, 8, 128167)
            | {"head_dim": 128, "num_experts": 64, "moe_topk": [8] * 32, "use_qk_norm": True}
            | {"moe_intermediate_size": [3072] * 32, "num_shared_expert": [1] * 32}
            | {"use_mixed_mlp_moe": True, "tie_word_embeddings": True},
            80.4,
            id="hunyuan-a13b",
        ),
        pytest.param(
            "BailingMoeV2ForCausalLM",
            plain(2048, 5120, 20, 16, 4, 157184)
            | {"head_dim": 128, "num_experts": 256, "num_experts_per_tok": 8}
            | {"moe_intermediate_size": 512, "num_shared_experts": 1, "use_qk_norm": True}
            | {"first_k_dense_replace": 1, "moe_router_enable_expert_bias": True},
            16.26,
            id="ling-mini-2.0",
        ),
        pytest.param(
            "GPTBigCodeForCausalLM",
            {"n_embd": 6144, "n_inner": 24576, "n_layer": 40, "n_head": 48}
            | {"n_positions": 8192, "vocab_size": 49152, "multi_query": True},
            15.517,
            id="starcoder",
        ),
        pytest.param(
            "GPTJForCausalLM",
            {"n_embd": 4096, "n_layer": 28, "n_head": 16, "n_positions": 2048}
            | {"vocab_size": 50400, "tie_word_embeddings": False},
            6.05,
            id="gpt-j-6b",
        ),
        pytest.param(
            "BloomForCausalLM",
            {"hidden_size": 14336, "n_layer": 70, "n_head": 112, "vocab_size": 250880},
            176.247,
            id="bloom",
        ),
        pytest.param(
            "MPTForCausalLM",
            {"d_model": 4096, "n_layers": 32, "n_heads": 32, "vocab_size": 50432}
            | {"max_seq_len": 2048, "expansion_ratio": 4},
            6.649,
            id="mpt-7b",
        ),
        pytest.param("QWenLMHeadModel", plain(4096, 22016, 32, 32, 32, 151936), 7.72, id="qwen-7b"),
        pytest.param("OlmoForCausalLM", plain(4096, 11008, 32, 32, 32, 50304), 6.888, id="olmo-7b"),
        pytest.param(
            "BaichuanForCausalLM", plain(4096, 11008, 32, 32, 32, 125696), 7.506, id="baichuan2-7b"
        ),
        pytest.param("MistralModel", plain(4096, 14336, 32, 32, 8, 32000), 7.11, id="e5-mistral"),
        pytest.param(
            "Gemma3TextModel",
            plain(768, 1152, 24, 3, 1, 262144) | {"head_dim": 256, "sliding_window": 512},
            0.3029,
            id="embeddinggemma",
        ),
    ],
)
def test_parameters_are_as_published(
    architecture: str, config: dict[str, Any], billions: float
) -> None:
    model = model_from_config({"architectures": [architecture]} | config, "any")

    assert model.parameters / 1e9 == pytest.approx(billions, rel=0.001)


def test_one_kv_head_serves_all_query_heads_of_starcoder() -> None:
    config = {"architectures": ["GPTBigCodeForCausalLM"], "n_embd": 64, "n_layer": 2}
    model = model_from_config(config | {"n_head": 4, "n_positions": 64, "vocab_size": 64}, "any")

    (cache,) = model.caches
    assert isinstance(cache, HeadCache)
    assert cache.kv_heads == 1


def test_what_a_wrapper_writes_counts_before_the_defaults_of_its_type() -> None:
    """A null window, as in LLaVA 1.6, is no window; eight KV heads are Mistral's default."""
    text = {"model_type": "mistral", "sliding_window": None, "max_position_embeddings": 32768}
    config = {"architectures": ["LlavaNextForConditionalGeneration"], "vision_config": CLIP}

    model = model_from_config(config | {"text_config": text}, "any")

    (cache,) = model.caches
    assert cache == HeadCache(8, 128, 128)
    assert model.max_positions == 32768


def test_a_wrapper_around_an_unknown_language_model_is_refused_by_its_name() -> None:
    config = {
        "architectures": ["InternVLChatModel"],
        "vision_config": INTERN_VIT,
        "llm_config": plain(64, 64, 2, 4, 4, 64) | {"architectures": ["SomethingNew"]},
    }

    with pytest.raises(ModelConfigError) as refusal:
        model_from_config(config, "any")

    assert refusal.value.lines == (
        "any: llm_config: architectures: SomethingNew is not known; give a known class of it",
    )
