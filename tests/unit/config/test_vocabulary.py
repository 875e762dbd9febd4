"""Every key of the vocabulary has words for messages, and an example that is itself right."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from berth.config import stack, values
from berth.config.shape import place_of
from berth.config.wanted import Wanted

MODELS = [
    each
    for each in vars(stack).values()
    if isinstance(each, type) and issubclass(each, BaseModel) and each.model_fields
]


def kinds_of_values() -> Iterator[Any]:
    """Each kind with the example that messages show."""
    for name, kind in vars(values).items():
        extras = getattr(kind, "__metadata__", ())
        wanted = [extra for extra in extras if isinstance(extra, Wanted)]
        if wanted:
            yield pytest.param(kind, wanted[-1].example, id=name)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_key_has_words(model: type[BaseModel]) -> None:
    wordless = [key for key in model.model_fields if not place_of(model, [key]).words]

    assert wordless == []


@pytest.mark.parametrize(("kind", "example"), list(kinds_of_values()))
def test_every_example_is_right(kind: Any, example: object) -> None:
    TypeAdapter(kind).validate_python(example)


def test_there_are_kinds_and_models_to_look_at() -> None:
    assert len(MODELS) >= 10
    assert len(list(kinds_of_values())) >= 15
