"""Error texts that people meet, and the rules that find their causes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml


@dataclass(frozen=True, slots=True)
class ErrorText:
    """One text, what it means, and the rules that find why, the likeliest first."""

    text: str
    means: str
    rules: tuple[str, ...]

    def is_in(self, message: str) -> bool:
        """Whether a message has the text, however it is broken into lines."""
        return re.search(self.text, " ".join(message.split()), re.IGNORECASE) is not None


@cache
def load_error_texts() -> Sequence[ErrorText]:
    """All texts that are known."""
    text = files("berth.rules").joinpath("error_texts.yaml").read_text("utf-8")
    entries = yaml.load(text, Loader=yaml.CSafeLoader)
    return tuple(ErrorText(e["text"], e["means"], tuple(e["rules"])) for e in entries)


def explained_by(message: str) -> list[ErrorText]:
    """The known texts that a message has."""
    return [entry for entry in load_error_texts() if entry.is_in(message)]
