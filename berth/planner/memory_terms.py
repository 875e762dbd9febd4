"""Every term of one server's memory per GPU, in bytes: the arithmetic behind a verdict."""

import math
from dataclasses import dataclass
from functools import lru_cache

from berth.catalog.gpu import Gpu
from berth.catalog.model_shape import LatentCache, Model, StateCache
from berth.planner.activation import (
    GIB,
    activation_bytes,
    capture_sizes,
    graph_bytes,
    kept_bytes,
    non_torch_bytes,
)
from berth.planner.engine_options import EngineOptions, countable
from berth.planner.kv_groups import CacheLayout, group_pages
from berth.planner.kv_pages import DEFAULT_BLOCK_TOKENS, PageOptions, is_compressed, layer_pages
from berth.planner.load_peak import load_peak_bytes
from berth.planner.lora import lora_bytes
from berth.planner.vllm_rules import (
    NEWEST,
    MemoryRules,
    batch_defaults,
    memory_rules,
    parse_version,
)
from berth.planner.weight_kernels import kernels_of
from berth.planner.weights import Parallel, StageWeights, resolved_quantization, stage_weights

MARGIN_SHARE = 0.015
"""Of the GPU: about what separates plans from start-up logs in nineteen of twenty cases."""
UNIFIED_MARGIN_SHARE = 0.065
"""Of memory shared with the CPU, where plans are 4 to 12 % off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """One server on one GPU model; of pipeline stages the one with the least left."""

    rules: MemoryRules
    utilization: float
    requested_bytes: float
    baseline_bytes: float
    """Taken before the engine measures; outside the budget."""
    weights_bytes: float
    """With the room for adapters."""
    lora_bytes: float
    load_peak_bytes: float
    other_bytes: float
    """Kernels, collective buffers and what runner V2 keeps."""
    activation_bytes: float
    graph_bytes: float
    kv_bytes: float
    margin_bytes: float
    fixed_kv: bool
    """The owner set the size of the cache."""
    layout: CacheLayout
    states_share_blocks: bool
    in_flight_tokens: int
    max_model_len: int
    max_positions: int
    max_num_seqs: int
    max_num_batched_tokens: int
    context_parallel_size: int

    @property
    def budget_graph_bytes(self) -> float:
        """Graphs as far as they are taken off the cache."""
        return self.graph_bytes if self.rules.graphs_in_budget else 0.0

    @property
    def num_blocks(self) -> int:
        """Blocks of the pool."""
        if not self.layout.block_bytes:
            return 0
        return max(0, int(self.kv_bytes) // self.layout.block_bytes)

    @property
    def usable_kv_bytes(self) -> float:
        """What is compared with the need of one request: the estimate less its margin."""
        reserved = self.layout.block_bytes if self.rules.reserves_null_block else 0
        return self.kv_bytes - reserved - self.margin_bytes

    def request_blocks(self, tokens: int) -> int:
        """Blocks of one request of `tokens`."""
        per_rank = -(-tokens // self.context_parallel_size)
        return self.layout.request_blocks(per_rank, self.in_flight_tokens)

    @property
    def needed_bytes(self) -> int:
        """Cache that one request of full length needs on one GPU."""
        return self.request_blocks(self.max_model_len) * self.layout.block_bytes

    @property
    def max_concurrency(self) -> float:
        """Requests of full length that the cache holds at once."""
        blocks = self.request_blocks(self.max_model_len)
        return self.num_blocks / blocks if blocks else 0.0

    @property
    def kv_cache_tokens(self) -> int:
        """The number that this version prints as the size of the cache."""
        return self.printed_tokens(self.num_blocks)

    def printed_tokens(self, blocks: int) -> int:
        """The size that this version prints for a pool of `blocks`."""
        per_request = self.request_blocks(self.max_model_len)
        if self.rules.tokens_follow_max_len or not self.layout.groups:
            return int(blocks / per_request * self.max_model_len) if per_request else 0
        per_group = blocks // len(self.layout.groups)
        return per_group * self.layout.block_tokens * self.context_parallel_size

    def longest_model_len(self) -> int:
        """Longest request that fits in the cache, found as vLLM does, by bisection."""
        if not self.layout.groups:
            return self.max_positions
        low, high = 0, self.max_positions
        if self.request_blocks(high) * self.layout.block_bytes <= self.usable_kv_bytes:
            return high
        while low < high:
            middle = (low + high + 1) // 2
            if self.request_blocks(middle) * self.layout.block_bytes <= self.usable_kv_bytes:
                low = middle
            else:
                high = middle - 1
        return low


@dataclass(frozen=True, slots=True)
class Batch:
    """How much a server works on at once."""

    tokens: int
    """Of one step."""
    sequences: int
    model_len: int


@dataclass(frozen=True, slots=True)
class _StageTerms:
    """What differs between pipeline stages."""

    weights_bytes: float
    lora_bytes: float
    graph_bytes: float
    kv_bytes: float
    layout: CacheLayout

    @property
    def blocks(self) -> float:
        """Blocks, or bytes where nothing is kept per token."""
        return self.kv_bytes / (self.layout.block_bytes or 1)


def memory_terms(model: Model, gpu: Gpu, options: EngineOptions) -> Terms:
    """All terms; options that vLLM would refuse count as if they were left out."""
    options = countable(options, len(model.layers))
    version = parse_version(options.vllm_version) or NEWEST
    ranks, stages = options.tensor_parallel_size, options.pipeline_parallel_size
    rules = memory_rules(version, model, stages)
    batch = resolved_batch(model, gpu, options, rules)
    parallel = Parallel(ranks, stages, _expert_ranks(options), kernels_of(gpu, version, model))
    block_tokens = options.block_size or default_block_tokens(model, gpu)
    profile = activation_bytes(
        model,
        rules,
        tensor_parallel_size=ranks,
        max_num_seqs=batch.sequences,
        max_num_batched_tokens=batch.tokens,
        max_model_len=batch.model_len,
        block_tokens=block_tokens,
        towers=_has_towers(model, options),
    )
    other = non_torch_bytes(rules, options.ranks, unified_memory=gpu.unified_memory)
    other += kept_bytes(model, rules, batch.sequences)
    utilization = options.gpu_memory_utilization or rules.default_utilization
    requested = math.ceil(gpu.visible_gib * GIB * utilization)
    pages = _page_options(model, options, rules, block_tokens)
    left = requested - other - profile
    worst = _worst_stage(model, gpu, options, rules, parallel, batch, pages, left)
    fixed_kv = options.kv_cache_memory_bytes is not None
    parallel_baseline = options.ranks > 1
    baseline = gpu.used_at_baseline_parallel_gib if parallel_baseline else gpu.used_at_baseline_gib
    return Terms(
        rules=rules,
        utilization=utilization,
        requested_bytes=requested,
        baseline_bytes=baseline * GIB,
        weights_bytes=worst.weights_bytes,
        lora_bytes=worst.lora_bytes,
        load_peak_bytes=load_peak_bytes(model, parallel, options, worst.weights_bytes, version),
        other_bytes=other,
        activation_bytes=profile,
        graph_bytes=worst.graph_bytes,
        kv_bytes=worst.kv_bytes,
        margin_bytes=0.0 if fixed_kv else _margin_share(gpu, options) * gpu.visible_gib * GIB,
        fixed_kv=fixed_kv,
        layout=worst.layout,
        states_share_blocks=_has_states(model) and not options.enforce_eager,
        in_flight_tokens=batch.tokens
        * (rules.batches_in_flight if options.async_scheduling else 1),
        max_model_len=batch.model_len,
        max_positions=max(model.max_positions, batch.model_len),
        max_num_seqs=batch.sequences,
        max_num_batched_tokens=batch.tokens,
        context_parallel_size=options.decode_context_parallel_size,
    )


def _worst_stage(
    model: Model,
    gpu: Gpu,
    options: EngineOptions,
    rules: MemoryRules,
    parallel: Parallel,
    batch: Batch,
    pages: PageOptions,
    left_bytes: float,
) -> _StageTerms:
    """The pipeline stage that holds the fewest blocks; its pool is that of the engine."""
    quantization = resolved_quantization(model, options.quantization)
    value_bytes = 4 if options.dtype == "fp32" else 2  # `auto` casts fp32 checkpoints to 16 bits
    towers = _has_towers(model, options)
    sizes = capture_sizes(batch.sequences, batch.tokens, options.speculative_tokens)
    found: list[_StageTerms] = []
    for stage in stage_weights(
        model, parallel, quantization, towers=towers, value_bytes=value_bytes
    ):
        graphs = 0.0
        if not options.enforce_eager:
            graphs = graph_bytes(
                model,
                rules,
                stage.layers,
                sizes=sizes,
                max_num_seqs=batch.sequences,
                unified_memory=gpu.unified_memory,
                amd=gpu.vendor == "amd",
            )
        loaded = stage.bytes + stage.slack_bytes + model.rope_table_bytes
        lora = lora_bytes(model, stage, parallel, options, rules.version)
        weights = max(0.0, loaded - options.cpu_offload_gib * GIB) + lora
        kv = left_bytes - weights - (graphs if rules.graphs_in_budget else 0.0)
        if options.kv_cache_memory_bytes is not None:
            kv = float(options.kv_cache_memory_bytes)
        layout = _stage_layout(model, stage, pages)
        found.append(_StageTerms(weights, lora, graphs, kv, layout))
    return min(found, key=lambda terms: terms.blocks)


def resolved_batch(model: Model, gpu: Gpu, options: EngineOptions, rules: MemoryRules) -> Batch:
    """Batched tokens, sequences and length as vLLM resolves them.

    Source: vLLM, `engine/arg_utils.py`: the default tokens are at most sequences times length, the
    sequences at most the tokens.
    """
    model_len = options.max_model_len or model.max_positions
    default_tokens, default_sequences = batch_defaults(rules.version, gpu)
    sequences = options.max_num_seqs or default_sequences
    tokens = options.max_num_batched_tokens
    if tokens is None:
        tokens = max(min(default_tokens, sequences * model_len), options.max_num_seqs or 1)
    if options.max_num_seqs is None:
        sequences = min(sequences, tokens)
    return Batch(tokens, sequences, model_len)


def cache_format(model: Model, options: EngineOptions) -> tuple[int, int, int]:
    """Bits of a cached value, bits of scale for sixteen values, bytes of scale per token and head.

    Source: vLLM, `v1/kv_cache_interface.py`: one fp32 scale per token and head, one fp8 scale for
    sixteen nvfp4 values.
    """
    kind = options.kv_cache_dtype
    if kind == "auto" and model.kv_cache_dtype == "fp8":
        kind = "fp8"
    if kind == "nvfp4":
        return 4, 8, 0
    if kind.endswith("_per_token_head"):
        return (4 if kind.startswith("int4") else 8), 0, 4
    if kind.startswith("fp8"):
        return 8, 0, 0
    return (32 if options.dtype == "fp32" else 16), 0, 0


def default_block_tokens(model: Model, gpu: Gpu) -> int:
    """Tokens per block, by the smallest that the GPU's attention backend takes.

    Source: vLLM, `platforms/cuda.py` and `get_supported_kernel_block_sizes` of the backends.
    """
    caches = [c for c in model.caches if isinstance(c, LatentCache)]
    if gpu.vendor == "amd" or not caches:
        return DEFAULT_BLOCK_TOKENS
    if caches[0].sparse:
        return 64
    return 32 if gpu.capability[0] == 10 else DEFAULT_BLOCK_TOKENS


def _page_options(
    model: Model, options: EngineOptions, rules: MemoryRules, block_tokens: int
) -> PageOptions:
    value_bits, scale_bits, head_scale_bytes = cache_format(model, options)
    return PageOptions(
        tensor_parallel_size=options.tensor_parallel_size,
        value_bits=value_bits,
        scale_bits=scale_bits,
        head_scale_bytes=head_scale_bytes,
        block_tokens=block_tokens,
        mamba2_checkpoint=rules.version >= (0, 29, 0),
        prefix_caching=options.prefix_caching,
        speculative_tokens=options.speculative_tokens,
        chunks_keep_all=rules.chunks_keep_all,
    )


@lru_cache(maxsize=4096)
def _stage_layout(model: Model, stage: StageWeights, options: PageOptions) -> CacheLayout:
    if model.pooling:
        return CacheLayout((), 0, 0)
    layers = model.layers[stage.first : stage.first + stage.layers]
    caches = [cache for layer in layers for cache in layer.caches]
    return group_pages(layer_pages(caches, options), packed=is_compressed(model))


def _margin_share(gpu: Gpu, options: EngineOptions) -> float:
    if options.margin_share is not None:
        return max(0.0, options.margin_share)
    return UNIFIED_MARGIN_SHARE if gpu.unified_memory else MARGIN_SHARE


def _expert_ranks(options: EngineOptions) -> int:
    if not options.expert_parallel:
        return 1
    return options.tensor_parallel_size * options.data_parallel_size


def _has_towers(model: Model, options: EngineOptions) -> bool:
    return bool(model.towers) and not options.language_model_only


def _has_states(model: Model) -> bool:
    return any(isinstance(c, StateCache) for c in model.caches)
