"""Quantities as Kubernetes writes them, and what accelerators are called."""

from decimal import Decimal
from typing import Any

import pytest

from berth.rules.stack_view.accelerators import (
    is_accelerator_key,
    is_whole,
    mig_profile,
    parse_quantity,
    quantity_gib,
    vendor_of_key,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", "1"), (1, "1"), (2.0, "2"), (" 4 ", "4"), ("0", "0"), ("+3", "3"), ("-1", "-1"),
        ("500m", "0.5"), ("1u", "0.000001"), ("1n", "0.000000001"), ("1.5", "1.5"), (".5", "0.5"),
        ("5.", "5"), ("1k", "1000"), ("1Ki", "1024"), ("1M", "1000000"), ("1Mi", "1048576"),
        ("1G", "1000000000"), ("1Gi", "1073741824"), ("1T", "1000000000000"),
        ("1Ti", "1099511627776"), ("1P", "1000000000000000"), ("1Pi", "1125899906842624"),
        ("1e3", "1000"), ("1E3", "1000"),
    ],
)  # fmt: skip
def test_quantities(text: Any, value: str) -> None:
    assert parse_quantity(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    ["", "x", "1 Gi", "1gi", "1Kb", "1K", True, False, None, [1], "1e999", "9e24", "-9e24", "--1"],
)
def test_what_is_no_quantity(text: Any) -> None:
    assert parse_quantity(text) is None


@pytest.mark.parametrize(
    ("quantity", "expected"), [("0", True), ("2", True), ("0.5", False), ("-1", False)]
)
def test_devices_are_counted_whole(quantity: str, expected: bool) -> None:
    assert is_whole(Decimal(quantity)) is expected


@pytest.mark.parametrize(
    ("text", "gib"), [("16Gi", 16.0), ("512Mi", 0.5), (2**30, 1.0), ("much", None)]
)
def test_bytes_in_gib(text: Any, gib: float | None) -> None:
    assert quantity_gib(text) == gib


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-1g.10gb", True),
        ("amd.com/gpu", True),
        ("aws.amazon.com/neuron", True),
        ("cpu", False),
        ("nvidia.com/gpumem", False),
        ("vpc.amazonaws.com/efa", False),
    ],
)
def test_accelerator_keys(key: str, expected: bool) -> None:
    assert is_accelerator_key(key) is expected


@pytest.mark.parametrize(
    ("key", "vendor"),
    [("nvidia.com/gpu", "nvidia"), ("nvidia.com/mig-1g.10gb", "nvidia"), ("amd.com/gpu", "amd"),
     ("aws.amazon.com/neuron", "neuron")],
)  # fmt: skip
def test_makers_by_key(key: str, vendor: str) -> None:
    assert vendor_of_key(key) == vendor


@pytest.mark.parametrize(
    ("key", "profile"),
    [("nvidia.com/mig-1g.10gb", "1g.10gb"), ("nvidia.com/mig-1g.10gb.me", "1g.10gb"),
     ("nvidia.com/mig-1g.10gb+me", "1g.10gb"), ("nvidia.com/gpu", None)],
)  # fmt: skip
def test_profiles_of_mig_devices(key: str, profile: str | None) -> None:
    assert mig_profile(key) == profile
