"""A finding as text, there and back."""

import pytest

from berth.rules.finding import NotChecked, Surprise, join_message, split_message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: wrong; change it\nfix: set b to 1", ("a: wrong; change it", "set b to 1")),
        ("Title.\na: wrong; change it\nfix: set b to 1", ("a: wrong; change it", "set b to 1")),
        ("Title.\na: wrong; change it\nfix: set b to 1\n", ("a: wrong; change it", "set b to 1")),
        ("Title.\na: wrong", ("a: wrong", "")),
        ("a: fix: this", ("a: fix: this", "")),
        ("", ("", "")),
    ],
    ids=["bare", "with-description", "with-line-end", "no-fix", "fix-inside", "empty"],
)
def test_message_and_fix_come_apart_again(text: str, expected: tuple[str, str]) -> None:
    assert split_message(text) == expected


def test_what_was_joined_is_what_comes_apart() -> None:
    message, fix = "a: wrong; change it", "set b to 1"

    assert split_message(f"Title.\n{join_message(message, fix)}") == (message, fix)


def test_what_is_not_checked_says_why() -> None:
    unknown = NotChecked(kind="k", resource="a", urn="", field="spec.b")
    surprise = Surprise(kind="k", resource="a", urn="", error="KeyError")

    assert unknown.message == "a: not checked: spec.b is known after apply"
    assert surprise.message == (
        "a: not checked: k failed with KeyError; report it with the resource that made it fail"
    )
