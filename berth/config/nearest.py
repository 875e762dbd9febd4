"""The word that somebody probably meant."""

import difflib
import itertools
from collections.abc import Iterable

LONGEST_WORD = 100
MOST_WORDS = 100
"""More are not worth the comparison."""


def nearest(word: str, valid: Iterable[str]) -> str | None:
    """The valid word closest to `word`, or None if none is close; case and `-_ ` do not count."""
    few = list(itertools.islice(valid, MOST_WORDS))
    by_letters = {_letters(each[:LONGEST_WORD]): each for each in reversed(few)}
    close = difflib.get_close_matches(_letters(word[:LONGEST_WORD]), by_letters, n=1, cutoff=0.6)
    return by_letters[close[0]] if close else None


def did_you_mean(word: str, valid: Iterable[str], otherwise: str) -> str:
    """`did you mean X` if a valid word is close, else what `otherwise` says."""
    close = nearest(word, valid)
    return f"did you mean {close}" if close else otherwise


def _letters(word: str) -> str:
    return word.lower().replace("-", "_").replace(" ", "_")
