"""What a wrapper's configuration leaves out of its language model: defaults of its type.

LLaVA and PaliGemma write only what differs from the configuration classes of the transformers
library: LlamaConfig, MistralConfig, Qwen2Config and GemmaConfig.
"""

from collections.abc import Mapping

from berth.catalog.config_values import ConfigValues

TYPE_DEFAULTS: Mapping[str, Mapping[str, int | bool]] = {
    "llama": {
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "max_position_embeddings": 2048,
        "vocab_size": 32000,
    },
    "mistral": {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "max_position_embeddings": 131072,
        "sliding_window": 4096,
        "vocab_size": 32000,
    },
    "qwen2": {
        "hidden_size": 4096,
        "intermediate_size": 22016,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "max_position_embeddings": 32768,
        "vocab_size": 151936,
    },
    "gemma": {"head_dim": 256, "max_position_embeddings": 8192, "tie_word_embeddings": True},
}
"""By `model_type`."""


def with_type_defaults(values: ConfigValues) -> ConfigValues:
    """`values`, completed by the defaults of their type; what is written, null too, stays."""
    defaults = TYPE_DEFAULTS.get(values.text("model_type"), {})
    return ConfigValues({**defaults, **values.data}, values.where, values.errors)
