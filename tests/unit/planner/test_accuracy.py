"""How right plans are on start-up logs that other people published: the promise, as limits."""

import csv
from functools import cache
from pathlib import Path

import pytest

from berth.catalog.gpu import load_gpus
from berth.catalog.model import find_model, load_models
from berth.planner.accuracy import Comparison, compare, quantile, read_start_log, report
from tests.accuracy.later_page import later_comparisons, later_section

LOGS = Path(__file__).parents[2] / "data" / "start_logs.csv"
NAMED_TIERS = {
    "T4",
    "L4",
    "A10G",
    "L40S",
    "A100-SXM-40GB",
    "A100-SXM-80GB",
    "H100-SXM-80GB",
    "H200-SXM-141GB",
    "B200-SXM-180GB",
    "MI300X",
}


@cache
def comparisons() -> tuple[Comparison, ...]:
    gpus, models = load_gpus(), load_models()
    with LOGS.open(encoding="utf-8") as file:
        logs = [read_start_log(row) for row in csv.DictReader(file)]
    return tuple(compare(log, gpus[log.gpu], models[find_model(models, log.model)]) for log in logs)


def kv_errors(*, stated_only: bool = False) -> list[float]:
    return [
        abs(c.kv_share)
        for c in comparisons()
        if c.kv_share is not None
        and c.log.gpu in NAMED_TIERS
        and not (stated_only and c.log.presumed)
    ]


def test_enough_logs_are_compared() -> None:
    assert len(kv_errors()) >= 25


@pytest.mark.parametrize(
    ("share", "limit"),
    [pytest.param(0.5, 0.01, id="median"), pytest.param(0.95, 0.03, id="95th-percentile")],
)
def test_kv_cache_of_named_tiers_is_within(share: float, limit: float) -> None:
    assert quantile(kv_errors(), share) <= limit


def test_where_all_was_stated_the_cache_is_within_two_percent() -> None:
    assert quantile(kv_errors(stated_only=True), 0.95) <= 0.02


def test_weights_are_right_in_the_middle() -> None:
    shares = [abs(c.weights_share) for c in comparisons() if c.weights_share is not None]

    assert quantile(shares, 0.5) <= 0.0005


def test_weights_are_within_half_a_percent_or_the_page_says_why_not() -> None:
    off = [c for c in comparisons() if abs(c.weights_share or 0.0) > 0.005]

    assert len(off) <= 6
    assert all(c.log.why_weights_off for c in off)


def test_logs_found_later_are_as_near() -> None:
    rows = later_comparisons(load_gpus(), load_models())

    shares = [abs(c.weights_share or 0.0) for _, c in rows]
    assert quantile(shares, 0.5) <= 0.003
    assert [c.log.id for _, c in rows if abs(c.weights_share or 0.0) > 0.005] == ["N03"]
    assert all(c.verdict_right is not False for _, c in rows)


def test_the_section_on_later_logs_keeps_the_first_error() -> None:
    """N16 was planned at 56.19 GiB, and 55.87 are logged."""
    section = later_section(later_comparisons(load_gpus(), load_models()))

    assert "| N16 | zai-org/GLM-4.7-Flash | H100-SXM-80GB x 1 | 0.19.0 | +0.57% |" in section


def test_tokens_follow_from_the_logged_bytes() -> None:
    rows = [c for c in comparisons() if c.token_error is not None]

    exact = [c for c in rows if abs(c.token_error or 0) <= c.token_rounding]
    assert len(rows) - len(exact) <= 2


def test_nothing_is_planned_to_fit_that_failed() -> None:
    crashed = [c.log.id for c in comparisons() if c.verdict_right is False and c.fits]

    assert crashed == []


def test_the_page_says_what_was_left_out_and_why() -> None:
    page = report(comparisons(), NAMED_TIERS)

    left_out = [c for c in comparisons() if c.log.not_comparable]
    assert all(f"- {c.log.id}: {c.log.not_comparable}" in page for c in left_out)


def test_a_quantile_lies_between_its_neighbours() -> None:
    assert quantile([3.0, 1.0, 2.0], 0.75) == 2.5
