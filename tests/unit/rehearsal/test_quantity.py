"""Quantities of Kubernetes as numbers."""

from decimal import Decimal

import pytest

from berth.rehearsal.quantity import amount, fits, pod_requests


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("191450m", Decimal("191.45")),
        ("8", Decimal(8)),
        ("1938410Mi", Decimal(1938410) * 1048576),
        ("20Gi", Decimal(21474836480)),
        ("2k", Decimal(2000)),
        ("0.5", Decimal("0.5")),
    ],
)
def test_amount(text: str, expected: Decimal) -> None:
    assert amount(text) == expected


def test_a_pod_asks_for_the_sum_of_its_containers_and_one_place() -> None:
    """A limit without a request is a request, as the API server makes it."""
    spec = {
        "containers": [
            {"resources": {"requests": {"cpu": "500m"}, "limits": {"nvidia.com/gpu": "2"}}},
            {"resources": {"requests": {"cpu": "1500m"}}},
            {},
        ]
    }

    assert pod_requests(spec) == {
        "cpu": Decimal(2),
        "nvidia.com/gpu": Decimal(2),
        "pods": Decimal(1),
    }


def test_what_a_node_lacks_altogether_does_not_fit() -> None:
    assert not fits({"nvidia.com/gpu": Decimal(1)}, {"cpu": Decimal(8)})
    assert fits({"nvidia.com/gpu": Decimal(0)}, {})
