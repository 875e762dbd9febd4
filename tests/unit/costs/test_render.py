"""The table that a person reads, whole."""

from pathlib import Path
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.costs.from_plan import estimate
from berth.costs.render import estimate_lines
from tests.unit.planner.stacks import a_70b, an_h100_tier, planned

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(
    ("name", "stack"),
    [
        pytest.param("on_demand", {}, id="on demand"),
        pytest.param(
            "block",
            {
                "environment": "prod",
                "tiers": {"h100": an_h100_tier()},
                "models": {"chat": a_70b(replicas=4)},
            },
            id="a block, paid once",
        ),
        pytest.param("at_least", {"region": "us-west-2"}, id="prices missing"),
    ],
)
def test_the_table_reads_as_before(name: str, stack: dict[str, Any]) -> None:
    lines = estimate_lines(estimate(planned(**stack), load_catalog()))

    assert "\n".join(lines) + "\n" == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
