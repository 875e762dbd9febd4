"""Values that a stack does not give: those known after apply, and those kept elsewhere."""

from typing import Final


class Unknown:
    """A value that the cloud assigns: it is known after apply. There is one, `UNKNOWN`."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __deepcopy__(self, memo: object) -> "Unknown":
        """It stays the only one, also in a copy of properties."""
        return self

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false; compare it with UNKNOWN first")


UNKNOWN: Final = Unknown()


class KnownAfterApplyError(Exception):
    """A rule needs a field whose value is known after apply. Caught where rules are run."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field
