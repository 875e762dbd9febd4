"""What one step reads and multiplies on one tensor-parallel rank, before any GPU is known."""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

from berth.catalog.model_shape import (
    Cache,
    CompressedCache,
    HeadCache,
    LatentCache,
    Layer,
    Model,
    StateCache,
    Tensor,
)
from berth.catalog.weight_format import WeightFormat
from berth.planner.weights import Parallel, chosen_format, rank_bytes

SPARSE_PICKED_TOKENS = 2048
"""Tokens that sparse latent attention picks (`index_topk` of DeepSeek V3.2)."""
INDEX_BYTES_PER_TOKEN = 132
"""128 fp8 values and a scale of the picking index."""
COMPRESSED_BYTES_PER_TOKEN = 584
"""One compressed token of DeepSeek V4, as its cache stores it."""
EXPERTS = ("expert", "expert_none")


@dataclass(frozen=True, slots=True)
class MatrixWork:
    """All matrices of one kind of kernel, on one rank."""

    kernel: str
    """16bit, fp8, fp8_block, int8, int4, nvfp4, mxfp4 or nf4."""
    bytes: float
    parameters: float


@dataclass(frozen=True, slots=True)
class ExpertWork:
    """The experts of all layers that have the same number of them, on one rank."""

    kernel: str
    experts: int
    top_k: int
    bytes: float
    """Of all experts of all these layers."""
    active_parameters: float
    """That one token passes, over all these layers."""


@dataclass(frozen=True, slots=True)
class CacheWork:
    """All layers that keep the same, on one rank."""

    layers: int
    bytes_per_token: float
    """Read per sequence and token in reach."""
    reach_tokens: int | None
    """Tokens in reach of a window; None: all."""
    far_bytes_per_token: float
    """Read per token of the whole context besides, such as an index."""
    fixed_bytes: float
    """Read and written per sequence, whatever its length."""
    pair_values: float
    """Values multiplied and added per pair of tokens in a prompt."""
    token_values: float
    """Values multiplied and added per token of a prompt."""


@dataclass(frozen=True, slots=True)
class Work:
    """One step of one model on one rank, all layers."""

    layers: float
    """Of the usual kind: one that only mixes tokens or only feeds forward is half a layer."""
    moe_layers: int
    state_layers: int
    """That keep a state in place of keys and values."""
    hidden_size: int
    matrices: tuple[MatrixWork, ...]
    experts: tuple[ExpertWork, ...]
    caches: tuple[CacheWork, ...]
    head: MatrixWork
    all_reduces: int
    """Per step, with more than one rank."""

    @property
    def bytes_of_one_token(self) -> float:
        """Weights that one token alone makes the rank read."""
        dense = sum(m.bytes for m in self.matrices) + self.head.bytes
        return dense + sum(e.bytes * e.top_k / e.experts for e in self.experts)


@lru_cache(maxsize=4096)
def step_work(model: Model, parallel: Parallel, quantization: str, value_bytes: float) -> Work:
    """The work of one rank.

    Args:
        model: its weights and what each layer keeps.
        parallel: ranks; pipeline stages are one after the other, so all layers count.
        quantization: as `chosen_format` takes it, `auto` for the checkpoint's own.
        value_bytes: of one value in the KV cache.
    """
    matrices: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    experts: dict[tuple[str, int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    caches: dict[Cache, int] = defaultdict(int)
    for layer, count in _counted(model):
        for tensor in layer.tensors:
            _add_tensor(tensor, layer, count, parallel, quantization, matrices, experts)
        for cache in layer.caches:
            caches[cache] += count
    parts = sum(_parts(layer) * count for layer, count in _counted(model))
    head = model.head or model.embedding
    return Work(
        layers=parts / 2,
        moe_layers=sum(count for layer, count in _counted(model) if layer.top_k),
        state_layers=sum(count for cache, count in caches.items() if isinstance(cache, StateCache)),
        hidden_size=model.hidden_size,
        matrices=tuple(MatrixWork(k, b, p) for k, (b, p) in matrices.items()),
        experts=tuple(ExpertWork(k, e, top, b, p) for (k, e, top), (b, p) in experts.items()),
        caches=tuple(
            _cache_work(model, cache, count, parallel.tensor, value_bytes)
            for cache, count in caches.items()
        ),
        head=MatrixWork(
            kernel_of(head.format),
            rank_bytes(head, parallel, head.format, 2),
            head.parameters / parallel.tensor,
        ),
        all_reduces=parts,
    )


def kernel_of(chosen: WeightFormat) -> str:
    """The kind of kernel that multiplies weights in this format."""
    if chosen.family == "fp8" and chosen.group_columns:
        return "fp8_block"
    return "16bit" if chosen.family == "fp32" else chosen.family


def _counted(model: Model) -> list[tuple[Layer, int]]:
    counts: dict[int, int] = defaultdict(int)
    for layer in model.layers:
        counts[id(layer)] += 1
    return [(layer, counts[id(layer)]) for layer in model.distinct_layers]


def _parts(layer: Layer) -> int:
    """Two where a layer mixes tokens and feeds forward, one where it does either."""
    mixes = layer.cache is not None or any("attn" in tensor.module for tensor in layer.tensors)
    return max(1, int(mixes) + int(layer.inner_size > 0))


def _add_tensor(
    tensor: Tensor,
    layer: Layer,
    count: int,
    parallel: Parallel,
    quantization: str,
    matrices: dict[str, list[float]],
    experts: dict[tuple[str, int, int], list[float]],
) -> None:
    chosen = chosen_format(tensor, quantization)
    size = count * rank_bytes(tensor, parallel, chosen, 2)
    if tensor.split in EXPERTS and layer.top_k:
        group = experts[kernel_of(chosen), tensor.copies, layer.top_k]
        group[0] += size
        group[1] += count * tensor.rows * tensor.columns * layer.top_k / parallel.tensor
        return
    group = matrices[kernel_of(chosen)]
    group[0] += size
    group[1] += count * _rank_parameters(tensor, parallel.tensor)


def _rank_parameters(tensor: Tensor, ranks: int) -> float:
    if tensor.split == "none":
        return tensor.parameters
    if tensor.split == "kv":
        return tensor.parameters / tensor.heads * max(1, tensor.heads // ranks)
    return tensor.parameters / ranks


def _cache_work(
    model: Model, cache: Cache, layers: int, ranks: int, value_bytes: float
) -> CacheWork:
    per_token = far = fixed = pairs = tokens = 0.0
    reach: int | None = None
    heads = model.attention_heads / ranks
    match cache:
        case HeadCache():
            kept = max(1, cache.kv_heads // ranks)
            per_token = kept * (cache.key_size + cache.value_size) * value_bytes
            reach = cache.window or cache.chunk or cache.source_tokens
            pairs = heads * (cache.key_size + cache.value_size)
        case LatentCache():
            per_token = (cache.latent_size + cache.rope_size) * value_bytes
            reach = SPARSE_PICKED_TOKENS if cache.sparse else None
            far = INDEX_BYTES_PER_TOKEN if cache.index_size else 0
            pairs = heads * (model.latent_query_size + cache.rope_size)
        case StateCache():
            state_bytes = 2 if cache.state_in_model_dtype else 4
            fixed = 2 * (cache.conv_values * 2 + cache.state_values * state_bytes) / ranks
            tokens = 2 * cache.state_values / ranks
        case CompressedCache():
            per_token = COMPRESSED_BYTES_PER_TOKEN
            reach = cache.window
            far = (COMPRESSED_BYTES_PER_TOKEN / cache.ratio) if cache.ratio else 0
            pairs = heads * 2 * model.head_size
    return CacheWork(layers, per_token, reach, far, fixed, pairs, tokens)
