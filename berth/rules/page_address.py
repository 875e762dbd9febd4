"""Where the page of a rule can be read."""

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Final

_PAGES: Final = Path(__file__).parents[2] / "docs" / "rules"


def page_address(rule_id: str) -> str | None:
    """Address of a rule's page: on the web if the distribution names one, else in the checkout."""
    published = _published_pages()
    if published:
        return f"{published.rstrip('/')}/{rule_id}.md"
    path = _PAGES / f"{rule_id}.md"
    return path.as_uri() if path.is_file() else None


def is_on_the_web(address: str | None) -> bool:
    """Whether others can follow it too."""
    return address is not None and address.startswith("https://")


@cache
def _published_pages() -> str | None:
    """The address called `Rules` in the project's metadata, which a release gives it."""
    try:
        addresses = metadata("berth-gpu").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    named = dict(entry.split(", ", 1) for entry in addresses if ", " in entry)
    return named.get("Rules")
