"""A comment as plain text, for terminals and logs; `berth cost` prints its listing of lines."""

from collections.abc import Iterator, Sequence

from berth.comment.content import Content
from berth.comment.parts import Table


def text_page(contents: Sequence[Content]) -> str:
    """All stacks, one after the other."""
    return "".join(f"{line}\n" for content in contents for line in _stack(content))


def _stack(content: Content) -> Iterator[str]:
    yield _plain(f"{content.stack or 'stack'}: {content.headline}")
    yield from (f"  {_plain(line)}" for line in content.verdict)
    for part in content.parts:
        if part.is_listing:
            continue
        yield ""
        yield f"  {_plain(part.title)}"
        if part.table is not None:
            yield from (f"    {line}" for line in _table(part.table))
        yield from (f"    {_plain(line)}" for line in part.lines)


def _table(table: Table) -> Iterator[str]:
    rows = [tuple(map(_plain, row)) for row in (table.headings, *table.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.headings))]
    for row in rows:
        cells = (
            cell.ljust(width) if column < table.numbers_from else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _plain(text: str) -> str:
    """One line without control characters, which a terminal would obey."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())
