"""Start-up times and budgets, worked out by hand."""

import pytest

from berth.planner.startup import plan_startup, startup_budget_s

GIB = 1024**3


@pytest.mark.parametrize(
    ("weights_bytes", "bytes_per_s", "cold", "budget_s"),
    [
        pytest.param(15 * GIB, 0.2e9, True, 1800, id="a small model cold: the floor"),
        pytest.param(15 * GIB, 2e9, False, 600, id="a small model from disk: the other floor"),
        pytest.param(200e9, 0.2e9, True, 2300, id="200 GB at 0.2 GB/s twice, and 300 s"),
        pytest.param(300 * GIB, 100e9, False, 1020, id="120 s and 3 s for each of 300 GiB"),
    ],
)
def test_the_budget_is_the_larger_of_both_rules(
    weights_bytes: float, bytes_per_s: float, cold: bool, budget_s: int
) -> None:
    assert startup_budget_s(int(weights_bytes), bytes_per_s, cold=cold) == budget_s


def test_the_parts_of_a_start_add_up() -> None:
    # 20 GB at 0.2 GB/s
    startup = plan_startup(20_000_000_000)

    assert startup.weights_s == 100
    assert startup.total_s == startup.image_s + 100 + startup.compile_and_graphs_s
    assert startup.total_s <= startup.budget_s
