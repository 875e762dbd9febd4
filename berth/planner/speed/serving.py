"""What a load makes of the steps of one replica: time to first token, time per token, throughput.

Closed formulas: a request waits for the running step, its prompt is read in chunks beside the
sequences that decode, and their answers lose what such a step takes more than a plain one.
"""

from dataclasses import dataclass, replace
from math import ceil

from berth.catalog.speed import SpeedConstants
from berth.planner.speed.step import StepModel

TURNS = 6
"""Of the iteration between arrivals and time per token; more change less than 0.1 %."""
SETTLED = 1e-3
"""Change of a turn, as a share, after which the iteration ends."""
MOST_BUSY = 0.95
"""Share of time in prompt steps beyond which the wait is not counted further."""
REQUESTS_PER_CLIENT = 10
"""Of a benchmark with `--num-prompts` ten times `--max-concurrency`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Requests to one replica. Exactly one of `concurrency` and `requests_per_s` is given."""

    input_tokens: float
    output_tokens: float
    concurrency: float | None = None
    """Clients that ask again as soon as they are answered."""
    requests_per_s: float | None = None
    cached_share: float = 0.0
    """Of the prompt, found in the prefix cache."""
    accepted_tokens: float = 0.0
    """Speculated tokens that are accepted per step and sequence, on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one replica takes at once."""

    kv_requests: float
    """Requests of this traffic that the KV cache holds."""
    max_num_seqs: int
    max_num_batched_tokens: int
    lanes: int = 1
    """Pipeline stages times data-parallel ranks: groups of sequences that step side by side."""

    @property
    def sequences(self) -> float:
        """The smaller of what the cache holds and the scheduler admits."""
        return max(1.0, min(self.kv_requests, self.max_num_seqs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One replica under one load; means."""

    ttft_ms: float
    steady_ttft_ms: float
    """Without the first wave of a benchmark and without the wait for a place: its median."""
    itl_ms: float
    output_tokens_per_s: float
    requests_per_s: float
    running: float
    """Sequences that decode at once."""
    overloaded: bool
    """More arrives than it answers: the queue grows without end."""


@dataclass(frozen=True, slots=True)
class _Prompts:
    """How prompts are read while sequences decode."""

    together: float
    """Prompts that share the same steps."""
    steps: int
    total_ms: float
    """Of all these steps."""


class Replica:
    """One replica: its steps, its limits, and the times outside the engine."""

    def __init__(self, steps: StepModel, limits: Limits, constants: SpeedConstants) -> None:
        self._steps = steps
        self._limits = limits
        self._lanes = limits.lanes
        self._constants = constants

    def answer(self, traffic: Traffic) -> Answer:
        """Latencies and throughput under `traffic`."""
        if traffic.concurrency is not None:
            return self._closed(traffic, traffic.concurrency)
        return self._open(traffic, traffic.requests_per_s or 0.0)

    def saturation_requests_per_s(self, traffic: Traffic) -> float:
        """Most requests per second, all places taken."""
        at_limit = replace(traffic, concurrency=self._limits.sequences, requests_per_s=None)
        return self._closed(at_limit, self._limits.sequences).requests_per_s

    def single_stream_tokens_per_s(self, traffic: Traffic) -> float:
        """Tokens per second of one sequence alone."""
        return 1000 / self._decode_ms(1, traffic)

    def _front_end_ms(self, traffic: Traffic) -> float:
        constants = self._constants
        return (
            constants.front_end_ms + constants.front_end_us_per_token * traffic.input_tokens / 1e3
        )

    def _closed(self, traffic: Traffic, clients: float) -> Answer:
        running = min(clients, self._limits.sequences)
        itl_ms, prompts = self._settle(traffic, running, None)
        steady = self._steady_ttft_ms(traffic, running, itl_ms, prompts, None)
        wave = self._first_wave_ms(traffic, running)
        share = 1 / REQUESTS_PER_CLIENT
        served_ms = steady if clients <= 1 else (1 - share) * steady + share * wave
        answer_ms = _output(traffic) * itl_ms
        queued_ms = 0.0
        if clients > running:
            queued_ms = (clients - running) / running * (answer_ms + prompts.total_ms)
        whole_ms = served_ms + (_output(traffic) - 1) * itl_ms
        requests_per_s = min(running / whole_ms * 1e3, 1e3 / self._front_end_ms(traffic))
        return Answer(
            ttft_ms=served_ms + queued_ms,
            steady_ttft_ms=steady,
            itl_ms=itl_ms,
            output_tokens_per_s=requests_per_s * _output(traffic),
            requests_per_s=requests_per_s,
            running=running,
            overloaded=False,
        )

    def _open(self, traffic: Traffic, rate: float) -> Answer:
        most = self._limits.sequences
        running = min(most, max(1e-6, rate * _output(traffic) * self._decode_ms(1, traffic) / 1e3))
        itl_ms, prompts = 0.0, _Prompts(1, 1, 0.0)
        together = 1.0
        overloaded = rate * self._front_end_ms(traffic) >= 1e3
        for _ in range(TURNS * 4):
            itl_ms, prompts = self._settle(traffic, running, rate, together)
            together = prompts.together
            wanted = rate * _output(traffic) * itl_ms / 1e3
            if abs(min(wanted, most) - running) <= SETTLED * running:
                break
            running = min(wanted, most)
        overloaded = overloaded or rate * _output(traffic) * itl_ms / 1e3 > most
        if overloaded:
            at_limit = self._closed(traffic, most)
            return replace(at_limit, ttft_ms=float("inf"), overloaded=True)
        steady = self._steady_ttft_ms(traffic, running, itl_ms, prompts, rate)
        return Answer(
            ttft_ms=steady,
            steady_ttft_ms=steady,
            itl_ms=itl_ms,
            output_tokens_per_s=rate * _output(traffic),
            requests_per_s=rate,
            running=running,
            overloaded=False,
        )

    def _settle(
        self, traffic: Traffic, running: float, rate: float | None, together: float = 1.0
    ) -> tuple[float, _Prompts]:
        """Time per token with `running` sequences, and how their prompts are read."""
        decode_ms = self._decode_ms(running, traffic)
        per_step = 1 + traffic.accepted_tokens
        steps_of_answer = max(1.0, _output(traffic) / per_step)
        step_ms = decode_ms
        lane_running = running / self._lanes
        prompts = self._read_prompts(traffic, running, together)
        if running <= 1 and rate is None:
            return decode_ms / per_step, prompts
        for _ in range(TURNS):
            if rate is None:
                arrivals = lane_running / (steps_of_answer * step_ms)
            else:
                arrivals = rate / self._lanes / 1e3
            before = step_ms
            wanted = min(max(1.0, arrivals * prompts.total_ms), max(1.0, lane_running / 2))
            if abs(wanted - prompts.together) > SETTLED * wanted:
                prompts = self._read_prompts(traffic, running, wanted)
            step_ms = _with_prompts(decode_ms, prompts, lane_running, steps_of_answer)
            if abs(step_ms - before) <= SETTLED * step_ms:
                break
        return step_ms / per_step, prompts

    def _decode_ms(self, running: float, traffic: Traffic) -> float:
        context = traffic.input_tokens + traffic.output_tokens / 2
        rows = running / self._lanes
        return self._steps.step_ms(rows if rows > 1 else 1, context)

    def _read_prompts(self, traffic: Traffic, running: float, together: float) -> _Prompts:
        """`together` prompts in chunks of what the decoding sequences leave of a step."""
        lane = running / self._lanes
        beside = lane if running > 1 else 0.0
        cached = traffic.input_tokens * traffic.cached_share
        tokens = max(1.0, traffic.input_tokens - cached)
        budget = max(1.0, self._limits.max_num_batched_tokens - beside)
        steps = max(1, ceil(together * tokens / budget))
        one_ms = self._steps.step_ms(
            beside,
            traffic.input_tokens + traffic.output_tokens / 2,
            prompt_tokens=together * tokens / steps,
            prompt_pairs=together * (tokens * tokens / 2 + tokens * cached) / steps,
            prompts_ended=together / steps,
        )
        return _Prompts(together, steps, steps * one_ms)

    def _steady_ttft_ms(
        self,
        traffic: Traffic,
        running: float,
        itl_ms: float,
        prompts: _Prompts,
        rate: float | None,
    ) -> float:
        fixed_ms = self._constants.server_ms + self._front_end_ms(traffic)
        if rate is None and running <= 1:
            return fixed_ms + prompts.total_ms
        lane = running / self._lanes
        arrivals = lane / (_output(traffic) * itl_ms) if rate is None else rate / self._lanes / 1e3
        busy = min(MOST_BUSY, arrivals / prompts.together * prompts.total_ms)
        decode_ms = self._decode_ms(running, traffic)
        step_ms = prompts.total_ms / prompts.steps
        occupied = 1.0 if rate is None else min(1.0, running)
        wait_ms = (1 - busy) * decode_ms / 2 * occupied + busy * step_ms / 2
        reading_ms = prompts.total_ms * (prompts.steps + 1) / (2 * prompts.steps)
        return fixed_ms + wait_ms + reading_ms

    def _first_wave_ms(self, traffic: Traffic, running: float) -> float:
        """Mean until the first token if all clients start at once."""
        tokens = max(1.0, traffic.input_tokens * (1 - traffic.cached_share))
        cached = traffic.input_tokens - tokens
        lane = running / self._lanes
        budget = self._limits.max_num_batched_tokens
        steps = max(1, ceil(lane * tokens / budget))
        one_ms = self._steps.step_ms(
            0,
            0,
            prompt_tokens=lane * tokens / steps,
            prompt_pairs=lane * (tokens * tokens / 2 + tokens * cached) / steps,
            prompts_ended=lane / steps,
        )
        front_end_ms = self._front_end_ms(traffic) * (running + 1) / 2
        return self._constants.server_ms + front_end_ms + one_ms * (steps + 1) / 2


def _output(traffic: Traffic) -> float:
    return max(1.0, traffic.output_tokens)


def _with_prompts(
    decode_ms: float, prompts: _Prompts, running: float, steps_of_answer: float
) -> float:
    """Mean step of a sequence whose steps in part carry other requests' prompts."""
    prompt_steps = running * prompts.steps / prompts.together
    if prompt_steps > steps_of_answer:
        return running / prompts.together * prompts.total_ms / steps_of_answer
    lost_ms = prompts.total_ms / prompts.steps - decode_ms
    return decode_ms + prompt_steps / steps_of_answer * lost_ms
