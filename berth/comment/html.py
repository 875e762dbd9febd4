"""A comment as a page of HTML that stands alone, for reports and artifacts."""

from collections.abc import Iterator, Sequence
from html import escape

from berth.comment.content import Content
from berth.comment.parts import Part, Table

_STYLE = (
    "body{font:14px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#1f2328}"
    "table{border-collapse:collapse;margin:.5em 0}"
    "td,th{border:1px solid #d0d7de;padding:.25em .7em;text-align:left}"
    "td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}"
    "h1{font-size:1.3em}h2{font-size:1.05em;margin:1.2em 0 .3em}"
    ".verdict{border-left:4px solid #cf222e;padding-left:.8em}"
    "summary{cursor:pointer;margin:.4em 0}"
)


def html_page(contents: Sequence[Content]) -> str:
    """All stacks on one page."""
    body = "\n".join(line for content in contents for line in _stack(content))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Cost of the change</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _stack(content: Content) -> Iterator[str]:
    yield f"<h1>{escape(content.stack or 'stack')}: {escape(content.headline)}</h1>"
    yield from (f'<p class="verdict">{escape(line)}</p>' for line in content.verdict)
    for part in content.parts:
        yield from _part(part)


def _part(part: Part) -> Iterator[str]:
    title = escape(part.title)
    yield f"<details><summary>{title}</summary>" if part.folded else f"<h2>{title}</h2>"
    if part.table is not None:
        yield _table(part.table)
    if part.lines:
        yield f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in part.lines)}</ul>"
    if part.folded:
        yield "</details>"


def _table(table: Table) -> str:
    rows = [_row("th", table.headings, table), *(_row("td", row, table) for row in table.rows)]
    return f"<table>{''.join(rows)}</table>"


def _row(tag: str, cells: Sequence[str], table: Table) -> str:
    marks = ("" if n < table.numbers_from else ' class="number"' for n in range(len(cells)))
    pairs = zip(cells, marks, strict=True)
    return f"<tr>{''.join(f'<{tag}{mark}>{escape(cell)}</{tag}>' for cell, mark in pairs)}</tr>"
