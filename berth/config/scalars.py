"""What one unquoted YAML word means: the reading of Pulumi, which is YAML 1.2 with few extras.

So `on` and `no` are text, `12:30` is text, and days and times stay text. Spellings of numbers
that readers take for another number (`010` is 8) are refused instead of read.
"""

import re

_NOTHING = {"", "~", "null", "Null", "NULL"}
_YES = {"true", "True", "TRUE"}
_NO = {"false", "False", "FALSE"}
_WHOLE = re.compile(r"[-+]?[0-9]+")
_FRACTION = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_UNUSUAL = re.compile(
    r"[-+]?(0[0-9_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|0b[01_]+|[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?"
    r"|\.(inf|Inf|INF))|\.(nan|NaN|NAN)"
)
MOST_DIGITS = 18
"""Longer whole numbers lose digits on their way through Pulumi."""


class UnusualNumberError(ValueError):
    """A number in a spelling that would surprise."""


def meaning(word: str) -> str | int | float | bool | None:
    """The value that an unquoted word stands for.

    Raises:
        UnusualNumberError: for octal, hexadecimal and binary numbers, digits with `_`, infinity
            and not-a-number.
    """
    if word in _NOTHING:
        return None
    if word in _YES or word in _NO:
        return word in _YES
    if _UNUSUAL.fullmatch(word):
        raise UnusualNumberError(word)
    if _WHOLE.fullmatch(word) and len(word) <= MOST_DIGITS:
        return int(word)
    return float(word) if _FRACTION.fullmatch(word) else word
