"""What is wrong with a stack file: one line per problem, in the author's own words and order."""

from collections.abc import Sequence
from dataclasses import dataclass

Path = tuple[str | int, ...]
"""Keys and list positions from the top of the file, such as ("config", "berth:tiers", "l4")."""

MOST_CHARACTERS_SHOWN = 40
"""Of a key or value from the file in a message."""


class ConfigError(ValueError):
    """The stack file cannot be read as a stack.

    Each line says where, what is wrong with the value given, and what to change.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and how to put it right."""

    path: Path
    what: str
    fix: str


def one_line(text: str) -> str:
    """The text without line breaks, control characters and halves of characters."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def plain(text: str) -> str:
    """The text on one line and not too long for a message."""
    shown = one_line(text[: MOST_CHARACTERS_SHOWN + 1])
    if len(shown) <= MOST_CHARACTERS_SHOWN:
        return shown
    return shown[: MOST_CHARACTERS_SHOWN - 3] + "..."


def dotted(path: Path) -> str:
    """The path as the author would say it: `berth:tiers.l4.max_nodes`, without `config`."""
    keys = path[1:] if path[:1] == ("config",) and len(path) > 1 else path
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{plain(key)}"
    return text.removeprefix(".")
