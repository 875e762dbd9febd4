"""Whether the numbers of a document that somebody else wrote can be money, shares or counts."""

from decimal import Decimal
from typing import Any, Final

import msgspec

MOST: Final = Decimal("1E12")
LEAST_EXPONENT: Final = -30


def absurd_number(value: Any, where: str = "$") -> str | None:
    """Where the first number stands that is none, infinite or beyond all money; None: nowhere.

    Args:
        value: a msgspec struct, or a list of them.
        where: path of `value` in its document.
    """
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        is_sane = isinstance(exponent, int) and exponent >= LEAST_EXPONENT and abs(value) <= MOST
        return None if is_sane else f"{where} is no amount"
    if isinstance(value, msgspec.Struct):
        pairs = [(f"{where}.{name}", getattr(value, name)) for name in value.__struct_fields__]
    elif isinstance(value, list | tuple):
        pairs = [(f"{where}[{index}]", each) for index, each in enumerate(value)]
    else:
        return None
    return next((found for at, each in pairs if (found := absurd_number(each, at))), None)
