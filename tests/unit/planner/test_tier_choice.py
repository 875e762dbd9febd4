"""Where a model server of a stack goes when it states a load, or several tiers."""

from pathlib import Path
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.planner.account import Account
from berth.planner.calibration import read_calibrations
from berth.planner.errors import PlanError
from berth.planner.make_plan import make_plan
from berth.planner.speed.forecast import Calibration
from tests.unit.planner.stacks import (
    LLAMA_8B,
    a_stack,
    an_8b,
    an_h100_tier,
    an_l4_tier,
    planned,
    refusal,
)

LOAD = {"requests_per_s": 2.0, "input_tokens": 1000, "output_tokens": 200}
TIERS = {"l4": an_l4_tier(max_nodes=8), "h100": an_h100_tier()}


def test_auto_takes_the_cheapest_tier_that_holds_the_goals() -> None:
    server = planned_chat(tier="auto", load=LOAD, goals={"itl_ms": 80})

    assert server.tier == "l4"
    assert server.speed is not None
    assert server.speed.itl_ms_high <= 80


def test_auto_leaves_a_tier_that_misses_the_goals() -> None:
    # one L4 reads 15 GB of weights at 300 GB/s: 50 ms a token at best
    server = planned_chat(tier="auto", load=LOAD, goals={"itl_ms": 20})

    assert server.tier == "h100"


def test_auto_without_a_load_is_refused() -> None:
    lines = refusal(tiers=TIERS, models={"chat": an_8b(tier="auto")})

    assert lines == (
        "berth:models.chat.tier: auto needs a load to choose by, and there is none; add load or "
        "name a tier",
    )


def test_replicas_follow_the_load() -> None:
    few = planned_chat(load=LOAD)
    many = planned_chat(load=LOAD | {"requests_per_s": 8.0})

    assert few.speed is not None
    assert many.replicas > few.replicas
    assert few.speed.requests_per_s <= 0.7 * few.speed.capacity_requests_per_s


def test_a_list_of_tiers_is_planned_for_each() -> None:
    load = LOAD | {"requests_per_s": 8.0}
    tiers = {"spare": an_l4_tier(max_nodes=1), "l4": an_l4_tier(max_nodes=8)}
    alone = planned(tiers=tiers, models={"chat": an_8b(tier="l4", load=load)}).servers["chat"]
    both = an_8b(tier=["spare", "l4"], load=load)

    server = planned(tiers=tiers, models={"chat": both}).servers["chat"]

    assert server.replicas == alone.replicas > 1
    assert server.tier_replicas == {"spare": 1, "l4": alone.replicas - 1}


def test_without_a_load_there_is_one_replica_and_no_speed() -> None:
    server = planned_chat()

    assert (server.replicas, server.speed) == (1, None)


def test_goals_out_of_reach_are_refused_with_the_best_and_its_limit() -> None:
    lines = refusal(tiers=TIERS, models={"chat": an_8b(load=LOAD, goals={"itl_ms": 20})})

    assert len(lines) == 1
    assert lines[0].startswith("berth:models.chat.goals: the nearest, ")
    assert "on the high side against 20 (" in lines[0]


def test_more_load_than_the_tier_has_nodes_is_refused() -> None:
    heavy = LOAD | {"requests_per_s": 500.0}

    lines = refusal(tiers=TIERS, models={"chat": an_8b(load=heavy)})

    assert lines[0].startswith("berth:models.chat.load: ")
    assert "raise max_nodes or name another tier" in lines[0]


def test_a_calibration_replaces_the_modelled_time_and_narrows_the_band() -> None:
    config = a_stack(tiers=TIERS, models={"chat": an_8b(load=LOAD, replicas=6)})
    slower = Calibration(
        day="2026-11-29",
        model=LLAMA_8B,
        gpu="L4",
        tensor_parallel_size=1,
        clients=32,
        itl_alone=1.5,
        itl_loaded=1.5,
        ttft_alone=1.0,
        ttft_loaded=1.0,
    )
    account = Account.assumed("us-east-1", load_catalog())

    plain = make_plan(config, load_catalog(), account).servers["chat"].speed
    measured = make_plan(config, load_catalog(), account, {"chat": slower}).servers["chat"].speed

    assert plain is not None
    assert measured is not None
    assert measured.constants == "calibrated on 2026-11-29"
    assert measured.itl_ms == pytest.approx(1.5 * plain.itl_ms)
    assert measured.itl_ms_high / measured.itl_ms < plain.itl_ms_high / plain.itl_ms


def test_a_calibration_that_is_not_there_is_refused_by_its_key(tmp_path: Path) -> None:
    config = a_stack(tiers=TIERS, models={"chat": an_8b(load=LOAD, calibration="no.json")})

    with pytest.raises(PlanError) as error:
        read_calibrations(config, tmp_path)

    assert error.value.lines[0].startswith("berth:models.chat.calibration: ")


def planned_chat(**changes: Any) -> Any:
    """The plan of one 8B server on a stack of two tiers."""
    return planned(tiers=TIERS, models={"chat": an_8b(**changes)}).servers["chat"]
