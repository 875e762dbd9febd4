"""Models: every weight with its shape and format, and what each layer keeps per sequence."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import ConfigDict

from berth.catalog.entry import Entry, Source
from berth.catalog.weight_format import BITS16, WeightFormat

Split = Literal["none", "column", "row", "kv", "vocab", "expert", "expert_none"]
"""How tensor parallelism divides a weight: its output features (`column`), its input features
(`row`), its KV heads, which are copied where there are fewer than ranks (`kv`), its padded
vocabulary (`vocab`), the inner size of every expert or, with expert parallel, the experts
(`expert`), only the experts (`expert_none`), or not at all."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One weight matrix, `copies` times."""

    module: str
    """Path inside its layer, or from the root, as in the checkpoint."""
    rows: int
    """Output features."""
    columns: int
    """Input features."""
    split: Split = "none"
    copies: int = 1
    heads: int = 1
    """KV heads of a `kv` split."""
    linear: bool = True
    """May be quantized; embeddings, routers and convolutions may not."""
    format: WeightFormat = BITS16

    @property
    def parameters(self) -> int:
        """Weights, all copies."""
        return self.rows * self.columns * self.copies


@dataclass(frozen=True, slots=True)
class HeadCache:
    """Keys and values of every token, or of those in a window."""

    kv_heads: int
    key_size: int
    value_size: int
    window: int | None = None
    """Tokens of a sliding window; None: all."""
    chunk: int | None = None
    """Tokens of a local chunk; None: all."""
    index_size: int = 0
    """Values of a key per token that picks the blocks to attend to, on every rank."""
    source_tokens: int | None = None
    """Tokens of the source that a decoder looks at, whatever the length of its own; None: its
    own."""


@dataclass(frozen=True, slots=True)
class LatentCache:
    """One latent vector per token (MLA), the same on every rank."""

    latent_size: int
    rope_size: int
    index_size: int = 0
    """Values of the key that picks the tokens to attend to; 0: none of its own."""
    sparse: bool = False
    """Attends to picked tokens only, by its own index or that of a layer before."""


@dataclass(frozen=True, slots=True)
class StateCache:
    """A state of fixed size per sequence instead of keys and values."""

    kind: Literal["mamba1", "mamba2", "gdn", "kda", "conv", "lightning"]
    conv_values: int
    """Inputs that the short convolution remembers, all ranks together."""
    state_values: int
    """Recurrent state, all ranks together."""
    state_in_model_dtype: bool = False
    """False: fp32."""
    groups: int = 1
    """Groups of inputs; every rank has one at least, so fewer than ranks are copied."""
    group_conv_values: int = 0
    """Inputs that the convolution remembers per group."""


@dataclass(frozen=True, slots=True)
class CompressedCache:
    """DeepSeek V4: a window, and all tokens `ratio` to one; ratio 0 is the window alone."""

    ratio: int
    window: int


Cache = HeadCache | LatentCache | StateCache | CompressedCache


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: its weights and what it keeps per sequence."""

    cache: Cache | None
    """None: nothing, as in a layer of experts only or one that reads another layer's cache."""
    tensors: tuple[Tensor, ...]
    vector_parameters: int
    """Norms, biases and the like."""
    top_k: int = 0
    """Experts that a token passes; 0: no experts."""
    inner_size: int = 0
    """Inner size of the feed-forward part, of one expert where there are experts."""
    second_cache: Cache | None = None
    """What a layer keeps besides that mixes tokens in two ways."""

    @property
    def caches(self) -> tuple[Cache, ...]:
        """All that it keeps."""
        return tuple(cache for cache in (self.cache, self.second_cache) if cache is not None)

    @property
    def parameters(self) -> int:
        """Weights of the layer."""
        return sum(t.parameters for t in self.tensors) + self.vector_parameters


@dataclass(frozen=True, slots=True)
class Tower:
    """An encoder for images or sound in front of the language model."""

    tensors: tuple[Tensor, ...]
    vector_parameters: int
    hidden_size: int
    inner_size: int
    patch_values: int
    """Pixel values of one patch."""
    patches_per_token: int
    largest_item_tokens: int
    """Tokens of the largest image that the processor lets through."""
    split_by_tensor_parallel: bool = True
    gated: bool = False
    """Its feed-forward part multiplies two projections."""

    @property
    def parameters(self) -> int:
        """Weights of the tower."""
        return sum(t.parameters for t in self.tensors) + self.vector_parameters


class Model(Entry):
    """One model as a repository holds it. Two models are the same if they are one object."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    """Repository on the Hugging Face hub, or the path that was read."""
    architecture: str
    """Class named in the configuration."""
    hidden_size: int
    vocabulary: int
    attention_heads: int
    kv_heads: int
    """Of the attention layers that keep heads; 1 for latent attention."""
    head_size: int
    max_positions: int
    """Longest request without rope settings of one's own, in tokens."""
    layers: tuple[Layer, ...]
    """In order."""
    embedding: Tensor
    head: Tensor | None
    """None: the embedding is used again."""
    final_tensors: tuple[Tensor, ...] = ()
    """Weights outside the layers besides embedding and head."""
    final_vector_parameters: int = 0
    towers: tuple[Tower, ...] = ()
    mtp_parameters: int = 0
    """Multi-token-prediction layers, which are downloaded and only loaded for speculation."""
    mtp_bytes: int = 0
    quantization: str = "none"
    """The checkpoint's own: none, fp8, awq, gptq, nvfp4, mxfp4, bitsandbytes, int8, int4."""
    kv_cache_dtype: Literal["auto", "fp8"] = "auto"
    """What the checkpoint asks for."""
    dtype: Literal["bf16", "fp16", "fp32"] = "bf16"
    pooling: bool = False
    """An encoder without a KV cache: embeddings, ranking, classification."""
    generates: bool = True
    """False: it ranks, classifies or embeds, so no sampler runs."""
    rope_table_bytes: int = 0
    """Tables of rotary positions, on every rank."""
    latent_query_size: int = 0
    """Query-nope plus value size of latent attention, which its prefill workspace follows."""
    rope_scaling: bool = False
    gated: bool = False
    """The repository asks for a token."""
    source: Source | None = None

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    @cached_property
    def distinct_layers(self) -> tuple[Layer, ...]:
        """Each layer once, where many are alike."""
        return tuple({id(layer): layer for layer in self.layers}.values())

    @cached_property
    def caches(self) -> tuple[Cache, ...]:
        """What layers keep, once per distinct layer."""
        return tuple(cache for layer in self.distinct_layers for cache in layer.caches)

    @property
    def outside_tensors(self) -> tuple[Tensor, ...]:
        """Weights of the language model that are in no layer."""
        return (self.embedding, *self.final_tensors, *((self.head,) if self.head else ()))

    @cached_property
    def language_parameters(self) -> int:
        """Weights without towers and multi-token prediction, tied embeddings once."""
        outside = self.outside_tensors
        return (
            sum(layer.parameters for layer in self.layers)
            + sum(t.parameters for t in outside)
            + self.final_vector_parameters
        )

    @cached_property
    def parameters(self) -> int:
        """Weights with towers, without multi-token prediction, tied embeddings once."""
        return self.language_parameters + sum(t.parameters for t in self.towers)

    @cached_property
    def active_parameters(self) -> int:
        """Weights that one token passes: all but the experts it is not sent to."""
        idle = sum(
            tensor.rows * tensor.columns * max(0, tensor.copies - layer.top_k)
            for layer in self.layers
            if layer.top_k
            for tensor in layer.tensors
            if tensor.split in ("expert", "expert_none")
        )
        return self.language_parameters - idle

    @cached_property
    def weights_bytes(self) -> int:
        """Bytes of the weights as downloaded, in the checkpoint's own formats."""
        value_bytes = 4 if self.dtype == "fp32" else 2
        tensors = (
            *(t for layer in self.layers for t in layer.tensors),
            *self.outside_tensors,
            *(t for tower in self.towers for t in tower.tensors),
        )
        vectors = (
            sum(layer.vector_parameters for layer in self.layers)
            + self.final_vector_parameters
            + sum(tower.vector_parameters for tower in self.towers)
        )
        stored = sum(stored_bytes(t, value_bytes) for t in tensors)
        return round(stored + vectors * value_bytes) + self.mtp_bytes

    @property
    def attention(self) -> tuple[str, ...]:
        """Kinds of attention, the most frequent first."""
        names = [_attention_name(cache) for layer in self.layers for cache in layer.caches]
        return tuple(sorted(set(names), key=lambda n: (-names.count(n), n)))


def stored_bytes(tensor: Tensor, value_bytes: int) -> float:
    """Bytes of all copies of `tensor` in the checkpoint."""
    if tensor.format.family == "16bit":
        return tensor.parameters * value_bytes
    return tensor.copies * tensor.format.stored_bytes(tensor.rows, tensor.columns)


def _attention_name(cache: Cache | None) -> str:
    match cache:
        case HeadCache(source_tokens=int()):
            return "cross"
        case HeadCache(window=int()):
            return "sliding_window"
        case HeadCache(chunk=int()):
            return "chunked"
        case HeadCache():
            return "full"
        case LatentCache(sparse=True):
            return "sparse_mla"
        case LatentCache():
            return "mla"
        case CompressedCache():
            return "compressed"
        case StateCache(kind=kind):
            return kind
    return "none"
