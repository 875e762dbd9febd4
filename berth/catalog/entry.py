"""What every entry of the catalog shares: strictness, and where its facts were read."""

from datetime import date
from typing import Self

from pydantic import BaseModel, ConfigDict, HttpUrl, model_validator


class Entry(BaseModel):
    """A catalog entry: it never changes once read, and an unknown key is an error."""

    # Built when first read: a command touches a few kinds of entry, and every start pays for all.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Source(Entry):
    """Where a fact was read, and the day someone last looked."""

    url: HttpUrl | None = None
    """The page, where it has an address."""
    cite: str | None = None
    """The document in words, where it has none."""
    checked: date

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if self.url is None and not self.cite:
            raise ValueError("names neither url nor cite; give the page or the document")
        return self
