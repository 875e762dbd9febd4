"""Pictures, sound, mixtures of attention and states, newer embedders, by published counts.

Counts are the totals of the repositories' safetensors files as the hub shows them, or of the
papers and model cards named beside them.
"""

from typing import Any

import pytest

from berth.catalog.config_values import ModelConfigError
from berth.catalog.gpu import find_gpu, load_gpus
from berth.catalog.model_config import model_from_config
from berth.catalog.model_shape import HeadCache, Model, StateCache
from berth.planner.engine_options import EngineOptions
from berth.planner.memory import plan_memory

GPUS = load_gpus()
WHISPER = {"architectures": ["WhisperForConditionalGeneration"], "max_source_positions": 1500}
LARGE_V3 = WHISPER | {
    "d_model": 1280,
    "encoder_layers": 32,
    "decoder_layers": 32,
    "num_mel_bins": 128,
    "encoder_ffn_dim": 5120,
    "decoder_ffn_dim": 5120,
    "decoder_attention_heads": 20,
    "vocab_size": 51866,
    "max_target_positions": 448,
}
SOUND = {"d_model": 1280, "encoder_layers": 32, "encoder_ffn_dim": 5120, "num_mel_bins": 128}
VISION_32 = {
    "depth": 32,
    "hidden_size": 1280,
    "intermediate_size": 3420,
    "out_hidden_size": 3584,
    "patch_size": 14,
    "in_channels": 3,
    "spatial_merge_size": 2,
}
VISION_27 = {
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "out_hidden_size": 2048,
    "patch_size": 16,
    "num_position_embeddings": 2304,
    "deepstack_visual_indexes": [8, 16, 24],
}
SOUND_3N = {"hidden_size": 1536, "conf_num_hidden_layers": 12, "vocab_size": 128}
SEES_3N = {"architecture": "mobilenetv5_300m_enc", "hidden_size": 2048, "vocab_size": 128}


def plain(
    hidden: int, inner: Any, layers: int, heads: int, kv_heads: int, vocabulary: int
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


def gemma_3n(inner: int, layers: int, sharing: int) -> dict[str, Any]:
    text = plain(2048, [inner] * layers, layers, 8, 2, 262400) | {
        "head_dim": 256,
        "num_kv_shared_layers": sharing,
        "vocab_size_per_layer_input": 262144,
        "hidden_size_per_layer_input": 256,
        "altup_num_inputs": 4,
        "laurel_rank": 64,
        "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * (layers // 5),
        "sliding_window": 512,
    }
    return {"text_config": text, "vision_config": SEES_3N, "audio_config": SOUND_3N}


@pytest.mark.parametrize(
    ("architecture", "config", "parameters"),
    [
        pytest.param(
            "MllamaForConditionalGeneration",
            {
                "text_config": plain(4096, 14336, 40, 32, 8, 128256)
                | {"cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38]},
                "vision_config": {
                    "hidden_size": 1280,
                    "intermediate_size": 5120,
                    "patch_size": 14,
                    "num_hidden_layers": 32,
                    "num_global_layers": 8,
                    "image_size": 560,
                    "max_num_tiles": 4,
                    "vision_output_dim": 7680,
                },
            },
            10_670_220_835,
            id="llama-3.2-11b-vision",
        ),
        pytest.param(
            "LlavaForConditionalGeneration",
            {
                "text_config": plain(5120, 14336, 40, 32, 8, 131072)
                | {"model_type": "mistral", "head_dim": 128, "sliding_window": None},
                "vision_config": {"model_type": "pixtral", "hidden_size": 1024, "patch_size": 16}
                | {"intermediate_size": 4096, "image_size": 1024},
                "tie_word_embeddings": False,
            },
            12_682_740_736,
            id="pixtral-12b",
        ),
        pytest.param(
            "Gemma3nForConditionalGeneration",
            gemma_3n(16384, 35, 15),
            7_849_978_192,
            id="gemma-3n-e4b",
        ),
        pytest.param(
            "Gemma3nForConditionalGeneration",
            gemma_3n(8192, 30, 10),
            5_439_438_272,
            id="gemma-3n-e2b",
        ),
        pytest.param("WhisperForConditionalGeneration", LARGE_V3, 1_543_490_560, id="whisper"),
        pytest.param(
            "WhisperForConditionalGeneration",
            LARGE_V3 | {"decoder_layers": 4},
            808_878_080,
            id="whisper-turbo",
        ),
        pytest.param(
            "Qwen2AudioForConditionalGeneration",
            {
                "text_config": plain(4096, 11008, 32, 32, 32, 156032),
                "audio_config": SOUND,
                "tie_word_embeddings": False,
            },
            8_397_094_912,
            id="qwen2-audio-7b",
        ),
        pytest.param(
            "VoxtralForConditionalGeneration",
            {
                "text_config": plain(3072, 8192, 30, 32, 8, 131072) | {"head_dim": 128},
                "audio_config": {"hidden_size": 1280, "intermediate_size": 5120}
                | {"num_hidden_layers": 32, "num_mel_bins": 128},
            },
            4_676_193_280,
            id="voxtral-mini-3b",
        ),
        pytest.param(
            "Qwen3OmniMoeForConditionalGeneration",
            {
                "thinker_config": {
                    "text_config": plain(2048, 768, 48, 32, 4, 152064)
                    | {"head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8}
                    | {"moe_intermediate_size": 768, "model_type": "qwen3_omni_moe_text"},
                    "vision_config": VISION_27,
                    "audio_config": SOUND | {"output_dim": 2048, "downsample_hidden_size": 480},
                }
            },
            31_719_205_488,
            id="qwen3-omni-30b-a3b-captioner",
        ),
        pytest.param(
            "Lfm2MoeForCausalLM",
            plain(2048, 7168, 24, 32, 8, 65536)
            | {"moe_intermediate_size": 1792, "num_experts": 32, "num_experts_per_tok": 4}
            | {"full_attn_idxs": [2, 6, 10, 14, 18, 21], "num_dense_layers": 2},
            8_339_929_856,
            id="lfm2-8b-a1b",
        ),
        pytest.param(
            "NomicBertModel",
            {"n_embd": 768, "n_head": 12, "n_inner": 3072, "n_layer": 12, "vocab_size": 30528}
            | {"type_vocab_size": 2, "activation_function": "swiglu", "n_positions": 8192},
            136_731_648,
            id="nomic-embed-v1.5",
        ),
        pytest.param(
            "NomicBertModel",
            {"n_embd": 768, "n_head": 12, "n_inner": 3072, "n_layer": 12, "vocab_size": 250048}
            | {"type_vocab_size": 1, "activation_function": "gelu", "n_positions": 2048}
            | {"qkv_proj_bias": True, "mlp_fc1_bias": True, "mlp_fc2_bias": True}
            | {"num_experts": 8, "moe_every_n_layers": 2, "moe_top_k": 2},
            475_292_928,
            id="nomic-embed-v2-moe",
        ),
        pytest.param(
            "NewModel",
            plain(1024, 4096, 24, 16, 16, 30528) | {"type_vocab_size": 2},
            434_139_136,
            id="gte-large-en-v1.5",
        ),
    ],
)
def test_parameters_are_those_of_the_files(
    architecture: str, config: dict[str, Any], parameters: int
) -> None:
    model = model_from_config({"architectures": [architecture]} | config, "any")

    assert model.parameters == pytest.approx(parameters, rel=0.001)


@pytest.mark.parametrize(
    ("architecture", "config", "billions"),
    [
        pytest.param(
            "MiniMaxText01ForCausalLM",
            plain(6144, 9216, 80, 64, 8, 200064)
            | {"head_dim": 128, "num_local_experts": 32, "num_experts_per_tok": 2}
            | {"attn_type_list": ([0] * 7 + [1]) * 10},
            456,
            id="minimax-text-01-of-its-paper",
        ),
        pytest.param(
            "Step3TextForCausalLM",
            plain(7168, 18432, 61, 64, 1, 128815)
            | {"head_dim": 256, "share_q_dim": 2048, "moe_num_experts": 48, "moe_top_k": 3}
            | {"moe_intermediate_size": 5120, "share_expert_dim": 5120}
            | {"moe_layers_enum": ",".join(map(str, range(4, 60)))},
            316,
            id="step-3-language-part-of-its-card",
        ),
        pytest.param(
            "FalconH1ForCausalLM",
            plain(3072, 12288, 44, 12, 2, 130048)
            | {"head_dim": 128, "mamba_d_ssm": 3072, "mamba_n_heads": 24, "mamba_d_head": 128}
            | {"mamba_d_state": 256, "mamba_n_groups": 1, "mamba_d_conv": 4},
            7.59,
            id="falcon-h1-7b",
        ),
        pytest.param(
            "PhimoeForCausalLM",
            plain(4096, 6400, 32, 32, 8, 32064)
            | {"num_local_experts": 16, "num_experts_per_tok": 2, "attention_bias": True}
            | {"lm_head_bias": True},
            41.873,
            id="phi-3.5-moe",
        ),
        pytest.param(
            "MiniCPMForCausalLM", plain(2304, 5760, 40, 36, 36, 122753), 2.725, id="minicpm-2b"
        ),
    ],
)
def test_parameters_are_as_their_makers_say(
    architecture: str, config: dict[str, Any], billions: float
) -> None:
    model = model_from_config({"architectures": [architecture]} | config, "any")

    assert model.parameters / 1e9 == pytest.approx(billions, rel=0.0015)


def named(name: str, **changes: Any) -> Model:
    """The case of that id above, changed."""
    cases = [
        *test_parameters_are_those_of_the_files.pytestmark[0].args[1],
        *test_parameters_are_as_their_makers_say.pytestmark[0].args[1],
    ]
    architecture, config, _ = next(case.values for case in cases if case.id == name)
    return model_from_config({"architectures": [architecture]} | config | changes, name)


def test_every_layer_of_falcon_h1_keeps_heads_and_a_state() -> None:
    """Mamba-2: 24 heads of 128 x 256 values; (3072 + 2 x 256) inputs x 3 remembered."""
    model = named("falcon-h1-7b")

    assert all(
        layer.caches
        == (
            HeadCache(2, 128, 128),
            StateCache("mamba2", 3584 * 3, 24 * 128 * 256, groups=1, group_conv_values=2 * 256 * 3),
        )
        for layer in model.layers
    )
    assert len(model.layers) == 44


def test_a_block_of_falcon_h1_holds_all_its_attention_layers() -> None:
    """State: 3584 x 3 x 2 + 786,432 x 4 bytes = 3,167,232; a token takes 1,024 bytes in a layer, so
    blocks of 16 x 194 tokens; 44 layers of either kind make one group each."""
    options = EngineOptions(vllm_version="0.32.0", max_model_len=4096, max_num_seqs=16)
    terms = plan_memory(named("falcon-h1-7b"), GPUS[find_gpu(GPUS, "H100")], options).terms

    assert terms.layout.block_bytes == 44 * 16 * 194 * 1024
    assert [group.layers for group in terms.layout.groups] == [44, 44]


def test_lightning_attention_keeps_one_matrix_per_head_in_the_dtype_of_the_model() -> None:
    states = [c for c in named("minimax-text-01-of-its-paper").caches if isinstance(c, StateCache)]

    assert states == [StateCache("lightning", 0, 64 * 128 * 128, state_in_model_dtype=True)]


def test_whisper_keeps_its_source_whatever_the_length() -> None:
    """1500 frames and 448 tokens in blocks of 16: 94 and 28, 32 layers of 2 x 20 x 64 values."""
    options = EngineOptions(vllm_version="0.32.0", max_num_seqs=16)
    terms = plan_memory(named("whisper"), GPUS[find_gpu(GPUS, "L4")], options).terms

    assert terms.request_blocks(448) == 94 + 28
    assert terms.layout.block_bytes == 32 * 16 * 2 * 20 * 64 * 2


def test_the_last_layers_of_gemma_3n_read_the_caches_of_others() -> None:
    """E4B: 15 of 35 share; of the first 20 every fifth looks at all tokens."""
    kept = [layer.cache for layer in named("gemma-3n-e4b").layers]

    assert kept[20:] == [None] * 15
    assert kept[:20].count(HeadCache(2, 256, 256)) == 4
    assert kept[:20].count(HeadCache(2, 256, 256, 512)) == 16


def test_step_3_has_one_kv_head_on_every_rank() -> None:
    (cache,) = set(named("step-3-language-part-of-its-card").caches)

    assert cache == HeadCache(1, 256, 256)


def test_the_part_that_speaks_is_not_counted() -> None:
    model = named("qwen3-omni-30b-a3b-captioner", talker_config={"hidden_size": 1024})

    assert model.parameters == 31_719_205_488
    assert len(model.towers) == 2


def test_an_embedder_keeps_nothing_and_generates_nothing() -> None:
    model = named("gte-large-en-v1.5")

    assert (model.caches, model.pooling, model.generates) == ((), True, False)


@pytest.mark.parametrize(
    ("name", "changes", "line"),
    [
        pytest.param(
            "minimax-text-01-of-its-paper",
            {"attn_type_list": [0, 1]},
            "attn_type_list: has 2 entries; give one per 80 layers",
            id="too few kinds",
        ),
        pytest.param(
            "step-3-language-part-of-its-card",
            {"moe_layers_enum": "4,x"},
            "moe_layers_enum: is no list of numbers; write them with commas",
            id="no numbers",
        ),
        pytest.param(
            "whisper",
            {"decoder_attention_heads": 21},
            "decoder_attention_heads: do not divide 1280; give a divisor",
            id="heads that do not divide",
        ),
    ],
)
def test_a_value_that_does_not_go_together_is_named(
    name: str, changes: dict[str, Any], line: str
) -> None:
    with pytest.raises(ModelConfigError) as refusal:
        named(name, **changes)

    assert any(line in each for each in refusal.value.lines)
