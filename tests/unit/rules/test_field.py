"""A place in a resource's properties."""

from typing import Any

import pytest

from berth.rules.stack_view.field import Field
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError


def test_a_path_reads_as_its_author_would_write_it() -> None:
    field = Field({}).at("spec", "containers", 0, "limits", "nvidia.com/gpu")

    assert field.path == "spec.containers[0].limits[nvidia.com/gpu]"
    assert field.is_absent


def test_an_unknown_value_is_named_where_it_begins() -> None:
    field = Field({"spec": {"template": UNKNOWN}}).at("spec", "template", "spec", "containers")

    with pytest.raises(KnownAfterApplyError) as caught:
        field.items()

    assert caught.value.field == "spec.template"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2, 2), (2.0, 2), ("2", 2), (" 2 ", 2), (2.5, None), ("x", None), (True, None), (None, None)],
)
def test_integers(value: Any, expected: int | None) -> None:
    assert Field(value).integer() == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), ("false", False), ("True", True), ("yes", None), (1, None), (None, None)],
)
def test_booleans(value: Any, expected: bool | None) -> None:
    assert Field(value).boolean() is expected


@pytest.mark.parametrize("value", ["text", 5, None, {"a": 1}])
def test_what_is_no_list_has_no_items(value: Any) -> None:
    assert Field(value).items() == []


@pytest.mark.parametrize("value", ["text", 5, None, [1]])
def test_what_is_no_mapping_has_no_entries(value: Any) -> None:
    assert Field(value).entries() == {}


def test_an_unknown_value_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="compare it with UNKNOWN"):
        bool(UNKNOWN)
