"""Properties as the engine sends them, made plain."""

from typing import Any

import pytest
from pulumi_policy import proxy
from pulumi_policy.deserialize import SPECIAL_ASSET_SIG, SPECIAL_SIG_KEY

from berth.policy_pack.plain import plain_properties, without_secrets
from berth.rules.unknown import UNKNOWN
from tests.unit.policy_pack.engine import secret, struct


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("text", "text"),
        (2, 2),
        (2.5, 2.5),
        (True, True),
        (None, None),
        ([1, "a", [2]], [1, "a", [2]]),
        ({"a": {"b": 1}}, {"a": {"b": 1}}),
        (secret("s"), "s"),
        (secret({"a": [1]}), {"a": [1]}),
        ({SPECIAL_SIG_KEY: SPECIAL_ASSET_SIG, "path": "values.yaml"}, None),
        ({SPECIAL_SIG_KEY: SPECIAL_ASSET_SIG, "hash": "0", "text": "a: 1"}, "a: 1"),
        ({SPECIAL_SIG_KEY: "of a later engine", "text": "a: 1"}, None),
        (proxy.UNKNOWN_STRING_VALUE, UNKNOWN),
        (proxy.UNKNOWN_NUMBER_VALUE, UNKNOWN),
        (proxy.UNKNOWN_BOOLEAN_VALUE, UNKNOWN),
        (proxy.UNKNOWN_ARRAY_VALUE, UNKNOWN),
        (proxy.UNKNOWN_OBJECT_VALUE, UNKNOWN),
        (proxy.UNKNOWN_ASSET_VALUE, UNKNOWN),
        (proxy.UNKNOWN_ARCHIVE_VALUE, UNKNOWN),
        ([proxy.UNKNOWN_STRING_VALUE], [UNKNOWN]),
    ],
)
def test_values(sent: Any, expected: Any) -> None:
    assert plain_properties(struct({"key": sent})).values == {"key": expected}


def test_whole_numbers_become_integers() -> None:
    value = plain_properties(struct({"replicas": 2.0})).values["replicas"]

    assert type(value) is int


def test_texts_under_a_secret_are_remembered() -> None:
    sent = struct({"a": secret({"b": ["token-1", "xyz"], "c": 12345}), "d": "open"})

    assert plain_properties(sent).secrets == {"token-1"}


def test_a_secret_asset_is_remembered() -> None:
    sent = struct({"file": secret({SPECIAL_SIG_KEY: SPECIAL_ASSET_SIG, "text": "key: token-1"})})

    assert plain_properties(sent).secrets == {"key: token-1", "token-1"}


def test_parts_of_a_secret_are_remembered_and_words_of_kubernetes_are_not() -> None:
    sent = struct({"image": secret("example.com/team:v1"), "effect": secret("NoSchedule")})

    assert plain_properties(sent).secrets == {"example.com/team:v1", "example.com"}


def test_secrets_are_blotted_out_longest_first() -> None:
    assert without_secrets("a tokens token b", {"token", "tokens"}) == "a [secret] [secret] b"
