"""Whether a stack, or one resource of it, is production."""

from typing import Any

import pytest

from berth.rules.environment import (
    Environment,
    environment_of_stack,
    is_production,
    says_production,
)
from berth.rules.resource import Resource
from berth.rules.unknown import UNKNOWN


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("prod", True),
        ("production", True),
        ("Production", True),
        ("h100-prod", True),
        ("prod-eu-1", True),
        ("gpu.product", False),
        ("reproduction", False),
        ("preprod", False),
        ("dev", False),
        ("", False),
        (UNKNOWN, False),
        (1, False),
    ],
)
def test_prod_is_a_word_between_dashes(value: object, expected: bool) -> None:
    assert says_production(value) is expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, None),
        ({"stack": "l4-dev"}, None),
        ({"stack": "h100-prod"}, "prod"),
        ({"tags": ["prod"]}, "prod"),
        ({"setting": "dev", "pack_setting": "prod", "stack": "h100-prod"}, "dev"),
        ({"pack_setting": "dev", "stack": "h100-prod"}, "dev"),
        ({"setting": "staging", "stack": "h100-prod"}, "prod"),
    ],
)
def test_what_is_stated_wins_over_the_name(facts: Any, expected: Environment | None) -> None:
    assert environment_of_stack(**facts) == expected


@pytest.mark.parametrize(
    ("props", "expected"),
    [
        ({"tags": {"stage": "prod"}}, True),
        ({"tags": {"prod": "no"}}, False),
        ({"tags": [{"key": "stage", "value": "prod", "propagateAtLaunch": True}]}, True),
        ({"labels": {"stage": "prod"}}, True),
        ({"metadata": {"labels": {"stage": "prod"}}}, True),
        ({"metadata": {"labels": UNKNOWN}, "tags": UNKNOWN, "labels": UNKNOWN}, False),
        ({"metadata": UNKNOWN}, False),
        ({"tags": "prod", "labels": ["prod"], "metadata": "prod"}, False),
    ],
)
def test_values_of_tags_and_labels_count_and_keys_do_not(
    props: dict[str, Any], expected: bool
) -> None:
    resource = Resource("t", "n", "", props)

    assert is_production(resource, None) is expected
    assert is_production(resource, "dev") is False
    assert is_production(resource, "prod") is True
