"""A comment as Markdown of GitHub and GitLab, cut where the platform ends."""

import re
from collections.abc import Iterator
from typing import Final

from berth.comment.content import Content
from berth.comment.parts import Part, Table

_GAP: Final = "\n\n"
_NOTE_CHARACTERS: Final = 80
"""Room for a note of what was left out."""
_MARKUP: Final = re.compile(r"[\\`*{}\[\]<>|~$&]|(?<!\w)_|_(?!\w)|:(?=//)|(?<=www)\.")
_PINGS: Final = re.compile(r"(?<!\w)([@#!])(?=\w)|(?<=\w)(@)(?=\w)")
"""Mentions of people, issues and merge requests, which platforms find in the text that is shown."""
_LIST_MARK: Final = re.compile(r"[-+]|\d+[.)]")
_UNSEEN: Final = "\u200b"
"""A space without width."""


def hidden_tag(stack: str, tag: str) -> str:
    """The first line of a comment, by which it is found again; no text can close it early."""
    name = re.sub(r"[^A-Za-z0-9._/-]+", "_", f"{tag}/{stack}").replace("--", "_")
    return f"<!-- berth-comment {name} -->"


def markdown(content: Content, tag: str, most_characters: int) -> str:
    """The whole comment, at most `most_characters` long.

    What does not fit is left out from the end, rows of a table one by one, and counted.
    """
    body = _GAP.join(
        (
            hidden_tag(content.stack, tag),
            f"**{plain(content.stack or 'stack')}: {plain(content.headline)}**",
            *(f"> {plain(line)}" for line in content.verdict),
        )
    )
    if len(body) > most_characters - _NOTE_CHARACTERS:
        return f"{body[: most_characters - _NOTE_CHARACTERS]}\n\n{_left_out('the rest is')}"
    for number, part in enumerate(content.parts):
        text = _part(part, most_characters - len(body) - 2 * _NOTE_CHARACTERS)
        if text is None:
            left = len(content.parts) - number
            note = _left_out("1 part is" if left == 1 else f"{left} parts are")
            return f"{body}\n\n{note}"
        body = f"{body}\n\n{text}"
    return body


def _left_out(what: str) -> str:
    return f"*{what} left out: no room in a comment.*"


def plain(text: str) -> str:
    """Text that is shown as it is: no mark-up, no link, no mention, on one line."""
    one_line = "".join(c for c in " ".join(text.split()) if c.isprintable())
    unpinged = _PINGS.sub(lambda match: f"{match[0]}{_UNSEEN}", one_line)
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", unpinged)


def _bullet(text: str) -> str:
    mark = _UNSEEN if _LIST_MARK.match(text) else ""
    return f"- {mark}{plain(text)}"


def _part(part: Part, room: int) -> str | None:
    """The part within `room` characters; None if not even its beginning fits."""
    opening = f"<details><summary>{plain(part.title)}</summary>\n\n" if part.folded else ""
    closing = "\n\n</details>" if part.folded else ""
    title = "" if part.folded else f"**{plain(part.title)}**\n\n"
    blocks: list[str] = []
    room -= len(opening) + len(closing) + len(title)
    pieces = list(_pieces(part))
    for number, (first, rest) in enumerate(pieces):
        taken, left = _fitting(first, rest, room)
        if taken is None:
            if number == 0:
                return None
            left = len(rest)
        else:
            blocks.append(taken)
            room -= len(taken) + 2
        if left:
            blocks.append(_left_out("1 more is" if left == 1 else f"{left} more are"))
            break
    return f"{opening}{title}{_GAP.join(blocks)}{closing}"


def _pieces(part: Part) -> Iterator[tuple[str, list[str]]]:
    """What belongs together, each with the rows that may be left out of it."""
    if part.table is not None:
        yield _table_head(part.table), [_row(row) for row in part.table.rows]
    if part.lines:
        yield "", [_bullet(line) for line in part.lines]


def _fitting(first: str, rest: list[str], room: int) -> tuple[str | None, int]:
    """As many rows as fit, and how many did not."""
    rows = [first] if first else []
    used = len(first)
    for number, row in enumerate(rest):
        used += len(row) + 1
        if used > room:
            return ("\n".join(rows) if number else None), len(rest) - number
        rows.append(row)
    return "\n".join(rows), 0


def _table_head(table: Table) -> str:
    marks = ["---" if n < table.numbers_from else "---:" for n in range(len(table.headings))]
    return f"{_row(table.headings)}\n|{'|'.join(marks)}|"


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(plain(cell) for cell in cells)} |"
