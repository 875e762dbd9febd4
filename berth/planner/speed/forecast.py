"""The speed of a model server with all its replicas, with bands: what a plan says."""

from dataclasses import dataclass, replace
from math import isfinite, log
from typing import Literal

from berth.catalog.gpu import Gpu
from berth.catalog.model_shape import Model
from berth.catalog.speed import Band, SpeedConstants
from berth.planner.engine_options import EngineOptions, countable
from berth.planner.memory_terms import Terms, cache_format
from berth.planner.plan import SpeedPlan
from berth.planner.speed.room import limits_of
from berth.planner.speed.serving import Answer, Limits, Replica, Traffic
from berth.planner.speed.step import Setup, StepModel, StepTerms

ENOUGH_RUNS = 10
"""Measured runs of a GPU from which on its band is the usual one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What two benchmarks of a live server change of the constants, as factors."""

    day: str
    model: str
    gpu: str
    tensor_parallel_size: int
    clients: float
    """Of the second benchmark; the first has one."""
    itl_alone: float
    itl_loaded: float
    """Factors of the time per token, alone and under load."""
    ttft_alone: float
    ttft_loaded: float

    def factors(self, running: float) -> tuple[float, float]:
        """Factors of time per token and to the first, between those of the two benchmarks."""
        share = min(1.0, max(0.0, log(max(1.0, running)) / log(self.clients)))
        itl = self.itl_alone + (self.itl_loaded - self.itl_alone) * share
        return itl, self.ttft_alone + (self.ttft_loaded - self.ttft_alone) * share

    @property
    def name(self) -> str:
        """As a plan names it."""
        return f"calibrated on {self.day}"


class ServerSpeed:
    """One server on one GPU model: answers for any load and number of replicas."""

    def __init__(
        self,
        model: Model,
        gpu_key: str,
        gpu: Gpu,
        options: EngineOptions,
        terms: Terms,
        load: Traffic,
        constants: SpeedConstants,
        calibration: Calibration | None = None,
    ) -> None:
        """Build the steps once.

        Raises:
            LookupError: if the speed of the GPU or of its links is not known.
        """
        options = countable(options, len(model.layers))
        setup = Setup(
            quantization=options.quantization,
            cache_value_bytes=cache_format(model, options)[0] / 8,
            tensor_parallel_size=options.tensor_parallel_size,
            pipeline_parallel_size=options.pipeline_parallel_size,
            expert_parallel=options.expert_parallel,
            data_parallel_size=options.data_parallel_size,
            vllm_version=options.vllm_version,
            enforce_eager=options.enforce_eager,
            stages_on_other_nodes=options.ranks > gpu.fabric.domain_gpus,
        )
        self.load = load
        self.steps = StepModel(model, gpu_key, gpu, setup, constants)
        self.limits: Limits = limits_of(terms, options, load.input_tokens + load.output_tokens / 2)
        self._replica = Replica(self.steps, self.limits, constants)
        self._constants = constants
        self._calibration = calibration
        self._runs = constants.measured_gpus.get(gpu_key, 0)
        if self.steps.work.state_layers:
            self._runs = min(self._runs, constants.state_layer_runs)
        if options.pipeline_parallel_size > 1 or options.data_parallel_size > 1:
            self._runs = 0  # hops between stages and the exchange of experts: no run has them
        self._saturation = 0.0

    @property
    def saturation_requests_per_s(self) -> float:
        """Of one replica, all places taken."""
        if not self._saturation:
            self._saturation = self._replica.saturation_requests_per_s(self.load)
            if self._calibration is not None:
                self._saturation /= self._calibration.factors(self.limits.sequences)[0]
        return self._saturation

    def answer(self, replicas: int) -> Answer:
        """One of `replicas` that share the load evenly."""
        load = self.load
        if load.concurrency is not None:
            share = replace(load, concurrency=max(1.0, load.concurrency / replicas))
        else:
            share = replace(load, requests_per_s=(load.requests_per_s or 0.0) / replicas)
        return self.answer_to(share)

    def answer_to(self, load: Traffic) -> Answer:
        """One replica under a load of its own, of the same requests."""
        answer = self._replica.answer(load)
        if self._calibration is None:
            return answer
        itl, ttft = self._calibration.factors(answer.running)
        slower = itl if load.concurrency is not None else 1.0
        return replace(
            answer,
            itl_ms=answer.itl_ms * itl,
            ttft_ms=answer.ttft_ms * ttft,
            output_tokens_per_s=answer.output_tokens_per_s / slower,
            requests_per_s=answer.requests_per_s / slower,
        )

    @property
    def itl_band(self) -> Band:
        """Factors of the expected time per token."""
        return self._band("itl")

    @property
    def ttft_band(self) -> Band:
        """Factors of the expected time to the first token."""
        return self._band("ttft")

    def _band(self, of: Literal["itl", "ttft"]) -> Band:
        constants = self._constants
        if self._calibration is not None:
            return constants.calibrated_band.itl if of == "itl" else constants.calibrated_band.ttft
        low, high = constants.band.itl if of == "itl" else constants.band.ttft
        if self._runs < ENOUGH_RUNS:
            return low / constants.band.low_evidence_factor, (
                high * constants.band.low_evidence_factor
            )
        return low, high

    @property
    def evidence(self) -> Literal["calibrated", "measured", "low"]:
        """What the band rests on."""
        if self._calibration is not None:
            return "calibrated"
        return "measured" if self._runs >= ENOUGH_RUNS else "low"

    def decode_terms(self, running: float) -> StepTerms:
        """One decode step, by cause."""
        context = self.load.input_tokens + self.load.output_tokens / 2
        return self.steps.terms(max(1.0, running / self.limits.lanes), context)

    def prompt_terms(self, tokens: float) -> StepTerms:
        """One step that reads `tokens` of a prompt alone, by cause."""
        return self.steps.terms(0, 0, tokens, tokens * tokens / 2, 1)

    def plan(self, replicas: int) -> SpeedPlan:
        """What the plan says of `replicas` under the load."""
        answer = self.answer(replicas)
        ttft_low, ttft_high = self.ttft_band
        itl_low, itl_high = self.itl_band
        ttft = answer.ttft_ms if isfinite(answer.ttft_ms) else None
        calibration = self._calibration
        return SpeedPlan(
            ttft_ms=ttft,
            ttft_ms_low=ttft * ttft_low if ttft is not None else None,
            ttft_ms_high=ttft * ttft_high if ttft is not None else None,
            itl_ms=answer.itl_ms,
            itl_ms_low=answer.itl_ms * itl_low,
            itl_ms_high=answer.itl_ms * itl_high,
            output_tokens_per_s=answer.output_tokens_per_s * replicas,
            requests_per_s=answer.requests_per_s * replicas,
            capacity_requests_per_s=self.saturation_requests_per_s * replicas,
            running_per_replica=answer.running,
            decode_ceiling_tokens_per_s=self.steps.decode_ceiling_tokens_per_s(),
            single_stream_tokens_per_s=self._replica.single_stream_tokens_per_s(self.load),
            tensor_parallel_tax_ms=self.decode_terms(answer.running).all_reduce_ms,
            evidence=self.evidence,
            constants=calibration.name if calibration is not None else self._constants.name,
        )
