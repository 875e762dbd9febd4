"""Every term of one server's memory per GPU, in bytes: the arithmetic behind a verdict."""

import math
from dataclasses import dataclass

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
from berth.planner.engine_options import EngineOptions
from berth.planner.kv_groups import CacheLayout, group_pages
from berth.planner.kv_pages import DEFAULT_BLOCK_TOKENS, PageOptions, is_compressed, layer_pages
from berth.planner.load_peak import load_peak_bytes
from berth.planner.vllm_rules import (
    NEWEST,
    MemoryRules,
    batch_defaults,
    is_known,
    memory_rules,
    parse_version,
)
from berth.planner.weight_kernels import kernels_of
from berth.planner.weights import Parallel, StageWeights, resolved_quantization, stage_weights

LOADED_OVER_STORED = 1.003
"""What loading takes over the sum of the weights: rope tables, rounding of the allocator; 0.2 to
0.5 % in start-up logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """One server on one GPU model; of pipeline stages the one with the least left."""

    rules: MemoryRules
    utilization: float
    requested_bytes: float
    baseline_bytes: float
    """Taken before the engine measures; outside the budget."""
    weights_bytes: float
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
        if self.rules.tokens_follow_max_len or not self.layout.groups:
            return int(self.max_concurrency * self.max_model_len)
        per_group = self.num_blocks // len(self.layout.groups)
        return per_group * self.layout.block_tokens * self.context_parallel_size

    def longest_model_len(self) -> int:
        """Longest request that fits in the cache, found as vLLM does, by bisection."""
        if not self.layout.groups:
            return self.max_positions
        low, high = 0, self.max_positions
        while low < high:
            middle = (low + high + 1) // 2
            if self.request_blocks(middle) * self.layout.block_bytes <= self.usable_kv_bytes:
                low = middle
            else:
                high = middle - 1
        return low


def memory_terms(model: Model, gpu: Gpu, options: EngineOptions) -> Terms:
    """All terms; options that vLLM would refuse are brought to the nearest that can be counted."""
    version = parse_version(options.vllm_version)
    known = version if version is not None and is_known(version) else NEWEST
    ranks = max(1, options.tensor_parallel_size)
    stages_count = min(max(1, options.pipeline_parallel_size), len(model.layers))
    rules = memory_rules(known, model, stages_count)
    tokens, seqs, max_model_len = resolved_batch(model, gpu, options, rules)
    fixed_kv = options.kv_cache_memory_bytes is not None
    kernels = kernels_of(gpu, known, model)
    parallel = Parallel(ranks, stages_count, _expert_ranks(options), kernels)
    towers = bool(model.towers) and not options.language_model_only
    value_bytes = 4 if options.dtype == "fp32" else 2  # `auto` casts fp32 checkpoints to 16 bits
    quantization = resolved_quantization(model, options.quantization)
    stages = stage_weights(model, parallel, quantization, towers=towers, value_bytes=value_bytes)
    utilization = options.gpu_memory_utilization or rules.default_utilization
    requested = math.ceil(gpu.visible_gib * GIB * utilization)
    in_flight = tokens * (rules.batches_in_flight if options.async_scheduling else 1)
    block_tokens = options.block_size or default_block_tokens(model, gpu)
    page_options = PageOptions(
        tensor_parallel_size=ranks,
        value_bytes=cache_value_bytes(model, options),
        block_tokens=block_tokens,
        mamba2_checkpoint=known >= (0, 29, 0),
        prefix_caching=options.prefix_caching,
        speculative_tokens=options.speculative_tokens,
        chunks_keep_all=rules.chunks_keep_all,
    )
    other = non_torch_bytes(rules, ranks * stages_count, unified_memory=gpu.unified_memory)
    other += kept_bytes(model, rules, seqs)
    activation = activation_bytes(
        model,
        rules,
        tensor_parallel_size=ranks,
        max_num_seqs=seqs,
        max_num_batched_tokens=tokens,
        max_model_len=max_model_len,
        block_tokens=block_tokens,
        towers=towers,
    )
    sizes = capture_sizes(seqs, tokens, options.speculative_tokens)
    worst: tuple[float, float, float, float, CacheLayout] | None = None
    for stage in stages:
        layout = _stage_layout(stage, page_options, model)
        graphs = 0.0
        if not options.enforce_eager:
            graphs = graph_bytes(
                model,
                rules,
                len(stage.layers),
                sizes=sizes,
                max_num_seqs=seqs,
                unified_memory=gpu.unified_memory,
                amd=gpu.vendor == "amd",
            )
        weights = stage.bytes * LOADED_OVER_STORED - options.cpu_offload_gib * GIB
        in_budget = graphs if rules.graphs_in_budget else 0.0
        left = requested - weights - other - activation - in_budget
        if options.kv_cache_memory_bytes is not None:
            left = float(options.kv_cache_memory_bytes)
        blocks = left / layout.block_bytes if layout.block_bytes else left
        if worst is None or blocks < worst[0]:
            worst = (blocks, weights, graphs, left, layout)
    assert worst is not None
    _, weights, graphs, left, layout = worst
    return Terms(
        rules=rules,
        utilization=utilization,
        requested_bytes=requested,
        baseline_bytes=_baseline_gib(gpu, ranks * stages_count) * GIB,
        weights_bytes=weights,
        load_peak_bytes=load_peak_bytes(model, parallel, options, weights, known),
        other_bytes=other,
        activation_bytes=activation,
        graph_bytes=graphs,
        kv_bytes=left,
        margin_bytes=0.0 if fixed_kv else options.margin_share * gpu.visible_gib * GIB,
        fixed_kv=fixed_kv,
        layout=layout,
        states_share_blocks=_has_states(model) and not options.enforce_eager,
        in_flight_tokens=in_flight,
        max_model_len=max_model_len,
        max_positions=max(model.max_positions, max_model_len),
        max_num_seqs=seqs,
        max_num_batched_tokens=tokens,
        context_parallel_size=max(1, options.decode_context_parallel_size),
    )


def resolved_batch(
    model: Model, gpu: Gpu, options: EngineOptions, rules: MemoryRules
) -> tuple[int, int, int]:
    """Batched tokens, sequences and length as vLLM resolves them.

    Source: vLLM, `engine/arg_utils.py`: the default tokens are at most sequences times length, the
    sequences at most the tokens.
    """
    max_model_len = options.max_model_len or model.max_positions
    default_tokens, default_seqs = batch_defaults(rules.version, gpu)
    seqs = options.max_num_seqs or default_seqs
    tokens = options.max_num_batched_tokens
    if tokens is None:
        tokens = min(default_tokens, seqs * max_model_len)
        if options.max_num_seqs:
            tokens = max(tokens, options.max_num_seqs)
    if options.max_num_seqs is None:
        seqs = min(seqs, tokens)
    return tokens, seqs, max_model_len


def cache_value_bytes(model: Model, options: EngineOptions) -> int:
    """Bytes of one key or value in the cache."""
    if options.kv_cache_dtype.startswith("fp8"):
        return 1
    if options.kv_cache_dtype == "auto" and model.kv_cache_dtype == "fp8":
        return 1
    return 4 if options.dtype == "fp32" else 2


def default_block_tokens(model: Model, gpu: Gpu) -> int:
    """Tokens per block, by the smallest that the GPU's attention backend takes.

    Source: vLLM, `platforms/cuda.py` and `get_supported_kernel_block_sizes` of the backends.
    """
    caches = [layer.cache for layer in model.layers if isinstance(layer.cache, LatentCache)]
    if gpu.vendor == "amd" or not caches:
        return DEFAULT_BLOCK_TOKENS
    if caches[0].sparse:
        return 64
    return 32 if gpu.capability[0] == 10 else DEFAULT_BLOCK_TOKENS


def _stage_layout(stage: StageWeights, options: PageOptions, model: Model) -> CacheLayout:
    caches = [layer.cache for layer in stage.layers if layer.cache is not None]
    if model.pooling:
        return CacheLayout((), 0, 0)
    return group_pages(layer_pages(caches, options), packed=is_compressed(model))


def _expert_ranks(options: EngineOptions) -> int:
    return (
        options.tensor_parallel_size * options.data_parallel_size if options.expert_parallel else 1
    )


def _has_states(model: Model) -> bool:
    return any(isinstance(layer.cache, StateCache) for layer in model.layers)


def _baseline_gib(gpu: Gpu, ranks: int) -> float:
    return gpu.used_at_baseline_parallel_gib if ranks > 1 else gpu.used_at_baseline_gib
