"""The models of the catalog, by repository name; each is built when first asked for."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import TypeAdapter

from berth.catalog.entry import Entry, Source
from berth.catalog.model_config import model_from_config
from berth.catalog.model_shape import Model

__all__ = ["Model", "ModelEntry", "Models", "find_model", "load_models"]


class ModelEntry(Entry):
    """One repository: the keys of its `config.json` that decide sizes, as they stand there."""

    config: Mapping[str, Any]
    same_weights: tuple[str, ...] = ()
    """Repositories with the same shapes: base, chat and instruct of a line, mirrors."""
    gated: bool = False
    """The repository asks for a token."""
    evidence: Literal["read", "low"] = "read"
    """`low`: the configuration was not read but put together from what is known of the model."""
    source: Source


class Models(Mapping[str, Model]):
    """Models by repository name, built on demand and kept."""

    def __init__(self, entries: Mapping[str, ModelEntry]) -> None:
        self.entries = entries
        self._entry_of = {name: name for name in entries}
        for name, entry in entries.items():
            self._entry_of |= dict.fromkeys(entry.same_weights, name)
        self._built: dict[str, Model] = {}

    def __getitem__(self, name: str) -> Model:
        if name not in self._built:
            entry = self.entries[self._entry_of[name]]
            model = model_from_config(entry.config, name, entry.source)
            self._built[name] = model.model_copy(update={"gated": entry.gated})
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entry_of)

    def __len__(self) -> int:
        return len(self._entry_of)


@cache
def load_models() -> Mapping[str, Model]:
    """All models of the catalog by repository name."""
    entries: dict[str, ModelEntry] = {}
    adapter = TypeAdapter(dict[str, ModelEntry])
    for path in sorted(files(__package__).joinpath("models").iterdir(), key=lambda p: p.name):
        if path.name.endswith(".yaml"):
            data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
            entries |= adapter.validate_python(data)
    return Models(entries)


def find_model(models: Mapping[str, Model], name: str) -> str:
    """The repository called `name`, in any case, with or without its owner.

    Raises:
        LookupError: if nothing is called so; the text names the nearest model.
    """
    wanted = name.casefold().strip()
    full = {key.casefold(): key for key in models}
    if wanted in full:
        return full[wanted]
    short: dict[str, str] = {}
    for key, entry in full.items():
        short.setdefault(key.partition("/")[2], entry)
    if wanted in short:
        return short[wanted]
    near = get_close_matches(wanted, [*full, *short], n=1, cutoff=0.5)
    hint = (
        f"the nearest is {full.get(near[0]) or short[near[0]]}"
        if near
        else "see `berth catalog models`"
    )
    raise LookupError(f"no model is called {name[:80]}; {hint}, or give its config.json")
