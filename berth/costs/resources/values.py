"""Property values as the engine writes them: marks for what is not known, numbers in any form."""

from collections.abc import Mapping
from typing import Any, Final

UNKNOWN_VALUES: Final = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "030794c1-ac77-496b-92df-f27374a8bd58",
    }
)
"""How Pulumi writes a value that is known after apply (`sdk/go/common/resource/plugin/rpc.go`)."""
SECRET: Final = "[secret]"  # noqa: S105  a mark, not a secret
SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
SECRET_SIGNATURE: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105  a mark, not a secret


class NotShownError(Exception):
    """A value that the price of something depends on is not in the document; the text says why."""


class ImpossibleValueError(NotShownError):
    """A count that cannot be, such as a negative one."""


def at(values: Any, *path: str) -> Any:
    """The value below `values`; of a list, its first item. None where there is none.

    Raises:
        NotShownError: if it, or something on the way to it, is known after apply or a secret.
    """
    for step in path:
        values = _first(known(values))
        if not isinstance(values, Mapping):
            return None
        values = values.get(step)
    return known(values)


def known(value: Any) -> Any:
    """The value itself.

    Raises:
        NotShownError: if it is known after apply or a secret.
    """
    if isinstance(value, str):
        if value in UNKNOWN_VALUES:
            raise NotShownError("known after apply")
        if value == SECRET:
            raise NotShownError("secret")
    if isinstance(value, Mapping) and value.get(SIGNATURE) == SECRET_SIGNATURE:
        raise NotShownError("secret")
    return value


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def items(values: Any, *path: str) -> list[Any]:
    """The list there; one value is a list of one, nothing an empty one.

    Raises:
        NotShownError: if it is known after apply or a secret as a whole.
    """
    found = at(values, *path)
    if found is None:
        return []
    return list(found) if isinstance(found, list) else [found]


def count(values: Any, *path: str) -> int | None:
    """A whole number of things, also where it is written as text; None where there is none.

    Raises:
        NotShownError: if it is not known.
        ImpossibleValueError: if it is no number from 0 to a million.
    """
    found = at(values, *path)
    if found is None or found == "":
        return None
    name = ".".join(path)
    try:
        number = float(found)
    except (TypeError, ValueError):
        raise ImpossibleValueError(f"{name} is {found!r}, which is no number") from None
    if number != number or not 0 <= number <= MOST or number != int(number):
        raise ImpossibleValueError(f"{name} is {found}, which is no count from 0 to {MOST:,}")
    return int(number)


MOST: Final = 1_000_000
"""Above it a count is taken for a mistake."""


def text(values: Any, *path: str) -> str | None:
    """A text; None where there is none, or something else.

    Raises:
        NotShownError: if it is not known.
    """
    found = at(values, *path)
    return found if isinstance(found, str) and found else None


def truth(values: Any, *path: str) -> bool:
    """Whether it is true, also where it is written as text; false where there is nothing.

    Raises:
        NotShownError: if it is not known.
    """
    return at(values, *path) in (True, "true")
