"""Amounts as text: rounded only here, at the very end."""

from decimal import Decimal

_CENT = Decimal("0.01")


def exact(usd: Decimal) -> str:
    """Every digit of a list price, two decimals at least."""
    plain = usd.normalize()
    return f"{plain.quantize(_CENT) if plain == plain.quantize(_CENT) else plain:f}"


def to_the_last_digit(usd: Decimal) -> str:
    """Up to ten decimals, two at least: what programs add up."""
    return exact(usd.quantize(Decimal("1E-10")))


def per_hour(usd: Decimal) -> str:
    """Up to four decimals, two at least: small prices per hour are large ones per month."""
    return exact(usd.quantize(Decimal("0.0001")))


def cents(usd: Decimal) -> str:
    """Two decimals."""
    return f"{usd.quantize(_CENT):f}"


def with_commas(usd: Decimal) -> str:
    """Two decimals, thousands apart, for a person."""
    return f"{usd.quantize(_CENT):,f}"


def amount(quantity: Decimal) -> str:
    """A quantity without trailing zeros."""
    return f"{quantity.normalize():f}"


def signed(usd: Decimal) -> str:
    """Two decimals, four for less than a cent; the sign first and always there but for zero."""
    places = _CENT if abs(usd) >= _CENT or not usd else Decimal("0.0001")
    rounded = usd.quantize(places)
    return f"{rounded:+,f}" if rounded else f"{abs(rounded):,f}"
