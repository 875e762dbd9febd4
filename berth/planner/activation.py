"""What the profile run takes for a moment, and what the process keeps besides weights and cache.

The peak is the largest of three unlike things: the sampler (rows x vocabulary, not divided by
tensor parallel), one forward of `max_num_batched_tokens` tokens, and the encoder on its largest
item.
"""

from math import log2

from berth.catalog.model_shape import (
    CompressedCache,
    LatentCache,
    Layer,
    Model,
    StateCache,
)
from berth.planner.vllm_rules import MemoryRules

GIB = 1024**3
SPARSE_ROW_BYTES = 1152
"""One gathered row of sparse latent attention: 576 values of 16 bits."""
FULL_GRAPH_FIRST_SIZES = (1, 2, 4)
AMD_GRAPHS_MEASURED_FROM = (0, 27, 0)
"""From about here the estimate holds on ROCm (#48526 of July 2026); before it was too low."""


def activation_bytes(
    model: Model,
    rules: MemoryRules,
    *,
    tensor_parallel_size: int,
    max_num_seqs: int,
    max_num_batched_tokens: int,
    max_model_len: int,
    block_tokens: int,
    towers: bool,
) -> float:
    """Transient peak of the profile run on one rank, without CUDA graphs.

    Source: the tensors that vLLM's forward, sampler and encoder hold at once
    (`gpu_model_runner.py`, `sample/sampler.py`, `profile_run`); the sampler's constants in
    `vllm_rules`.
    """
    ranks = tensor_parallel_size
    rows = min(max_num_seqs, max_num_batched_tokens)
    sampler = 0.0
    if model.generates:
        sampler = rows * model.vocabulary * rules.sampler_bytes + rules.sampler_buffer_bytes
    tokens = max(
        (
            _token_values(layer, model.hidden_size, ranks) * max_num_batched_tokens * 2
            for layer in model.distinct_layers
        ),
        default=0.0,
    )
    tokens += _latent_prefill_bytes(model, ranks, max_num_seqs, max_model_len, block_tokens)
    encoder = _encoder_bytes(model, max_num_batched_tokens) if towers else 0.0
    return max(sampler, tokens, encoder) + sparse_workspace_bytes(
        model, rules, max_model_len, max_num_batched_tokens
    )


def kept_bytes(model: Model, rules: MemoryRules, max_num_seqs: int) -> float:
    """What runner V2 allocates before the weights: a count and a bit per sequence and entry.

    Source: vLLM, `v1/worker/gpu/sample/penalties.py`.
    """
    if not rules.runner_v2 or not model.generates:
        return 0.0
    return 4.125 * max_num_seqs * model.vocabulary


def non_torch_bytes(rules: MemoryRules, ranks: int, *, unified_memory: bool) -> float:
    """Growth outside PyTorch's allocator inside the budget: kernels, collective buffers.

    Fitted on start-up logs of 0.8.5 to 0.31 on T4 to H200, within 0.1 GiB on one GPU and 0.7 above.
    """
    if unified_memory:
        return 4.6 * GIB  # one log, of a part that shares its memory with the CPU
    per_doubling = 0.45 if rules.version >= (0, 11, 0) else 0.1
    return (0.13 + per_doubling * log2(ranks)) * GIB


def capture_sizes(
    max_num_seqs: int, max_num_batched_tokens: int, speculative_tokens: int
) -> list[int]:
    """Batch sizes that get a CUDA graph of their own.

    Source: vLLM, `config/compilation.py`.
    """
    largest = min(2 * max_num_seqs * (1 + speculative_tokens), 512, max_num_batched_tokens)
    sizes = [*FULL_GRAPH_FIRST_SIZES, *range(8, 256, 8), *range(256, 1025, 16)]
    return [size for size in sizes if size <= largest]


def graph_bytes(
    model: Model,
    rules: MemoryRules,
    layers: int,
    *,
    sizes: list[int],
    max_num_seqs: int,
    unified_memory: bool,
    amd: bool,
) -> float:
    """CUDA graphs: the estimate inside the budget from 0.21, the graphs themselves before.

    Fitted: inside 0.011 GiB per layer for the 86 default graphs, 0.02 with experts; on AMD, where
    two public figures (gemma-4-E2B on MI300X, Kimi-K3 on MI355X) span 0.05 to 0.18, 0.1. Outside
    0.018 per layer, 0.045 with experts or states. Weak evidence; the error band carries it.
    """
    experts = any(layer.top_k for layer in model.distinct_layers)
    hybrid = any(isinstance(c, StateCache) for c in model.caches)
    if not rules.graphs_in_budget:
        return (0.045 if experts or hybrid else 0.018) * layers * GIB
    if rules.runner_v2 and rules.version < (0, 29, 0):
        return 0.0  # runner V2 measured nothing before 0.29
    graphs = len(sizes) + sum(1 for size in sizes if size <= max_num_seqs)
    per_layer = 0.02 if experts else 0.011
    if amd and rules.version >= AMD_GRAPHS_MEASURED_FROM:
        per_layer = 0.1
    return per_layer * layers * graphs / 86 * (2.8 if unified_memory else 1) * GIB


def sparse_workspace_bytes(
    model: Model, rules: MemoryRules, max_model_len: int, max_num_batched_tokens: int
) -> float:
    """Rows that sparse latent attention gathers, besides everything else."""
    compressed = next((c for c in model.caches if isinstance(c, CompressedCache)), None)
    if compressed is not None:
        chunk = 4  # requests of a prefill that are gathered together (PREFILL_CHUNK_SIZE)
        return chunk * (max_model_len / 4 + compressed.window + max_num_batched_tokens) * 512 * 2
    if not any(isinstance(c, LatentCache) and c.sparse for c in model.caches):
        return 0.0
    factor = 2 if rules.version >= (0, 32, 0) and max_model_len > 262_144 else 5
    return factor * max_model_len * SPARSE_ROW_BYTES


def _token_values(layer: Layer, hidden_size: int, ranks: int) -> float:
    """16-bit values per token that one layer holds at once."""
    if not layer.top_k:
        return 2 * hidden_size + 3 * layer.inner_size / ranks
    inner = layer.inner_size / ranks
    return 2 * hidden_size + layer.top_k * (max(2 * inner, hidden_size) + inner)


def _latent_prefill_bytes(
    model: Model, ranks: int, max_num_seqs: int, max_model_len: int, block_tokens: int
) -> float:
    """Keys and values that dense latent attention unpacks for cached context."""
    dense = any(isinstance(c, LatentCache) and not c.sparse for c in model.caches)
    if not dense:
        return 0.0
    rows = min(65_536, max(8 * max_model_len, 4 * max_num_seqs * block_tokens))
    return rows * model.attention_heads / ranks * model.latent_query_size * 2


def _encoder_bytes(model: Model, max_num_batched_tokens: int) -> float:
    largest = 0.0
    for tower in model.towers:
        tokens = max(max_num_batched_tokens, tower.largest_item_tokens)
        inner = (3 if tower.gated else 2) * tower.inner_size
        per_patch = 2 * (2 * tower.hidden_size + inner) + 4 * tower.patch_values
        largest = max(largest, tokens * tower.patches_per_token * per_patch)
    return largest
