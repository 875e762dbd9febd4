"""A stack file as plain values, and where in the file each of them stands."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from berth.config.problems import ConfigError, Path, Problem, dotted

DEEPEST_NESTING: Final = 40
"""Levels; a stack file has 6."""
MOST_LINES: Final = 100
"""Problems shown at once."""

_SECRET_WORDS: Final = ("secure", "secret", "token", "password", "credential", "apikey")
_TYPO: Final = 0.8
"""Likeness of two words that differ in one letter of six."""


class Secret:
    """Stands for a `secure:` value, which is never read and never shown."""


SECRET: Final = Secret()


def names_a_secret(key: str) -> bool:
    """Whether what stands below the key should not reach a log: `hf_token`, `secrue`."""
    words = [word for word in re.split(r"[^a-z]+", key[:40].lower()) if word != "tokens"]
    return any(
        difflib.SequenceMatcher(None, word, secret).ratio() >= _TYPO
        for word in words
        for secret in _SECRET_WORDS
    )


@dataclass(slots=True)
class Document:
    """Values by path, in the order of the file.

    Filled by a reader, which also notes the problems that it meets on its way.
    """

    file: str
    values: object = None
    lines: dict[Path, int | None] = field(default_factory=dict)
    """Line of each key or list item, None where it is not known; the order is the file's."""
    written: dict[Path, str] = field(default_factory=dict)
    """Text of each plain scalar as it stands in the file."""
    secrets: list[Path] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, problems: list[Problem]) -> ConfigError:
        """All problems as one error, ordered as in the file."""
        order = {path: number for number, path in enumerate(self.lines)}

        def place(problem: Problem) -> tuple[int, int]:
            known = self._known(problem.path)
            return self.lines.get(known) or 0, order.get(known, -1)

        ordered = sorted(problems, key=place)
        lines = list(dict.fromkeys(self._line(problem) for problem in ordered))
        if len(lines) > MOST_LINES:
            more = f"{self.file}: {len(lines) - MOST_LINES} more problems; change these first"
            lines = [*lines[:MOST_LINES], more]
        return ConfigError(lines)

    def place(self, path: Path) -> str:
        """File and line of the value, or of the nearest one above it that is there."""
        line = self.lines.get(self._known(path))
        return self.file if line is None else f"{self.file}:{line}"

    def _line(self, problem: Problem) -> str:
        where = self.place(problem.path)
        if problem.path:
            where += f": {dotted(problem.path)}"
        return f"{where}: {problem.what}; {problem.fix}"

    def _known(self, path: Path) -> Path:
        """The path itself, or the nearest one above it that is in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return path


def document_of(values: Mapping[str, object], file: str) -> Document:
    """A document of values that are already decoded, where no line is known."""
    document = Document(file)
    document.values = _note(values, (), document)
    return document


def _note(value: object, path: Path, document: Document) -> object:
    document.lines[path] = None
    if len(path) > DEEPEST_NESTING:
        raise document.refuse([too_deep(path)])
    if isinstance(value, Mapping):
        if "secure" in value:
            document.secrets.append(path)
            return SECRET
        for key in value:
            check_characters(str(key), path, document)
        return {str(key): _note(item, (*path, str(key)), document) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_note(item, (*path, index), document) for index, item in enumerate(value)]
    if isinstance(value, str):
        check_characters(value, path, document)
    return value


def too_deep(path: Path) -> Problem:
    """Nesting that no stack needs, which would only exhaust the reader."""
    return Problem(
        path[:2],
        f"nested more than {DEEPEST_NESTING} levels deep",
        "a stack needs 6; remove the extra levels",
    )


def check_characters(text: str, path: Path, document: Document) -> None:
    """Refuse halves of surrogate pairs, which are no characters and cannot be printed."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        half = "half of a surrogate pair, which is no character"
        raise document.refuse([Problem(path, half, "write the character itself")])
