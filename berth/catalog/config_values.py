"""A Hugging Face `config.json` as checked values: whatever is wrong is collected, not raised."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from berth.catalog.modelopt_file import MODELOPT_FILE, needs_modelopt_file, with_modelopt_file

MAX_BYTES = 4 * 1024 * 1024
"""The largest real configurations (long lists of unquantized layers) have 0.1 MB."""


class ModelConfigError(ValueError):
    """A configuration that cannot be read as a model; one line per problem."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(dict.fromkeys(lines))
        super().__init__("\n".join(self.lines))


class ConfigValues:
    """One level of a configuration; a bad value is noted in `errors`, a harmless one returned."""

    def __init__(self, data: Mapping[str, Any], where: str, errors: list[str]) -> None:
        self.data = data
        self.where = where
        self.errors = errors

    def refuse(self, key: str, problem: str, fix: str) -> None:
        """Note one problem."""
        self.errors.append(f"{self.where}: {key}: {problem}; {fix}")

    def has(self, key: str) -> bool:
        """Whether `key` is there and not null."""
        return self.data.get(key) is not None

    def integer(
        self, *keys: str, default: int | None = None, low: int = 1, high: int = 1 << 24
    ) -> int:
        """The first of `keys` that is there, as a whole number from `low` to `high`."""
        for key in keys:
            value = self.data.get(key)
            if value is None:
                continue
            if isinstance(value, float) and value.is_integer():
                value = int(value)  # 4096.0, as some tools write it
            if isinstance(value, bool) or not isinstance(value, int):
                self.refuse(key, f"{_shown(value)} is no whole number", f"give {low} to {high}")
            elif not low <= value <= high:
                self.refuse(key, f"{_shown(value)} is out of range", f"give {low} to {high}")
            else:
                return value
            return low
        if default is None:
            self.refuse(keys[0], "is missing", f"add it, a whole number from {low} to {high}")
            return low
        return default

    def text(self, key: str, default: str = "") -> str:
        """Text under `key`."""
        value = self.data.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            self.refuse(key, f"{_shown(value)} is no text", "put it in quotes")
            return default
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false under `key`."""
        value = self.data.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.refuse(key, f"{_shown(value)} is neither true nor false", "give one of them")
            return default
        return value

    def integers(self, key: str, *, low: int = 0, high: int = 1 << 24) -> tuple[int, ...]:
        """A list of whole numbers under `key`; empty where there is none."""
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(
            isinstance(v, int) and not isinstance(v, bool) and low <= v <= high for v in value
        ):
            self.refuse(key, "is no list of whole numbers", f"give numbers from {low} to {high}")
            return ()
        return tuple(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts under `key`; empty where there is none."""
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            self.refuse(key, "is no list of texts", "give texts")
            return ()
        return tuple(value)

    def section(self, key: str) -> "ConfigValues":
        """The mapping under `key`; an empty one where there is none."""
        value = self.data.get(key)
        if value is None:
            value = {}
        elif not isinstance(value, dict):
            self.refuse(key, f"{_shown(value)} is no mapping", "give keys and values")
            value = {}
        return ConfigValues(value, f"{self.where}: {key}", self.errors)


def read_config_file(path: Path) -> Mapping[str, Any]:
    """The JSON object in `path`, with the format from ModelOpt's file beside a `config.json`.

    Raises:
        ModelConfigError: if a file is missing, too large, nested too deep or no JSON object.
    """
    config = _read(path)
    beside = path.with_name(MODELOPT_FILE)
    if path.name == "config.json" and needs_modelopt_file(config) and beside.exists():
        return with_modelopt_file(config, _read(beside))
    return config


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = _content(path)
    except OSError as error:
        problem = (error.strerror or "cannot be read").lower()
        raise _refusal(path, problem, "name a config.json") from None
    if len(content) > MAX_BYTES:
        raise _refusal(path, f"has more than {MAX_BYTES} bytes", "name a config.json")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise _refusal(path, "is no UTF-8 text", "name a config.json") from None
    return parse_config(text, str(path))


def _content(path: Path) -> bytes:
    """The first bytes of a file, one more than a configuration may have; a device never ends."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise _refusal(path, "is no regular file", "name a config.json")
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def parse_config(text: str, where: str) -> Mapping[str, Any]:
    """The JSON object in `text`.

    Raises:
        ModelConfigError: as `read_config_file`.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise _refusal(
            where, "is nested too deep", "a config.json has a handful of levels"
        ) from None
    except json.JSONDecodeError as error:
        problem = f"is no JSON: {error.msg.lower()} in line {error.lineno}, column {error.colno}"
        raise _refusal(where, problem, "fetch the file again") from None
    except ValueError:  # more digits than Python converts
        problem = "has a number of thousands of digits"
        raise _refusal(where, problem, "give numbers that a model can have") from None
    if not isinstance(data, dict):
        raise _refusal(where, "holds no object", "a config.json is one object of keys and values")
    return data


def _refusal(where: object, problem: str, fix: str) -> ModelConfigError:
    return ModelConfigError([f"{where}: {problem}; {fix}"])


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:37]}..."
