"""Published runs of vLLM, and what the speed model says of each."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from berth.catalog.gpu import load_gpus
from berth.catalog.model import load_models
from berth.catalog.speed import SpeedConstants
from berth.planner.engine_options import EngineOptions
from berth.planner.speed.room import server_limits
from berth.planner.speed.serving import Answer, Limits, Replica, Traffic
from berth.planner.speed.step import Setup, StepModel
from berth.planner.vllm_rules import Version, parse_version

ROWS = Path(__file__).parents[1] / "data/throughput.csv"
RECENT: Version = (0, 8, 0)
LARGEST_RATE = 8.0
"""Requests per second: runs of 200 requests at a higher rate are over before they are steady."""

QUEUED_TTFT_MS = 1000
QUEUED_SHARE = 0.35
"""Of the time of a whole answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One published run."""

    model: str
    gpu: str
    options: EngineOptions
    async_scheduling: bool | None
    input_tokens: float
    output_tokens: float
    load_kind: str
    """clients, requests_per_s, at_once or batch."""
    load: float
    ttft_ms: float | None
    ttft_is_median: bool
    itl_ms: float | None
    output_tokens_per_s: float | None
    source: str

    @property
    def configuration(self) -> tuple[str, str, str, int]:
        """What stays on one side of a cross-validation."""
        return (
            self.model,
            self.gpu,
            self.options.quantization,
            self.options.tensor_parallel_size,
        )

    @property
    def recent(self) -> bool:
        """On an engine that the constants are for."""
        return (parse_version(self.options.vllm_version) or (0, 0, 0)) >= RECENT

    @property
    def comparable_itl(self) -> bool:
        """A steady load on a recent engine, with a time per token."""
        steady = self.load_kind == "clients" or (
            self.load_kind == "requests_per_s" and self.load <= LARGEST_RATE
        )
        return self.recent and steady and self.itl_ms is not None


def read_runs() -> list[Run]:
    """All runs of tests/data/throughput.csv."""
    with ROWS.open(encoding="utf-8") as file:
        return [_run(row) for row in csv.DictReader(file)]


def _run(row: dict[str, str]) -> Run:
    options: dict[str, Any] = {
        "vllm_version": row["vllm_version"],
        "quantization": row["quantization"],
        "kv_cache_dtype": row["kv_cache_dtype"],
        "tensor_parallel_size": int(row["tensor_parallel_size"]),
        "pipeline_parallel_size": int(row["pipeline_parallel_size"]),
        "expert_parallel": row["expert_parallel"] == "yes",
        "max_model_len": int(float(row["input_tokens"]) + float(row["output_tokens"])) + 512,
    }
    for name, kind in (
        ("max_num_seqs", int),
        ("max_num_batched_tokens", int),
        ("gpu_memory_utilization", float),
    ):
        if row[name]:
            options[name] = kind(row[name])
    return Run(
        model=row["model"],
        gpu=row["gpu"],
        options=EngineOptions(**options),
        async_scheduling=row["async_scheduling"] == "yes" or None,
        input_tokens=float(row["input_tokens"]),
        output_tokens=float(row["output_tokens"]),
        load_kind=row["load_kind"],
        load=float(row["load"]),
        ttft_ms=_number(row["ttft_ms"]),
        ttft_is_median=row["ttft_statistic"] == "median",
        itl_ms=_number(row["itl_ms"]),
        output_tokens_per_s=_number(row["output_tokens_per_s"]),
        source=row["source"],
    )


def _number(text: str) -> float | None:
    return float(text) if text else None


def queue_dominated(run: Run) -> bool:
    """Whether its clients mostly waited for a place, which follows from a few tokens of room."""
    if run.ttft_ms is None or run.itl_ms is None or run.load <= 1:
        return False
    if run.load_kind == "requests_per_s":
        return run.ttft_ms > QUEUED_TTFT_MS
    return run.ttft_ms > QUEUED_SHARE * run.itl_ms * run.output_tokens


class Predictor:
    """The model's word on runs; what does not depend on the constants is kept."""

    def __init__(self, runs: list[Run]) -> None:
        self._gpus, self._models = load_gpus(), load_models()
        self._limits = {id(run): self._limits_of(run) for run in runs}

    def _limits_of(self, run: Run) -> Limits:
        tokens = run.input_tokens + run.output_tokens / 2
        return server_limits(self._models[run.model], self._gpus[run.gpu], run.options, tokens)

    def answer(self, run: Run, constants: SpeedConstants) -> Answer:
        """Latencies and throughput that the model expects."""
        options = run.options
        fp8_cache = options.kv_cache_dtype == "fp8"
        setup = Setup(
            quantization=options.quantization,
            cache_value_bytes=1 if fp8_cache else 2,
            tensor_parallel_size=options.tensor_parallel_size,
            pipeline_parallel_size=options.pipeline_parallel_size,
            expert_parallel=options.expert_parallel,
            vllm_version=options.vllm_version,
            async_scheduling=run.async_scheduling,
            enforce_eager=options.enforce_eager,
        )
        model = self._models[run.model]
        steps = StepModel(model, run.gpu, self._gpus[run.gpu], setup, constants)
        replica = Replica(steps, self._limits[id(run)], constants)
        rate = run.load if run.load_kind == "requests_per_s" else None
        return replica.answer(
            Traffic(
                input_tokens=run.input_tokens,
                output_tokens=run.output_tokens,
                concurrency=None if rate else run.load,
                requests_per_s=rate,
            )
        )
