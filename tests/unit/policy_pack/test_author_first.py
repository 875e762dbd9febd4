"""Inputs and outputs of one resource as one."""

from typing import Any

import pytest

from berth.policy_pack.author_first import author_first
from berth.rules.unknown import UNKNOWN


@pytest.mark.parametrize(
    ("inputs", "outputs", "expected"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": 2}, {"a": 1}),
        ({"a": UNKNOWN}, {"a": 2}, {"a": 2}),
        ({"a": UNKNOWN}, {}, {"a": UNKNOWN}),
        ({}, {"id": "i-1"}, {"id": "i-1"}),
        ({}, {"id": UNKNOWN}, {}),
        ({"a": {"b": UNKNOWN}}, {"a": {"b": 1, "default": 2}}, {"a": {"b": 1}}),
        ({"a": [UNKNOWN, 2]}, {"a": [1, 3]}, {"a": [1, 2]}),
        ({"a": [UNKNOWN]}, {"a": [1, 3]}, {"a": [UNKNOWN]}),
        ({"a": {"b": 1}}, {"a": UNKNOWN}, {"a": {"b": 1}}),
    ],
    ids=[
        "no-outputs",
        "author-wins",
        "filled",
        "still-unknown",
        "assigned",
        "not-yet-assigned",
        "defaults-stay-out",
        "list",
        "list-of-another-length",
        "all-unknown",
    ],
)
def test_the_author_comes_first(
    inputs: dict[str, Any], outputs: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert author_first(inputs, outputs) == expected
