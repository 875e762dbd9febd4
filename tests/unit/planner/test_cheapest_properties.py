"""What never makes a plan dearer or slower: over dense models, experts, latents, states, stages."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.planner.sizing import Goals
from tests.unit.planner.test_cheapest import found, usd, with_bandwidth


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of model on one GPU."""

    model: str
    gpu: str
    fixed: dict[str, Any] = field(default_factory=dict)

    def found(self, **changes: Any) -> Any:
        """The search on this GPU alone."""
        return found(self.model, gpus=(self.gpu,), fixed=self.fixed, **changes)


KINDS = [
    pytest.param(Kind("openai/gpt-oss-120b", "H100-SXM-80GB"), id="experts"),
    pytest.param(Kind("deepseek-ai/DeepSeek-V3", "H200-SXM-141GB"), id="latents"),
    pytest.param(Kind("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "B200-SXM-180GB"), id="states"),
    pytest.param(
        Kind("meta-llama/Llama-3.3-70B-Instruct", "L40S", {"pipeline_parallel_size": 4}),
        id="stages",
    ),
]
FEW = settings(max_examples=5, deadline=None)
RATES = st.floats(0.1, 20)
FACTORS = st.floats(1, 3)


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(rate=RATES, factor=FACTORS)
def test_more_bandwidth_never_costs_more(kind: Kind, rate: float, factor: float) -> None:
    load: dict[str, Any] = {"goals": Goals(itl_ms=150), "requests_per_s": rate}

    faster = kind.found(catalog=with_bandwidth(kind.gpu, factor), **load)

    assert usd(faster) <= usd(kind.found(**load))


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(rate=RATES, factor=FACTORS, itl_ms=st.floats(120, 200))
def test_a_slower_goal_never_costs_more(
    kind: Kind, rate: float, factor: float, itl_ms: float
) -> None:
    base = kind.found(goals=Goals(itl_ms=itl_ms, ttft_ms=5000), requests_per_s=rate)

    slower = kind.found(
        goals=Goals(itl_ms=itl_ms * factor, ttft_ms=5000 * factor), requests_per_s=rate
    )

    assert usd(slower) <= usd(base)


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(rate=RATES, factor=FACTORS)
def test_fewer_tokens_and_requests_never_cost_more(kind: Kind, rate: float, factor: float) -> None:
    goals = Goals(itl_ms=150)
    base = kind.found(goals=goals, requests_per_s=rate)

    shorter = kind.found(
        goals=goals, requests_per_s=rate, input_tokens=1000 / factor, output_tokens=200 / factor
    )
    fewer = kind.found(goals=goals, requests_per_s=rate / factor)

    assert usd(shorter) <= usd(base)
    assert usd(fewer) <= usd(base)


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(rate=st.floats(0.1, 5), replicas=st.integers(1, 4))
def test_doubling_load_and_replicas_keeps_latency(kind: Kind, rate: float, replicas: int) -> None:
    once = replace(kind, fixed=kind.fixed | {"replicas": replicas, "tensor_parallel_size": 8})
    twice = replace(kind, fixed=kind.fixed | {"replicas": 2 * replicas, "tensor_parallel_size": 8})

    one = once.found(requests_per_s=rate).nearest.plan()
    two = twice.found(requests_per_s=2 * rate).nearest.plan()

    assert (two.ttft_ms, two.itl_ms) == pytest.approx((one.ttft_ms, one.itl_ms))


@pytest.mark.parametrize("kind", KINDS[:1])
@FEW
@given(rate=RATES)
def test_a_cache_of_fewer_bytes_never_costs_more(kind: Kind, rate: float) -> None:
    load: dict[str, Any] = {"goals": Goals(itl_ms=150), "requests_per_s": rate}

    assert usd(kind.found(kv_cache_dtype="fp8", **load)) <= usd(kind.found(**load))
