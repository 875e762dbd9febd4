"""The models of the catalog, by repository name; each is built when first asked for."""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
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
    """Models by repository name; a file is read, and a model built, when first asked for."""

    def __init__(self, files: Iterable[Traversable]) -> None:
        """Take one YAML file per owner, named for it."""
        self._unread = {path.name.removesuffix(".yaml"): path for path in files}
        self._entries: dict[str, ModelEntry] = {}
        self._entry_of: dict[str, str] = {}
        self._built: dict[str, Model] = {}

    @property
    def entries(self) -> Mapping[str, ModelEntry]:
        """All entries, each by its main name."""
        self._read_all()
        return self._entries

    def __getitem__(self, name: str) -> Model:
        if name not in self._built:
            entry = self._entries[self._main_name(name)]
            model = model_from_config(entry.config, name, entry.source)
            self._built[name] = model.model_copy(update={"gated": entry.gated})
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and bool(self._main_name(name))
        except KeyError:
            return False

    def __iter__(self) -> Iterator[str]:
        self._read_all()
        return iter(self._entry_of)

    def __len__(self) -> int:
        self._read_all()
        return len(self._entry_of)

    def find(self, name: str) -> str | None:
        """The repository called `name` in lower case, with or without its owner, or None.

        Only files that have the name are read, since a command asks for one model of many.
        """
        written = re.compile(rf"/{re.escape(name.rpartition('/')[2])}(?![\w.-])", re.IGNORECASE)
        for owner, path in sorted(self._unread.items()):
            if written.search(path.read_text(encoding="utf-8")):
                self._read(owner)
        full = {key.casefold(): key for key in self._entry_of}
        alike = [key for key in full.values() if key.partition("/")[2].casefold() == name]
        return full.get(name) or min(alike, key=self._rank, default=None)

    def _rank(self, name: str) -> tuple[bool, bool, str]:
        """Repositories with an entry of their own first, then those of the same owner."""
        owner = self._entry_of[name].partition("/")[0]
        return name not in self._entries, not name.startswith(f"{owner}/"), name

    def _main_name(self, name: str) -> str:
        """The entry of a repository; a mirror's may stand in the file of another owner."""
        self._read(name.partition("/")[0])
        if name not in self._entry_of:
            self._read_all()
        return self._entry_of[name]

    def _read_all(self) -> None:
        for owner in sorted(self._unread):
            self._read(owner)

    def _read(self, owner: str) -> None:
        path = self._unread.pop(owner, None)
        if path is None:
            return
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        entries = TypeAdapter(dict[str, ModelEntry]).validate_python(data)
        self._entries |= entries
        for name, entry in entries.items():
            self._entry_of |= {name: name} | dict.fromkeys(entry.same_weights, name)


@cache
def load_models() -> Models:
    """All models of the catalog by repository name."""
    folder = files(__package__).joinpath("models")
    return Models(path for path in folder.iterdir() if path.name.endswith(".yaml"))


def find_model(models: Models, name: str) -> str:
    """The repository called `name`, in any case, with or without its owner.

    Raises:
        LookupError: if nothing is called so; the text names the nearest model.
    """
    wanted = name.casefold().strip()
    found = models.find(wanted)
    if found is not None:
        return found
    full = [key.casefold() for key in models]
    short = [key.partition("/")[2] for key in full]
    longer = sorted((each for each in short if wanted and each.startswith(wanted)), key=len)
    near = longer or get_close_matches(wanted, [*full, *short], n=1, cutoff=0.5)
    hint = f"the nearest is {models.find(near[0])}" if near else "see `berth catalog models`"
    raise LookupError(f"no model is called {name[:80]}; {hint}")
