"""How each family of architectures is built: one module per family, one table of class names."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from berth.catalog.architectures import (
    deepseek_v4,
    dense,
    encoder,
    expert_mixes,
    experts,
    gemma,
    gemma3n,
    hybrid,
    latent,
    mixed,
    mllama,
    older,
    sound,
    state_space,
)
from berth.catalog.architectures.dense import (
    Traits,
    build_as,
    build_classifier,
    build_embedder,
)
from berth.catalog.architectures.parts import Body
from berth.catalog.config_values import ConfigValues

Builder = Callable[[ConfigValues], Body]


def _as(traits: Traits) -> Builder:
    def build(values: ConfigValues) -> Body:
        return build_as(values, traits)

    return build


def _ranking(traits: Traits) -> Builder:
    def build(values: ConfigValues) -> Body:
        return build_classifier(values, traits)

    return build


def _embedding(traits: Traits) -> Builder:
    def build(values: ConfigValues) -> Body:
        return build_embedder(values, traits)

    return build


def _embedding_gemma3(values: ConfigValues) -> Body:
    return replace(gemma.build_gemma3(values), generates=False)


def build_inner(values: ConfigValues) -> Body:
    """The language model inside a wrapper, by its own class, else by its `model_type`."""
    kind = values.text("model_type")
    name = (values.texts("architectures") or (CLASS_OF_TYPE.get(kind, ""),))[0]
    inner = ARCHITECTURES.get(name)
    if inner is None or inner is build_inner:
        shown = name[:60] or kind[:60] or "none"
        values.refuse("architectures", f"{shown} is not known", "give a known class of it")
        return ARCHITECTURES["LlamaForCausalLM"](values)
    return inner(values)


CLASS_OF_TYPE: Mapping[str, str] = {
    "cohere2": "Cohere2ForCausalLM",
    "gemma": "GemmaForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "gpt_oss": "GptOssForCausalLM",
    "internlm2": "InternLM2ForCausalLM",
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "phi3": "Phi3ForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
}
"""Class of a language model whose wrapper names only its `model_type`."""

ARCHITECTURES: Mapping[str, Builder] = {
    "ApertusForCausalLM": _as(dense.APERTUS),
    "AquilaForCausalLM": _as(dense.LLAMA),
    "ArceeForCausalLM": _as(dense.ARCEE),
    "BaiChuanForCausalLM": _as(dense.LLAMA),
    "BaichuanForCausalLM": _as(dense.LLAMA),
    "BailingMoeForCausalLM": expert_mixes.build_ling,
    "BailingMoeV2ForCausalLM": expert_mixes.build_ling,
    "BambaForCausalLM": state_space.build_granite_hybrid,
    "BertForMaskedLM": encoder.build_bert,
    "BertForSequenceClassification": encoder.build_bert,
    "BertForTokenClassification": encoder.build_bert,
    "BertModel": encoder.build_bert,
    "BloomForCausalLM": older.build_bloom,
    "ChatGLMForConditionalGeneration": dense.build_chat_glm,
    "ChatGLMModel": dense.build_chat_glm,
    "Cohere2ForCausalLM": dense.build_cohere,
    "CohereForCausalLM": dense.build_cohere,
    "DbrxForCausalLM": expert_mixes.build_dbrx,
    "DeciLMForCausalLM": dense.build_nas,
    "DeepseekForCausalLM": latent.build,
    "DeepseekV2ForCausalLM": latent.build,
    "DeepseekV32ForCausalLM": latent.build,
    "DeepseekV3ForCausalLM": latent.build,
    "DeepseekV4ForCausalLM": deepseek_v4.build,
    "Dots1ForCausalLM": experts.build_glm4_moe,
    "Ernie4_5ForCausalLM": _as(dense.LLAMA),
    "Ernie4_5_MoeForCausalLM": experts.build_glm4_moe,
    "Exaone4ForCausalLM": _as(dense.HEAD_NORMS),
    "ExaoneForCausalLM": _as(dense.LLAMA),
    "FalconForCausalLM": older.build_falcon,
    "FalconH1ForCausalLM": mixed.build_falcon_h1,
    "FalconMambaForCausalLM": state_space.build_mamba,
    "GPT2LMHeadModel": older.build_gpt2,
    "GPTBigCodeForCausalLM": older.build_big_code,
    "GPTJForCausalLM": older.build_gpt_j,
    "GPTNeoXForCausalLM": older.build_neox,
    "Gemma2ForCausalLM": dense.build_gemma2,
    "Gemma3ForCausalLM": gemma.build_gemma3,
    "Gemma3ForConditionalGeneration": gemma.build_gemma3,
    "Gemma3TextModel": _embedding_gemma3,
    "Gemma3nForCausalLM": gemma3n.build,
    "Gemma3nForConditionalGeneration": gemma3n.build,
    "Gemma4ForCausalLM": gemma.build_gemma4,
    "Gemma4ForConditionalGeneration": gemma.build_gemma4,
    "GemmaForCausalLM": _as(dense.GEMMA),
    "Glm4ForCausalLM": _as(dense.GLM4),
    "Glm4MoeForCausalLM": experts.build_glm4_moe,
    "Glm4MoeLiteForCausalLM": latent.build,
    "Glm4vForConditionalGeneration": _as(dense.GLM4),
    "Glm4vMoeForConditionalGeneration": experts.build_glm4_moe,
    "GlmForCausalLM": _as(dense.QWEN2),
    "GlmMoeDsaForCausalLM": latent.build,
    "GptOssForCausalLM": experts.build_gpt_oss,
    "GraniteForCausalLM": _as(dense.LLAMA),
    "GraniteMoeForCausalLM": experts.build_mixtral,
    "GraniteMoeHybridForCausalLM": state_space.build_granite_hybrid,
    "GraniteMoeSharedForCausalLM": experts.build_mixtral,
    "GteModel": encoder.build_gte,
    "GteNewModel": encoder.build_gte,
    "HunYuanDenseV1ForCausalLM": _as(dense.HEAD_NORMS),
    "HunYuanMoEV1ForCausalLM": expert_mixes.build_hunyuan,
    "InternLM2ForCausalLM": _as(dense.LLAMA),
    "InternLM3ForCausalLM": _as(dense.LLAMA),
    "InternVLChatModel": build_inner,
    "InternVLForConditionalGeneration": build_inner,
    "JambaForCausalLM": state_space.build_jamba,
    "KimiK25ForConditionalGeneration": latent.build,
    "KimiK3ForConditionalGeneration": hybrid.build_kimi_linear,
    "KimiLinearForCausalLM": hybrid.build_kimi_linear,
    "Lfm2ForCausalLM": state_space.build_lfm2,
    "Lfm2MoeForCausalLM": state_space.build_lfm2_moe,
    "Llama4ForCausalLM": experts.build_llama4,
    "Llama4ForConditionalGeneration": experts.build_llama4,
    "LlamaForCausalLM": _as(dense.LLAMA),
    "LlamaForSequenceClassification": _ranking(dense.LLAMA),
    "LlamaModel": _embedding(dense.LLAMA),
    "LlavaForConditionalGeneration": build_inner,
    "LlavaNextForConditionalGeneration": build_inner,
    "LlavaOnevisionForConditionalGeneration": build_inner,
    "MPTForCausalLM": older.build_mpt,
    "Mamba2ForCausalLM": state_space.build_mamba2,
    "MambaForCausalLM": state_space.build_mamba,
    "MiMoForCausalLM": _as(dense.MIMO),
    "MiMoV2FlashForCausalLM": experts.build_mimo_v2,
    "MiniCPMForCausalLM": _as(dense.MINI_CPM),
    "MiniMaxForCausalLM": mixed.build_minimax_text,
    "MiniMaxM1ForCausalLM": mixed.build_minimax_text,
    "MiniMaxM2ForCausalLM": experts.build_minimax_m2,
    "MiniMaxM3ForCausalLM": experts.build_minimax_m3,
    "MiniMaxM3SparseForCausalLM": experts.build_minimax_m3,
    "MiniMaxText01ForCausalLM": mixed.build_minimax_text,
    "Mistral3ForConditionalGeneration": _as(dense.LLAMA),
    "MistralForCausalLM": _as(dense.LLAMA),
    "MistralForSequenceClassification": _ranking(dense.LLAMA),
    "MistralModel": _embedding(dense.LLAMA),
    "MixtralForCausalLM": experts.build_mixtral,
    "MllamaForConditionalGeneration": mllama.build,
    "ModernBertForMaskedLM": encoder.build_modern_bert,
    "ModernBertForSequenceClassification": encoder.build_modern_bert,
    "ModernBertModel": encoder.build_modern_bert,
    "MptForCausalLM": older.build_mpt,
    "NemotronForCausalLM": _as(dense.NEMOTRON),
    "NemotronHForCausalLM": hybrid.build_nemotron_h,
    "NewModel": encoder.build_gte,
    "NomicBertModel": encoder.build_nomic_bert,
    "OPTForCausalLM": older.build_opt,
    "Olmo2ForCausalLM": _as(dense.OLMO2),
    "Olmo3ForCausalLM": _as(dense.OLMO2),
    "OlmoForCausalLM": dense.build_olmo,
    "OlmoeForCausalLM": experts.build_qwen_moe,
    "OrionForCausalLM": _as(dense.STABLELM),
    "PaliGemmaForConditionalGeneration": build_inner,
    "Phi3ForCausalLM": _as(dense.PHI3),
    "PhiForCausalLM": older.build_phi,
    "PhiMoEForCausalLM": experts.build_mixtral,
    "PhimoeForCausalLM": experts.build_mixtral,
    "PixtralForConditionalGeneration": _as(dense.LLAMA),
    "QWenLMHeadModel": older.build_qwen,
    "Qwen2AudioForConditionalGeneration": _as(dense.QWEN2),
    "Qwen2ForCausalLM": _as(dense.QWEN2),
    "Qwen2ForSequenceClassification": _ranking(dense.QWEN2),
    "Qwen2Model": _embedding(dense.QWEN2),
    "Qwen2MoeForCausalLM": experts.build_qwen_moe,
    "Qwen2VLForConditionalGeneration": _as(dense.QWEN2),
    "Qwen2_5OmniModel": _as(dense.QWEN2),
    "Qwen2_5OmniThinkerForConditionalGeneration": _as(dense.QWEN2),
    "Qwen2_5_VLForConditionalGeneration": _as(dense.QWEN2),
    "Qwen3ForCausalLM": _as(dense.QWEN3),
    "Qwen3ForSequenceClassification": _ranking(dense.QWEN3),
    "Qwen3Model": _embedding(dense.QWEN3),
    "Qwen3MoeForCausalLM": experts.build_qwen_moe,
    "Qwen3NextForCausalLM": hybrid.build_qwen_next,
    "Qwen3OmniMoeForConditionalGeneration": experts.build_qwen_moe,
    "Qwen3OmniMoeThinkerForConditionalGeneration": experts.build_qwen_moe,
    "Qwen3VLForConditionalGeneration": _as(dense.QWEN3),
    "Qwen3VLMoeForConditionalGeneration": experts.build_qwen_moe,
    "Qwen3_5ForCausalLM": hybrid.build_qwen_next,
    "Qwen3_5ForConditionalGeneration": hybrid.build_qwen_next,
    "Qwen3_5MoeForCausalLM": hybrid.build_qwen_next,
    "Qwen3_5MoeForConditionalGeneration": hybrid.build_qwen_next,
    "RobertaForMaskedLM": encoder.build_bert,
    "RobertaForSequenceClassification": encoder.build_bert,
    "RobertaModel": encoder.build_bert,
    "SeedOssForCausalLM": _as(dense.SEED_OSS),
    "SmolLM3ForCausalLM": _as(dense.SMOLLM3),
    "SolarForCausalLM": _as(dense.LLAMA),
    "StableLmForCausalLM": _as(dense.STABLELM),
    "Starcoder2ForCausalLM": _as(dense.STARCODER2),
    "Step3TextForCausalLM": expert_mixes.build_step3_text,
    "Step3p7FlashForCausalLM": experts.build_step3,
    "Step3p7ForCausalLM": experts.build_step3,
    "VoxtralForConditionalGeneration": _as(dense.LLAMA),
    "WhisperForConditionalGeneration": sound.build_whisper,
    "XLMRobertaForMaskedLM": encoder.build_bert,
    "XLMRobertaForSequenceClassification": encoder.build_bert,
    "XLMRobertaModel": encoder.build_bert,
    "XverseForCausalLM": _as(dense.LLAMA),
}
"""Builders by the class name that a configuration gives under `architectures`."""
