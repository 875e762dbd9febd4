"""Amounts as text."""

from decimal import Decimal

import pytest

from berth.costs.money import amount, cents, exact, per_hour, with_commas


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        pytest.param("55.04", "55.04", id="two"),
        pytest.param("55.0400", "55.04", id="no trailing zeros"),
        pytest.param("21.957642", "21.957642", id="every digit"),
        pytest.param("0.1", "0.10", id="two at least"),
        pytest.param("100", "100.00", id="whole"),
        pytest.param("0", "0.00", id="nothing"),
    ],
)
def test_a_list_price_keeps_its_digits(usd: str, text: str) -> None:
    assert exact(Decimal(usd)) == text


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        pytest.param("0.8048", "0.8048", id="four"),
        pytest.param("0.02191780821917808", "0.0219", id="rounded to four"),
        pytest.param("55.64", "55.64", id="no more than needed"),
        pytest.param("1E+3", "1000.00", id="never in powers"),
    ],
)
def test_an_hour_has_up_to_four_decimals(usd: str, text: str) -> None:
    assert per_hour(Decimal(usd)) == text


def test_a_month_has_two_decimals() -> None:
    assert cents(Decimal("40617.2")) == "40617.20"
    assert with_commas(Decimal("132148.8")) == "132,148.80"


def test_a_quantity_has_no_trailing_zeros() -> None:
    assert amount(Decimal("400.00")) == "400"
