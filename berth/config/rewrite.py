"""Validation errors in the author's words: the value given, the value wanted, the nearest key."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from berth.config.document import Document, Secret, names_a_secret
from berth.config.nearest import did_you_mean, nearest
from berth.config.problems import Path, Problem, plain
from berth.config.shape import Place, choice_of, homes_of, keys_of, name_place, place_of

InFile = Callable[[Path], Path]
"""From a path in the vocabulary to the path in the file."""


class Rewriter:
    """Turns the errors of one validation into problems with their place in the file."""

    def __init__(
        self,
        model: type[BaseModel],
        document: Document,
        in_file: InFile,
        also_at_the_top: Sequence[str] = (),
    ) -> None:
        self._model = model
        self._document = document
        self._in_file = in_file
        self._also_at_the_top = also_at_the_top
        self.unknown_keys: list[Path] = []
        """Paths in the file of the keys that the vocabulary does not have."""

    def problems(self, error: ValidationError) -> list[Problem]:
        """Every error that the author can act on, in the order found."""
        found = error.errors(include_url=False)
        problems = (self._problem(each["type"], each["loc"], dict(each)) for each in found)
        return [problem for problem in problems if problem is not None]

    def _problem(
        self, kind: str, location: Sequence[str | int], error: Mapping[str, Any]
    ) -> Problem | None:
        value, limits = error["input"], error.get("ctx", {})
        if kind == "extra_forbidden":
            return self._unknown_key(place_of(self._model, location), value)
        if location and location[-1] == "[key]":
            place = name_place(self._model, location[:-1])
        else:
            place = place_of(self._model, location)
        if kind == "missing":
            return self._missing(place)
        if kind in ("union_tag_invalid", "union_tag_not_found"):
            return self._no_branch(place, value)
        if isinstance(value, Secret):
            return None  # told as a secret
        if kind == "too_short" and value:
            return None  # an item of it is wrong, and told as such
        return self._at(place.path, *self._wrong_value(kind, place, value, limits))

    def _unknown_key(self, place: Place, value: object) -> Problem:
        self.unknown_keys.append(self._in_file(place.path))
        key, beside = str(place.path[-1]), place.model or self._model
        what = f"unknown key, value {self._shown(place.path, value)}"
        elsewhere = [each for each in place.siblings if key in keys_of(each)]
        valid = [self._name(place.path[:-1], each) for each in keys_of(beside)]
        valid += self._also_at_the_top if len(place.path) == 1 else ()
        name, homes = self._name(place.path[:-1], key), homes_of(key, beside)
        if elsewhere:
            return self._at(place.path, what, _where_else(elsewhere))
        if homes and nearest(name, valid) is None:
            return self._at(place.path, what, f"move it below {homes[0]}")
        otherwise = f"remove it, or use one of {', '.join(valid)}"
        return self._at(place.path, what, did_you_mean(name, valid, otherwise))

    def _missing(self, place: Place) -> Problem:
        name = self._name(place.path[:-1], str(place.path[-1]))
        wanted = place.words if len(place.literals) == 1 else f"<{place.words}>"
        return self._at(place.path, "missing", f"add {name}: {wanted}")

    def _no_branch(self, place: Place, value: object) -> Problem | None:
        """No model has the value given for the key that chooses between them."""
        choices = [choice for each in place.branches if (choice := choice_of(each))]
        key, names = choices[0][0], [name for _, name in choices]
        path = (*place.path, key)
        if not isinstance(value, Mapping) or key not in value:
            return self._at(path, "missing", f"add {key}: <{' or '.join(names)}>")
        if isinstance(value[key], Secret):
            return None
        return self._at(path, *self._not_one_of(path, value[key], names))

    def _wrong_value(
        self, kind: str, place: Place, value: object, limits: Mapping[str, Any]
    ) -> tuple[str, str]:
        shown, words = self._shown(place.path, value), place.words
        if value is None:
            example = f", such as {place.example}" if not place.literals else ""
            return "has no value", f"give {words}{example}"
        if place.literals:
            return self._not_one_of(place.path, value, place.literals)
        if kind == "too_short":
            return "is empty", f"give {words}, such as {place.example}"
        if kind == "too_long" and isinstance(value, list):
            most = limits["max_length"]
            return f"has {len(value)} values, more than {most}", f"remove {len(value) - most}"
        bound = _out_of_bounds(kind, limits)
        if bound:
            return f"{shown} {bound[0]}", bound[1]
        if kind == "string_type" and isinstance(value, bool | int | float):
            in_full = self._in_file(place.path) in self._document.written
            fix = f'write "{shown}"' if in_full else f'put it in quotes, as in "{place.example}"'
            return f"{shown} without quotes is not text", fix
        if kind in ("int_type", "float_type") and _is_number(value):
            return f'"{shown}" in quotes is text, not {words}', f"write {shown} without quotes"
        meant = limits.get("meant")
        fix = f"did you mean {meant}" if meant else f"write one such as {place.example}"
        return f"{shown} is not {words}", fix

    def _not_one_of(self, path: Path, value: object, valid: Sequence[str]) -> tuple[str, str]:
        if value is None:
            return "has no value", f"give {' or '.join(valid)}"
        what = f"{self._shown(path, value)} is not {' or '.join(valid)}"
        otherwise = f"write {' or '.join(valid)}"
        return what, did_you_mean(value, valid, otherwise) if isinstance(value, str) else otherwise

    def _at(self, path: Path, what: str, fix: str) -> Problem:
        return Problem(self._in_file(path), what, fix)

    def _name(self, above: Path, key: str) -> str:
        """A key as it is written there: with its prefix at the top, plain below."""
        return plain(str(self._in_file((*above, key))[-1]))

    def _shown(self, path: Path, value: object) -> str:
        """A value in few characters, scalars as they stand in the file."""
        if isinstance(value, Secret) or (path and names_a_secret(str(path[-1]))):
            return "a secret"
        if isinstance(value, Mapping):
            return f"a mapping of {_counted(len(value), 'key')}"
        if isinstance(value, list):
            return f"a list of {_counted(len(value), 'value')}"
        written = self._document.written.get(self._in_file(path))
        if written is not None and value is not None:
            return plain(written)
        if value is None or value == "":
            return "nothing"
        return plain(str(value).lower() if isinstance(value, bool) else str(value))


def _where_else(models: Sequence[type[BaseModel]]) -> str:
    """What would make a key right that other models of the place have."""
    choices = [choice for model in models if (choice := choice_of(model))]
    if choices:
        return f"set {choices[0][0]}: {' or '.join(name for _, name in choices)}, or remove it"
    needed = [key for key, field in models[0].model_fields.items() if field.is_required()]
    return f"remove it, or give only {', '.join(needed)}"


def _out_of_bounds(kind: str, limits: Mapping[str, Any]) -> tuple[str, str] | None:
    """What is wrong and what to change, for a value of the right kind outside its bounds."""
    match kind:
        case "greater_than_equal":
            return f"is below {limits['ge']:.0f}", f"give {limits['ge']:.0f} or more"
        case "greater_than":
            return f"is not above {limits['gt']:.0f}", f"give more than {limits['gt']:.0f}"
        case "less_than_equal":
            return f"is above {limits['le']:.0f}", f"give {limits['le']:.0f} or less"
        case "decimal_max_places":
            places = limits["decimal_places"]
            return f"has more than {places} decimal places", f"round it to {places}"
        case "string_too_long":
            most = limits["max_length"]
            return f"is longer than {most} characters", "shorten it"
        case "timezone_aware":
            return "has no time zone", "append Z for UTC, or an offset such as +01:00"
    return None


def _is_number(value: object) -> bool:
    if not isinstance(value, str):
        return False
    return value.replace(".", "", 1).isdecimal()


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
