"""Which part of the vocabulary a place in a stack file belongs to."""

import types
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Tag

from berth.config.problems import Path
from berth.config.wanted import Wanted

Model = type[BaseModel]


@dataclass(frozen=True, slots=True)
class Place:
    """One place: its path in the author's keys, and what belongs there."""

    path: Path
    words: str
    """What belongs there; empty for keys that the vocabulary does not have."""
    example: str
    literals: tuple[str, ...] = ()
    """The only values, where there are few."""
    model: Model | None = None
    """For an unknown key: whose keys stand beside it."""
    siblings: tuple[Model, ...] = ()
    """For an unknown key: what could stand there instead of `model`."""
    branches: tuple[Model, ...] = ()
    """For a place where one of several models may stand: these."""


def place_of(model: Model, location: Sequence[str | int]) -> Place:
    """The place that pydantic calls `location`, which names union branches besides keys."""
    path: Path = ()
    annotation: Any = model
    union: Any = None
    for step in location:
        kind = _bare(annotation)
        if _is_union(kind):
            union, annotation = annotation, _branch(kind, step)
            continue
        path = (*path, step)
        if _is_model(kind):
            if step not in kind.model_fields:
                siblings = tuple(each for each in _models_in(union) if each is not kind)
                return Place(path, "", "", model=kind, siblings=siblings)
            annotation = _hints(kind)[str(step)]
        else:
            annotation = get_args(kind)[1 if get_origin(kind) is dict else 0]
        union = None
    return _described(path, annotation, union)


def name_place(model: Model, location: Sequence[str | int]) -> Place:
    """The place of a name, the last step of `location`, whose spelling is wrong."""
    mapping: Any = model
    for step in location[:-1]:
        mapping = _hints(_bare(mapping))[str(step)]
    names = get_args(_bare(mapping))[0]
    return _described(tuple(location), names, None)


def keys_of(model: Model) -> tuple[str, ...]:
    """The keys of a model, in the order of the vocabulary."""
    return tuple(model.model_fields)


def homes_of(key: str, model: Model) -> list[str]:
    """The keys of `model` below which `key` may stand."""
    return [
        home
        for home in keys_of(model)
        if any(key in below.model_fields for below in _models_in(_hints(model)[home]))
    ]


def choice_of(model: Model) -> tuple[str, str] | None:
    """The key and value that choose this model among several, such as ("source", "existing")."""
    for key, annotation in _hints(model).items():
        values = get_args(annotation)
        if get_origin(annotation) is Literal and len(values) == 1:
            return key, str(values[0])
    return None


def _described(path: Path, annotation: Any, union: Any) -> Place:
    """The place with its own words, else with those of the union it was chosen from."""
    kind = _bare(annotation)
    literals = tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()
    wanted = _wanted(annotation) or _wanted(union)
    branches = _models_in(annotation) if _is_union(kind) else ()
    if wanted is None:
        words = " or ".join(literals)
        return Place(path, words, literals[0] if literals else "", literals, branches=branches)
    return Place(path, wanted.words, str(wanted.example), branches=branches)


def _models_in(annotation: Any) -> tuple[Model, ...]:
    kind = _bare(annotation)
    parts = get_args(kind) if _is_union(kind) else (kind,)
    return tuple(part for part in map(_bare, parts) if _is_model(part))


def _wanted(annotation: Any) -> Wanted | None:
    """The last words said about the annotation, the outermost first."""
    if get_origin(annotation) is Annotated:
        words = [extra for extra in annotation.__metadata__ if isinstance(extra, Wanted)]
        return words[-1] if words else _wanted(get_args(annotation)[0])
    optional = _is_union(annotation) and type(None) in get_args(annotation)
    return _wanted(_without_none(annotation)) if optional else None


def _bare(annotation: Any) -> Any:
    """The annotation without `Annotated` and without `| None`."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif _is_union(annotation) and type(None) in get_args(annotation):
            annotation = _without_none(annotation)
        else:
            return annotation


def _without_none(union: Any) -> Any:
    return next(part for part in get_args(union) if part is not type(None))


def _branch(union: Any, tag: str | int) -> Any:
    return next(
        branch
        for branch in get_args(union)
        if any(isinstance(extra, Tag) and extra.tag == tag for extra in branch.__metadata__)
    )


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, types.UnionType)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


@cache
def _hints(model: Model) -> dict[str, Any]:
    return get_type_hints(model, include_extras=True)
