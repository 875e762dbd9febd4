"""A model from its Hugging Face `config.json`: any architecture that is known, nothing guessed."""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Literal

from berth.catalog.architectures import ARCHITECTURES
from berth.catalog.architectures.parts import Body
from berth.catalog.architectures.sound import SOUND_TOWERS
from berth.catalog.architectures.type_defaults import with_type_defaults
from berth.catalog.architectures.vision import TOWERS
from berth.catalog.config_values import ConfigValues, ModelConfigError
from berth.catalog.entry import Source
from berth.catalog.model_shape import Layer, Model, Tensor, stored_bytes
from berth.catalog.quantization import Quantization, read_quantization
from berth.catalog.rope_tables import rope_table_bytes

DTYPES: Mapping[str, Literal["bf16", "fp16", "fp32"]] = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "float32": "fp32",
}


LANGUAGE_SECTIONS = ("text_config", "llm_config")
"""Where a model of several parts describes its language model."""
THINKING_SECTION = "thinker_config"
"""The part of a speaking model that vLLM serves; what makes the speech is left out."""


def model_from_config(config: Mapping[str, Any], name: str, source: Source | None = None) -> Model:
    """The model that `config` describes.

    Raises:
        ModelConfigError: with every problem, if a value is missing, absurd or of the wrong type, or
            if the architecture or the quantization is not known.
    """
    errors: list[str] = []
    root = ConfigValues(config, name, errors)
    architecture = (root.texts("architectures") or ("",))[0]
    if root.has(THINKING_SECTION):
        root = root.section(THINKING_SECTION)
    inner = next((key for key in LANGUAGE_SECTIONS if root.has(key)), None)
    text = with_type_defaults(root.section(inner)) if inner else root
    build = ARCHITECTURES.get(architecture)
    if build is None:
        raise ModelConfigError([*errors, _unknown_architecture(root, text, architecture)])
    body = build(text)
    if text is not root and root.has("tie_word_embeddings"):
        body = replace(body, tied=root.flag("tie_word_embeddings"))
    built = [table[architecture] for table in (TOWERS, SOUND_TOWERS) if architecture in table]
    towers = (tower for make in built if (tower := make(root, text)) is not None)
    body = replace(body, towers=tuple(towers))
    quantization = read_quantization(root, text)
    tables = rope_table_bytes(architecture, text, body)
    if errors:
        raise ModelConfigError(errors)
    model = _assemble(body, quantization, root, text, name, architecture, source)
    return model.model_copy(update={"rope_table_bytes": tables})


def _assemble(
    body: Body,
    quantization: Quantization,
    root: ConfigValues,
    text: ConfigValues,
    name: str,
    architecture: str,
    source: Source | None,
) -> Model:
    written = (
        root.text("dtype")
        or root.text("torch_dtype")
        or text.text("dtype")
        or text.text("torch_dtype")
    )
    dtype = DTYPES.get(written, "bf16")
    layers = _with_formats(body.layers, quantization, 0)
    mtp = _with_formats(body.mtp_layers, quantization, len(body.layers))
    embedding = Tensor("embed_tokens", body.vocabulary, body.hidden_size, "vocab", linear=False)
    head = None if body.tied else Tensor("lm_head", body.vocabulary, body.hidden_size, "vocab")
    if head is not None:
        named = text.section("quantization_config").has("quantized_layers") or root.section(
            "quantization_config"
        ).has("quantized_layers")
        head = replace(head, format=quantization.format_of("lm_head", head)) if named else head
    value_bytes = 4 if dtype == "fp32" else 2
    return Model(
        name=name,
        architecture=architecture,
        hidden_size=body.hidden_size,
        vocabulary=body.vocabulary,
        attention_heads=body.attention_heads,
        kv_heads=body.kv_heads,
        head_size=body.head_size,
        max_positions=body.max_positions,
        layers=layers,
        embedding=embedding,
        head=head,
        final_tensors=body.final_tensors,
        final_vector_parameters=body.final_vector_parameters,
        towers=body.towers,
        mtp_parameters=sum(layer.parameters for layer in mtp),
        mtp_bytes=round(sum(_layer_bytes(layer, value_bytes) for layer in mtp)),
        quantization=quantization.name,
        kv_cache_dtype="fp8" if quantization.kv_cache_fp8 else "auto",
        dtype=dtype,
        pooling=body.pooling,
        generates=body.generates and not body.pooling,
        latent_query_size=body.latent_query_size,
        source=source,
    )


def _with_formats(
    layers: tuple[Layer, ...], quantization: Quantization, first: int
) -> tuple[Layer, ...]:
    """`layers` with the format of each weight; equal layers stay one object."""
    made: dict[tuple[int, tuple[object, ...]], Layer] = {}
    result = []
    for index, layer in enumerate(layers, first):
        formats = tuple(
            quantization.format_of(f"layers.{index}.{tensor.module}", tensor)
            for tensor in layer.tensors
        )
        key = (id(layer), formats)
        if key not in made:
            tensors = tuple(
                replace(t, format=f) for t, f in zip(layer.tensors, formats, strict=True)
            )
            made[key] = replace(layer, tensors=tensors)
        result.append(made[key])
    return tuple(result)


def _layer_bytes(layer: Layer, value_bytes: int) -> float:
    return (
        sum(stored_bytes(t, value_bytes) for t in layer.tensors)
        + layer.vector_parameters * value_bytes
    )


def _unknown_architecture(root: ConfigValues, text: ConfigValues, architecture: str) -> str:
    wanted = (
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "vocab_size",
    )
    understood = [
        f"{key} {text.data[key]}" for key in wanted if isinstance(text.data.get(key), int)
    ]
    shown = architecture[:60] or "none"
    near = get_close_matches(architecture[:60], sorted(ARCHITECTURES), n=3, cutoff=0.5)
    known = f"{len(ARCHITECTURES)} classes are known"
    fix = f"{known}, the nearest {', '.join(near)}" if near else known
    return (
        f"{root.where}: architectures: {shown} is not known; understood "
        f"{', '.join(understood) or 'nothing'}; {fix}"
    )
