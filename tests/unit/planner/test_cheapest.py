"""The search: cheapest that holds, why the others lose, and what never makes a plan dearer."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.catalog.load import Catalog, load_catalog
from berth.planner.cheapest import Comparison, compare_options
from berth.planner.engine_options import EngineOptions, KvCacheDtype
from berth.planner.node_choice import (
    NodeOffer,
    catalog_offers,
    cheapest_nodes,
    usd_per_1m_output_tokens,
)
from berth.planner.search_space import Fixed
from berth.planner.sizing import Goals
from berth.planner.speed.serving import Traffic

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
DAY = date(2026, 11, 30)
CATALOG = load_catalog()


def found(
    model: str = LLAMA_8B,
    *,
    gpus: tuple[str, ...] | None = None,
    goals: Goals | None = None,
    own: dict[str, Decimal] | None = None,
    fixed: dict[str, Any] | None = None,
    catalog: Catalog = CATALOG,
    kv_cache_dtype: KvCacheDtype = "auto",
    **load: Any,
) -> Comparison:
    """The search in us-east-1 for 2 requests/s of 1,000 tokens in and 200 out."""
    traffic = {"input_tokens": 1000, "output_tokens": 200, "requests_per_s": 2.0} | load
    offers = catalog_offers(CATALOG, "us-east-1", DAY, own or {})
    if gpus is not None:
        offers = {key: offers[key] for key in gpus}
    options = EngineOptions(vllm_version="", max_model_len=4096, kv_cache_dtype=kv_cache_dtype)
    wanted = Fixed(options=options, **(fixed or {}))
    return compare_options(
        catalog.models[model], wanted, Traffic(**traffic), goals or Goals(), offers, catalog
    )


def usd(comparison: Comparison) -> Decimal:
    """Price of the choice."""
    assert comparison.chosen is not None
    price = comparison.chosen.usd_per_hour
    assert price is not None
    return price


def test_the_chosen_holds_the_goals_on_the_high_side_below_the_safe_load() -> None:
    goals = Goals(ttft_ms=1500, itl_ms=40)

    chosen = found(LLAMA_70B, goals=goals, requests_per_s=12, input_tokens=2000).chosen

    assert chosen is not None
    plan = chosen.plan()
    assert plan is not None
    assert plan.ttft_ms_high is not None
    assert plan.ttft_ms_high <= 1500
    assert plan.itl_ms_high <= 40
    assert plan.requests_per_s <= 0.7 * plan.capacity_requests_per_s


def test_every_gpu_and_format_that_lost_has_one_line() -> None:
    result = found(LLAMA_70B, goals=Goals(itl_ms=40), requests_per_s=12)

    names = [(option.gpu, option.options.quantization) for option, _ in result.rejected]
    assert len(names) == len(set(names))
    lines = {option.gpu: reason for option, reason in result.rejected}
    assert "GiB" in lines["T4"]
    assert "were not read" in lines["B300-SXM-288GB"]
    assert "no price of MI300X is known" in lines["MI300X"]


def test_a_price_of_ones_own_makes_a_gpu_a_candidate() -> None:
    result = found(LLAMA_70B, own={"MI300X": Decimal("1.00")}, requests_per_s=12)

    assert result.chosen is not None
    assert (result.chosen.gpu, result.chosen.usd_per_hour) == ("MI300X", Decimal("8.00"))


def test_goals_that_nothing_meets_leave_the_nearest_with_its_limit() -> None:
    result = found(LLAMA_70B, goals=Goals(itl_ms=0.5))

    assert result.chosen is None
    assert result.nearest.miss is not None
    assert result.nearest.miss.goal == "itl_ms"
    assert result.nearest.miss.value > 0.5


def test_what_is_dearer_is_listed_only_where_it_is_faster() -> None:
    result = found(LLAMA_70B, goals=Goals(itl_ms=60), requests_per_s=12)

    assert result.chosen is not None
    line = [result.chosen, *result.pareto]
    answers = [option.sizing.answer for option in line if option.sizing is not None]
    assert len(answers) > 1
    for index, answer in enumerate(answers):
        for before in answers[:index]:
            assert answer.ttft_ms < before.ttft_ms or answer.itl_ms < before.itl_ms


def test_fixed_replicas_are_kept_and_their_overload_is_said() -> None:
    result = found(gpus=("L4",), fixed={"replicas": 1}, requests_per_s=40)

    assert result.chosen is None
    assert result.nearest.sizing is not None
    assert result.nearest.sizing.replicas == 1
    assert result.nearest.miss is not None
    assert result.nearest.miss.goal == "capacity"


def test_over_pcie_the_search_stays_at_two_ranks() -> None:
    result = found(LLAMA_70B, gpus=("L40S",), requests_per_s=1)

    assert result.chosen is not None
    assert result.chosen.options.tensor_parallel_size <= 2


def test_doubling_load_and_replicas_keeps_latency() -> None:
    one = found(gpus=("H100-SXM-80GB",), fixed={"replicas": 2}, requests_per_s=8).nearest.plan()
    two = found(gpus=("H100-SXM-80GB",), fixed={"replicas": 4}, requests_per_s=16).nearest.plan()

    assert one is not None
    assert two is not None
    assert (two.ttft_ms, two.itl_ms) == pytest.approx((one.ttft_ms, one.itl_ms))


@settings(max_examples=15, deadline=None)
@given(
    rate=st.floats(0.1, 60),
    tokens=st.integers(100, 2000),
    itl_ms=st.floats(25, 200),
    factor=st.floats(1, 3),
)
def test_a_slower_goal_or_fewer_requests_never_cost_more(
    rate: float, tokens: int, itl_ms: float, factor: float
) -> None:
    gpus = ("L4", "L40S", "H100-SXM-80GB")
    load: dict[str, Any] = {"requests_per_s": rate, "input_tokens": tokens, "gpus": gpus}
    base = found(goals=Goals(itl_ms=itl_ms), **load)

    slower = found(goals=Goals(itl_ms=itl_ms * factor), **load)
    fewer = found(goals=Goals(itl_ms=itl_ms), **(load | {"requests_per_s": rate / factor}))

    assert usd(slower) <= usd(base)
    assert usd(fewer) <= usd(base)


@settings(max_examples=15, deadline=None)
@given(tokens=st.integers(200, 2000), less=st.integers(1, 199), rate=st.floats(0.1, 30))
def test_shorter_prompts_never_cost_more(tokens: int, less: int, rate: float) -> None:
    gpus = ("L4", "H100-SXM-80GB")
    long = found(gpus=gpus, goals=Goals(itl_ms=80), input_tokens=tokens, requests_per_s=rate)

    short = found(
        gpus=gpus, goals=Goals(itl_ms=80), input_tokens=tokens - less, requests_per_s=rate
    )

    assert usd(short) <= usd(long)


def with_bandwidth(gpu: str, factor: float) -> Catalog:
    """The catalog with one GPU that reads its memory faster."""
    faster = CATALOG.gpus[gpu].model_copy(
        update={"memory_gb_per_s": (CATALOG.gpus[gpu].memory_gb_per_s or 0) * factor}
    )
    return replace(CATALOG, gpus={**CATALOG.gpus, gpu: faster})


@settings(max_examples=15, deadline=None)
@given(factor=st.floats(1, 4), rate=st.floats(0.1, 40), itl_ms=st.floats(70, 200))
def test_more_bandwidth_never_costs_more(factor: float, rate: float, itl_ms: float) -> None:
    load: dict[str, Any] = {"gpus": ("L4",), "goals": Goals(itl_ms=itl_ms), "requests_per_s": rate}

    faster = found(catalog=with_bandwidth("L4", factor), **load)

    assert usd(faster) <= usd(found(**load))


@settings(max_examples=15, deadline=None)
@given(rate=st.floats(0.1, 40), tokens=st.integers(100, 3000))
def test_a_cache_of_fewer_bytes_never_costs_more(rate: float, tokens: int) -> None:
    load: dict[str, Any] = {"gpus": ("L4", "H100-SXM-80GB"), "requests_per_s": rate}
    load |= {"input_tokens": tokens, "goals": Goals(itl_ms=90)}

    assert usd(found(kv_cache_dtype="fp8", **load)) <= usd(found(**load))


def an_offer(gpus: int, usd_per_hour: str | None, **changes: Any) -> NodeOffer:
    """Nodes without a catalog entry."""
    price = None if usd_per_hour is None else Decimal(usd_per_hour)
    entries = {"instance_type": None, "tier": None, "no_price": "none"} | changes
    return NodeOffer(gpu="H100-SXM-80GB", gpus=gpus, usd_per_hour=price, **entries)


@pytest.mark.parametrize(
    ("gpus", "stage", "replicas", "nodes", "total"),
    [
        pytest.param(1, 1, 3, 3, "21", id="three of one GPU are cheaper than one of eight"),
        pytest.param(1, 1, 9, 9, "63", id="nine single nodes at 7 are cheaper than two at 55"),
        pytest.param(2, 2, 4, 1, "55", id="a split in two needs the node of eight"),
        pytest.param(2, 2, 5, 2, "110", id="the fifth pair opens a second node"),
        pytest.param(16, 8, 1, 2, "110", id="two stages of eight are two nodes"),
    ],
)
def test_nodes_are_the_cheapest_that_hold_all(
    gpus: int, stage: int, replicas: int, nodes: int, total: str
) -> None:
    plan = cheapest_nodes([an_offer(8, "55"), an_offer(1, "7")], gpus, stage, replicas)

    assert plan is not None
    assert (plan.nodes, plan.usd_per_hour) == (nodes, Decimal(total))


def test_a_missing_price_is_never_zero() -> None:
    plan = cheapest_nodes([an_offer(8, None), an_offer(8, "55")], 8, 8, 1)

    assert plan is not None
    assert plan.usd_per_hour == Decimal("55")


def test_price_per_million_tokens() -> None:
    # 36 USD/h over 1,000 tokens/s, which are 3.6 million an hour
    assert usd_per_1m_output_tokens(Decimal(36), 1000) == Decimal(10)
