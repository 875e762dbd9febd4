"""How each family of architectures is built: one module per family, one table of class names."""

from collections.abc import Callable, Mapping

from berth.catalog.architectures import (
    deepseek_v4,
    dense,
    encoder,
    experts,
    gemma,
    hybrid,
    latent,
    older,
    state_space,
)
from berth.catalog.architectures.dense import Traits, build_as, build_classifier
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


ARCHITECTURES: Mapping[str, Builder] = {
    "ApertusForCausalLM": _as(dense.APERTUS),
    "ArceeForCausalLM": _as(dense.ARCEE),
    "BambaForCausalLM": state_space.build_granite_hybrid,
    "BertForMaskedLM": encoder.build_bert,
    "BertForSequenceClassification": encoder.build_bert,
    "BertModel": encoder.build_bert,
    "Cohere2ForCausalLM": dense.build_cohere,
    "CohereForCausalLM": dense.build_cohere,
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
    "FalconMambaForCausalLM": state_space.build_mamba,
    "GPT2LMHeadModel": older.build_gpt2,
    "GPTNeoXForCausalLM": older.build_neox,
    "Gemma2ForCausalLM": dense.build_gemma2,
    "Gemma3ForCausalLM": gemma.build_gemma3,
    "Gemma3ForConditionalGeneration": gemma.build_gemma3,
    "Gemma4ForCausalLM": gemma.build_gemma4,
    "Gemma4ForConditionalGeneration": gemma.build_gemma4,
    "GemmaForCausalLM": _as(dense.GEMMA),
    "Glm4ForCausalLM": _as(dense.GLM4),
    "Glm4MoeForCausalLM": experts.build_glm4_moe,
    "Glm4MoeLiteForCausalLM": latent.build,
    "GlmMoeDsaForCausalLM": latent.build,
    "GptOssForCausalLM": experts.build_gpt_oss,
    "GraniteForCausalLM": _as(dense.LLAMA),
    "GraniteMoeForCausalLM": experts.build_mixtral,
    "GraniteMoeHybridForCausalLM": state_space.build_granite_hybrid,
    "GraniteMoeSharedForCausalLM": experts.build_mixtral,
    "HunYuanDenseV1ForCausalLM": _as(dense.HEAD_NORMS),
    "InternLM2ForCausalLM": _as(dense.LLAMA),
    "InternLM3ForCausalLM": _as(dense.LLAMA),
    "JambaForCausalLM": state_space.build_jamba,
    "KimiK25ForConditionalGeneration": latent.build,
    "KimiK3ForConditionalGeneration": hybrid.build_kimi_linear,
    "KimiLinearForCausalLM": hybrid.build_kimi_linear,
    "Lfm2ForCausalLM": state_space.build_lfm2,
    "Llama4ForCausalLM": experts.build_llama4,
    "Llama4ForConditionalGeneration": experts.build_llama4,
    "LlamaForCausalLM": _as(dense.LLAMA),
    "LlamaForSequenceClassification": _ranking(dense.LLAMA),
    "Mamba2ForCausalLM": state_space.build_mamba2,
    "MambaForCausalLM": state_space.build_mamba,
    "MiMoForCausalLM": _as(dense.MIMO),
    "MiMoV2FlashForCausalLM": experts.build_mimo_v2,
    "MiniMaxM2ForCausalLM": experts.build_minimax_m2,
    "MiniMaxM3ForCausalLM": experts.build_minimax_m3,
    "MiniMaxM3SparseForCausalLM": experts.build_minimax_m3,
    "Mistral3ForConditionalGeneration": _as(dense.LLAMA),
    "MistralForCausalLM": _as(dense.LLAMA),
    "MistralForSequenceClassification": _ranking(dense.LLAMA),
    "MixtralForCausalLM": experts.build_mixtral,
    "ModernBertForMaskedLM": encoder.build_modern_bert,
    "ModernBertModel": encoder.build_modern_bert,
    "NemotronForCausalLM": _as(dense.NEMOTRON),
    "NemotronHForCausalLM": hybrid.build_nemotron_h,
    "OPTForCausalLM": older.build_opt,
    "Olmo2ForCausalLM": _as(dense.OLMO2),
    "Olmo3ForCausalLM": _as(dense.OLMO2),
    "OlmoeForCausalLM": experts.build_qwen_moe,
    "Phi3ForCausalLM": _as(dense.PHI3),
    "PhiForCausalLM": older.build_phi,
    "PhiMoEForCausalLM": experts.build_mixtral,
    "Qwen2ForCausalLM": _as(dense.QWEN2),
    "Qwen2ForSequenceClassification": _ranking(dense.QWEN2),
    "Qwen2MoeForCausalLM": experts.build_qwen_moe,
    "Qwen2VLForConditionalGeneration": _as(dense.QWEN2),
    "Qwen2_5_VLForConditionalGeneration": _as(dense.QWEN2),
    "Qwen3ForCausalLM": _as(dense.QWEN3),
    "Qwen3ForSequenceClassification": _ranking(dense.QWEN3),
    "Qwen3MoeForCausalLM": experts.build_qwen_moe,
    "Qwen3NextForCausalLM": hybrid.build_qwen_next,
    "Qwen3VLForConditionalGeneration": _as(dense.QWEN3),
    "Qwen3VLMoeForConditionalGeneration": experts.build_qwen_moe,
    "Qwen3_5ForCausalLM": hybrid.build_qwen_next,
    "Qwen3_5ForConditionalGeneration": hybrid.build_qwen_next,
    "Qwen3_5MoeForCausalLM": hybrid.build_qwen_next,
    "Qwen3_5MoeForConditionalGeneration": hybrid.build_qwen_next,
    "RobertaModel": encoder.build_bert,
    "SeedOssForCausalLM": _as(dense.SEED_OSS),
    "SmolLM3ForCausalLM": _as(dense.SMOLLM3),
    "StableLmForCausalLM": _as(dense.STABLELM),
    "Starcoder2ForCausalLM": _as(dense.STARCODER2),
    "Step3p7FlashForCausalLM": experts.build_step3,
    "Step3p7ForCausalLM": experts.build_step3,
    "XLMRobertaForSequenceClassification": encoder.build_bert,
    "XLMRobertaModel": encoder.build_bert,
}
"""Builders by the class name that a configuration gives under `architectures`."""
