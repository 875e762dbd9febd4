"""Lists of module names in configurations: names, prefixes, `*` patterns and `re:` patterns."""

import re
from collections.abc import Iterable
from functools import lru_cache

from berth.catalog.config_values import ConfigValues

ROOTS = ("model.", "model.language_model.", "language_model.model.", "backbone.", "")
"""What stands before `layers.0` in the checkpoints of different families."""
MAX_QUANTIFIERS = 4
_QUANTIFIER = re.compile(r"(?<!\\)[*+{]")
_NESTED = re.compile(r"[*+}]\)[*+{]")


class ModuleNames:
    """Answers whether a list of names covers a module, given as `layers.0.mlp.up_proj`."""

    def __init__(self, names: Iterable[str], values: ConfigValues, key: str) -> None:
        self._exact: set[str] = set()
        self._words: set[str] = set()
        self._patterns: list[re.Pattern[str]] = []
        for name in names:
            self._add(name, values, key)
        self._covers = lru_cache(maxsize=None)(self._search)

    def __contains__(self, module: str) -> bool:
        return self._covers(module)

    def _add(self, name: str, values: ConfigValues, key: str) -> None:
        pattern = name.removeprefix("re:")
        if pattern == name and "*" not in name:
            bare = _without_root(name)
            (self._exact if "." in bare or bare == name else self._words).add(bare)
            if "." not in bare:
                self._words.add(bare)
            return
        if pattern == name:
            pattern = re.escape(name).replace(r"\*", ".*") + r"(\.|$)"
        if len(_QUANTIFIER.findall(pattern)) > MAX_QUANTIFIERS or _NESTED.search(pattern):
            values.refuse(
                key,
                f"{name[:60]} is too complex a pattern",
                f"use at most {MAX_QUANTIFIERS} wildcards",
            )
            return
        try:
            self._patterns.append(re.compile(pattern))
        except re.error as error:
            values.refuse(key, f"{name[:60]} is no pattern: {error}", "write a regular expression")

    def _search(self, module: str) -> bool:
        parts = module.split(".")
        if any(".".join(parts[:end]) in self._exact for end in range(1, len(parts) + 1)):
            return True
        if self._words.intersection(parts):
            return True
        full = [root + module for root in ROOTS]
        return any(pattern.match(name) for pattern in self._patterns for name in full)


def _without_root(name: str) -> str:
    start = name.find("layers.")
    return name[start:] if start >= 0 else name
