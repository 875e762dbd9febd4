"""How long one step of the engine takes on given GPUs: decoding sequences and prompt tokens."""

from dataclasses import dataclass

from berth.catalog.gpu import Gpu
from berth.catalog.model_shape import Model
from berth.catalog.speed import SpeedConstants
from berth.planner.speed.fabric import BLACKWELL, AllReduceTime, all_reduce_time
from berth.planner.speed.kernels import (
    Kernel,
    expert_kernel,
    matrix_kernel,
    peak_tflops,
    readable_gb_per_s,
)
from berth.planner.speed.launch import graph_rows, launch_of
from berth.planner.speed.work import Work, step_work
from berth.planner.vllm_rules import NEWEST
from berth.planner.weights import Parallel, resolved_quantization


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What decides the speed of one replica besides model and GPU."""

    quantization: str = "auto"
    cache_value_bytes: float = 2
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    expert_parallel: bool = False
    data_parallel_size: int = 1
    """Copies of the attention part that share the experts of one engine."""
    vllm_version: str = ".".join(map(str, NEWEST))
    async_scheduling: bool | None = None
    """None: the default of the version."""
    enforce_eager: bool = False
    stages_on_other_nodes: bool = False


@dataclass(frozen=True, slots=True)
class _Matrix:
    read_ms: float
    token_ms: float


@dataclass(frozen=True, slots=True)
class _Experts:
    experts: int
    idle_share: float
    """Chance that one token does not touch a given expert."""
    read_ms: float
    token_ms: float


@dataclass(frozen=True, slots=True)
class StepTerms:
    """Where the time of one step goes, in milliseconds."""

    matrices_ms: float
    experts_ms: float
    cache_ms: float
    attention_ms: float
    all_reduce_ms: float
    elementwise_ms: float
    overhead_ms: float
    stage_hops_ms: float
    floor_ms: float
    """What the launches of such a step take at least."""

    @property
    def total_ms(self) -> float:
        """The step."""
        busy = (
            self.matrices_ms
            + self.experts_ms
            + self.cache_ms
            + self.attention_ms
            + self.all_reduce_ms
            + self.elementwise_ms
            + self.overhead_ms
        )
        return max(busy, self.floor_ms) + self.stage_hops_ms


class StepModel:
    """The time of a step of one replica, as a function of what the step holds."""

    def __init__(
        self, model: Model, gpu_key: str, gpu: Gpu, setup: Setup, constants: SpeedConstants
    ) -> None:
        """Divide the work by what the GPU reaches of its peaks.

        Raises:
            LookupError: if the speed of the GPU or of its links is not known; the text says which.
        """
        if gpu.memory_gb_per_s is None or not gpu.dense_tflops:
            raise LookupError(f"bandwidth and TFLOPS of {gpu_key} were not read")
        ranks = setup.tensor_parallel_size
        shared = ranks * setup.data_parallel_size
        parallel = Parallel(tensor=ranks, experts=shared if setup.expert_parallel else 1)
        self._expert_copies = setup.data_parallel_size if setup.expert_parallel else 1
        chosen = resolved_quantization(model, setup.quantization)
        self.work: Work = step_work(model, parallel, chosen, setup.cache_value_bytes)
        self.bytes_per_ms = gpu.memory_gb_per_s * 1e6
        self._read_bytes_per_ms = readable_gb_per_s(gpu.memory_gb_per_s, constants) * 1e6
        self._reachable = constants.reachable_peak.get(gpu_key, 1.0)
        self._matrices = tuple(
            self._matrix(matrix_kernel(m.kernel, gpu_key, gpu, constants), m.bytes, m.parameters)
            for m in self.work.matrices
        )
        head = self.work.head
        head_kernel = matrix_kernel(head.kernel, gpu_key, gpu, constants)
        self._head = self._matrix(head_kernel, head.bytes, head.parameters)
        self._experts = tuple(
            self._expert(
                expert_kernel(e.kernel, gpu, constants),
                e.experts,
                e.top_k,
                e.bytes,
                e.active_parameters,
            )
            for e in self.work.experts
        )
        self._prepare_caches(gpu, constants)
        self._all_reduce = all_reduce_time(gpu_key, gpu, ranks, constants)
        if ranks > 1 and self._all_reduce is None:
            raise LookupError(f"the all-reduce of {gpu_key} is not known")
        self._exchange_us, self._exchange_gb_per_s = 0.0, gpu.fabric.gb_per_s / 2
        if self._expert_copies > 1:
            wide = all_reduce_time(gpu_key, gpu, shared, constants)
            self._exchange_us = wide.fixed_us if wide is not None else 0.0
        extra = model.architecture in constants.norms_over_ranks
        self._extra_all_reduces = len(model.layers) if extra else 0
        self._launch = launch_of(
            self.work,
            constants,
            vllm_version=setup.vllm_version,
            async_scheduling=setup.async_scheduling,
            enforce_eager=setup.enforce_eager,
            blackwell=gpu.capability[0] == BLACKWELL,
        )
        self._token_ms = (
            constants.elementwise_bytes * self.work.hidden_size * self.work.layers
        ) / self.bytes_per_ms
        self._hops = setup.pipeline_parallel_size - 1
        self._hop_us, self._hop_gb_per_s = _hop(setup, gpu, constants)

    def _matrix(self, kernel: Kernel, size: float, parameters: float) -> _Matrix:
        return _Matrix(
            size / (self._read_bytes_per_ms * kernel.read_share),
            2 * parameters / (kernel.tflops * 1e9 * kernel.compute_share * self._reachable),
        )

    def _expert(
        self, kernel: Kernel, experts: int, top_k: int, size: float, active: float
    ) -> _Experts:
        matrix = self._matrix(kernel, size, active)
        return _Experts(experts, 1 - min(1.0, top_k / experts), matrix.read_ms, matrix.token_ms)

    def step_ms(
        self,
        sequences: float,
        context_tokens: float,
        prompt_tokens: float = 0,
        prompt_pairs: float = 0,
        prompts_ended: float = 0,
    ) -> float:
        """Milliseconds of one step.

        Args:
            sequences: that decode one token each.
            context_tokens: mean of what each of them has before it.
            prompt_tokens: of all prompts in the step.
            prompt_pairs: pairs of tokens that attend to each other in the prompts.
            prompts_ended: prompts whose last token is in the step.
        """
        rows = sequences + prompt_tokens if prompt_tokens else graph_rows(sequences)
        tokens, launch = sequences + prompt_tokens, self._launch
        time_ms = launch.fixed_ms + launch.sequence_ms * sequences + self._token_ms * tokens
        for matrix in self._matrices:  # a search spends its time here: no calls
            multiplied_ms = matrix.token_ms * rows
            time_ms += multiplied_ms if multiplied_ms > matrix.read_ms else matrix.read_ms
        head_rows = sequences + prompts_ended if prompt_tokens else rows
        multiplied_ms = self._head.token_ms * head_rows
        time_ms += multiplied_ms if multiplied_ms > self._head.read_ms else self._head.read_ms
        if self._experts:
            time_ms += self._experts_ms(tokens)
        if sequences:
            time_ms += self._read_cache_ms(sequences, context_tokens)
        if self._all_reduce is not None:
            time_ms += self._all_reduce_ms(rows)
        if self._expert_copies > 1:
            time_ms += self._exchange_ms(tokens)
        if prompt_tokens:
            time_ms += self._prompt_attention_ms(prompt_tokens, prompt_pairs)
        floor_ms = launch.floor_ms(tokens, prompt_tokens)
        if floor_ms > time_ms:
            time_ms = floor_ms
        return time_ms + self._stage_hops_ms(rows) if self._hops else time_ms

    def terms(
        self,
        sequences: float,
        context_tokens: float,
        prompt_tokens: float = 0,
        prompt_pairs: float = 0,
        prompts_ended: float = 0,
    ) -> StepTerms:
        """The same, by cause."""
        rows = sequences + prompt_tokens if prompt_tokens else graph_rows(sequences)
        matrices = sum(max(m.read_ms, m.token_ms * rows) for m in self._matrices)
        head_rows = sequences + prompts_ended if prompt_tokens else rows
        matrices += max(self._head.read_ms, self._head.token_ms * head_rows)
        tokens = sequences + prompt_tokens
        return StepTerms(
            matrices_ms=matrices,
            experts_ms=self._experts_ms(tokens),
            cache_ms=self._read_cache_ms(sequences, context_tokens) if sequences else 0.0,
            attention_ms=(
                self._prompt_attention_ms(prompt_tokens, prompt_pairs) if prompt_tokens else 0.0
            ),
            all_reduce_ms=self._all_reduce_ms(rows) + self._exchange_ms(tokens),
            elementwise_ms=self._token_ms * tokens,
            overhead_ms=self._launch.fixed_ms + self._launch.sequence_ms * sequences,
            stage_hops_ms=self._stage_hops_ms(rows),
            floor_ms=self._launch.floor_ms(tokens, prompt_tokens),
        )

    def decode_ceiling_tokens_per_s(self) -> float:
        """One sequence at nothing but memory bandwidth: weights of one token, no cache."""
        return 1000 * self.bytes_per_ms / self.work.bytes_of_one_token

    @property
    def all_reduce(self) -> AllReduceTime | None:
        """One all-reduce; None with one rank."""
        return self._all_reduce

    def _experts_ms(self, tokens: float) -> float:
        together = tokens * self._expert_copies
        time_ms = 0.0
        for each in self._experts:
            touched = 1 - float(each.idle_share**together)
            time_ms += each.read_ms * touched + each.token_ms * tokens
        return time_ms

    def _read_cache_ms(self, sequences: float, context: float) -> float:
        per_sequence = self._cache_fixed_ms + self._cache_token_ms * context
        for token_ms, reach in self._cache_windows:
            per_sequence += token_ms * min(context, reach)
        return sequences * per_sequence

    def _prompt_attention_ms(self, tokens: float, pairs: float) -> float:
        time_ms = self._pairs_ms * pairs + self._state_token_ms * tokens
        for pair_ms, reach in self._pair_windows:
            time_ms += pair_ms * min(pairs, tokens * reach)
        return time_ms

    def _prepare_caches(self, gpu: Gpu, constants: SpeedConstants) -> None:
        """What one token of context and one pair of a prompt take, by how far layers look back."""
        tflops = peak_tflops("16bit", gpu) * self._reachable
        pair_ms = 2 / (tflops * 1e9 * constants.compute_share["attention"])
        byte_ms = 1 / (self.bytes_per_ms * constants.read_share["kv"])
        self._cache_fixed_ms = self._cache_token_ms = self._pairs_ms = self._state_token_ms = 0.0
        cache_windows: list[tuple[float, int]] = []
        pair_windows: list[tuple[float, int]] = []
        for cache in self.work.caches:
            self._cache_fixed_ms += cache.layers * cache.fixed_bytes * byte_ms
            self._cache_token_ms += cache.layers * cache.far_bytes_per_token * byte_ms
            self._state_token_ms += cache.layers * cache.token_values * pair_ms
            near_ms = cache.layers * cache.bytes_per_token * byte_ms
            if cache.reach_tokens is None:
                self._cache_token_ms += near_ms
                self._pairs_ms += cache.layers * cache.pair_values * pair_ms
            else:
                cache_windows.append((near_ms, cache.reach_tokens))
                pair_windows.append(
                    (cache.layers * cache.pair_values * pair_ms, cache.reach_tokens)
                )
        self._cache_windows, self._pair_windows = tuple(cache_windows), tuple(pair_windows)

    def _all_reduce_ms(self, rows: float) -> float:
        time = self._all_reduce
        if time is None:
            return 0.0
        calls = self.work.all_reduces
        fixed_us = (calls + self._extra_all_reduces) * time.fixed_us
        payload_us = calls * rows * self.work.hidden_size * 2 / (time.gb_per_s * 1e3)
        return (fixed_us + payload_us) / 1e3

    def _exchange_ms(self, tokens: float) -> float:
        """Tokens sent to the ranks of their experts and back, where experts are shared."""
        if self._expert_copies == 1 or not self.work.moe_layers:
            return 0.0
        sent = tokens * self.work.hidden_size * 2 * max(e.top_k for e in self.work.experts)
        per_layer_us = 2 * (self._exchange_us + sent / (self._exchange_gb_per_s * 1e3))
        return self.work.moe_layers * per_layer_us / 1e3

    def _stage_hops_ms(self, rows: float) -> float:
        if not self._hops:
            return 0.0
        payload_us = rows * self.work.hidden_size * 2 / (self._hop_gb_per_s * 1e3)
        return self._hops * (self._hop_us + payload_us) / 1e3


def _hop(setup: Setup, gpu: Gpu, constants: SpeedConstants) -> tuple[float, float]:
    """Fixed microseconds and GB/s from one pipeline stage to the next."""
    if setup.stages_on_other_nodes:
        return constants.stage_hop_us.network, constants.network_gb_per_s
    return constants.stage_hop_us.node, gpu.fabric.gb_per_s / 2
