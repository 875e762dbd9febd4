"""What a comment shows, and what hostile names in it may not do."""

import re
from typing import Any

import pytest
from markdown_it import MarkdownIt

from berth.comment.content import Content
from berth.comment.html import html_page
from berth.comment.markdown import hidden_tag, markdown, plain
from berth.comment.parts import Part, Table

MOST = 65_536


def a_content(**changes: Any) -> Content:
    given: dict[str, Any] = {
        "stack": "h100-prod",
        "headline": "+4.60 USD/h",
        "verdict": (),
        "parts": (),
    }
    return Content(**(given | changes))


def rendered(text: str) -> str:
    return str(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text))


HOSTILE = [
    "a | b",
    "`code`",
    "<img src=x onerror=alert(1)>",
    "**bold** _under_ *star* ~~gone~~",
    "[a link](https://example.com)",
    "![a picture](https://example.com/a.png)",
    "https://example.com and www.example.com",
    "-->",
    "one\n\n# two\n| three |",
    "$a$ and \\ and &lt;",
    "<details>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_shown_as_it_is_and_does_nothing(text: str) -> None:
    table = Table(headings=("of", "line"), rows=((text, "end"),), numbers_from=2)
    part = Part(title=text, table=table, lines=(text,), folded=True)

    page = rendered(markdown(a_content(headline=text, parts=(part,)), "cost", MOST))

    assert page.count("<td>") == 2
    assert page.count("<details>") == page.count("</details>") == 1
    for forbidden in ("<img", "<a ", "<em>", "<h1>", "<code>", "<s>", "<script"):
        assert forbidden not in page


@pytest.mark.parametrize("text", ["@everyone", "ask @a-team now", "fixes #12", "a@b.example", "!7"])
def test_nobody_is_pinged(text: str) -> None:
    shown = plain(text)

    assert not re.search(r"[@#!][A-Za-z0-9]", shown)
    assert shown.replace("\u200b", "") == text


@pytest.mark.parametrize("text", HOSTILE)
def test_a_page_of_html_shows_text_as_it_is(text: str) -> None:
    page = html_page([a_content(headline=text, parts=(Part(title=text, lines=(text,)),))])

    for forbidden in ("<img", "<details>", "<a "):
        assert forbidden not in page


def test_the_tag_is_the_first_line_and_no_stack_closes_it() -> None:
    tag = hidden_tag("a --> <b>@x", "cost")

    assert re.fullmatch(r"<!-- berth-comment [A-Za-z0-9._/-]+ -->", tag)
    assert tag.count("--") == 2
    assert markdown(a_content(), "cost", MOST).startswith(hidden_tag("h100-prod", "cost") + "\n")


def test_stacks_and_tags_are_told_apart() -> None:
    tags = {hidden_tag(stack, tag) for stack in ("a", "b") for tag in ("cost", "nightly")}

    assert len(tags) == 4


def long_content(rows: int) -> Content:
    table = Table(
        headings=("of", "USD/h"),
        rows=tuple((f"row {n}", "1.00") for n in range(rows)),
        numbers_from=1,
    )
    parts = (
        Part(title="First", table=table, folded=True),
        Part(title="Second", lines=tuple(f"line {n}" for n in range(rows)), folded=True),
        Part(title="Third", lines=("the end",)),
    )
    return a_content(parts=parts)


@pytest.mark.parametrize("most", [300, 1_000, 5_000, 20_000, MOST])
def test_a_comment_ends_before_the_platform_does(most: int) -> None:
    text = markdown(long_content(5_000), "cost", most)

    assert len(text) <= most
    assert "left out: no room in a comment" in text
    assert text.count("<details>") == text.count("</details>")
    assert all(line.count("|") in (0, 3) for line in text.splitlines())


def test_what_is_left_out_is_counted() -> None:
    """Each row is longer than 10 characters, so that 100 of them do not fit into 1,000."""
    text = markdown(long_content(100), "cost", 1_000)

    shown = len(re.findall(r"^\| row \d+", text, re.MULTILINE))
    assert 0 < shown < 100
    assert f"*{100 - shown} more are left out" in text
    assert "*2 parts are left out" in text


def test_a_comment_with_room_leaves_nothing_out() -> None:
    text = markdown(long_content(20), "cost", MOST)

    assert "left out" not in text
    assert text.rstrip().endswith("- the end")
