"""YAML syntax errors in words: where, what it looks like, what to change.

Nothing of the file's own text is repeated, because it may be a secret.
"""

import yaml

_WORDS = (
    ("'\\t' that cannot start", "a tab", "indent with spaces"),
    (
        "that cannot start any token",
        "a value may not start with this character",
        "put the value in quotes",
    ),
    (
        "mapping values are not allowed",
        "a second colon in one value, or a line indented too far",
        "put the value in quotes, or align the line with its neighbours",
    ),
    (
        "mapping keys are not allowed",
        "a key may not stand here",
        "put it on a line of its own, aligned with its neighbours",
    ),
    (
        "sequence entries are not allowed",
        "a list item may not stand here",
        "put it on a line of its own, aligned with its neighbours",
    ),
    (
        "could not find expected ':'",
        "a key without a colon",
        "write `key: value` with a blank after the colon",
    ),
    (
        "expected <block end>",
        "this line does not fit the indentation above it",
        "align it with the keys it belongs to",
    ),
    ("found unexpected end of stream", "a quote that is never closed", "close it"),
    ("found unexpected document separator", "a quote that is never closed", "close it"),
    ("expected ',' or ']'", "a list in brackets that is never closed", "close it with ]"),
    ("expected ',' or '}'", "a mapping in braces that is never closed", "close it with }"),
    (
        "found unknown escape character",
        "a backslash in double quotes that escapes nothing",
        "use single quotes, or write two backslashes",
    ),
    (
        "expected escape sequence",
        "an escape in double quotes with too few digits",
        "write the character itself",
    ),
    (
        "special characters are not allowed",
        "a control character",
        "remove it",
    ),
    (
        "expected '<document start>'",
        "this line does not fit the document above it",
        "keep one mapping per file, its keys at the left edge",
    ),
)
_OTHERWISE = ("not valid YAML", "check indentation, quotes and colons here")


def syntax_problem(error: yaml.YAMLError, text: str) -> str:
    """`line:column: what; fix` of one error of the YAML parser in `text`."""
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", ""))
    what, fix = next(((what, fix) for part, what, fix in _WORDS if part in problem), _OTHERWISE)
    line, column = _place(error, text, at_start=what.endswith("never closed"))
    return f"{line}:{column}: {what}; {fix}"


def _place(error: yaml.YAMLError, text: str, at_start: bool) -> tuple[int, int]:
    """Line and column, counted from 1; `at_start`: where the thing begins that is wrong."""
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    mark = getattr(error, "problem_mark", None)
    if at_start or mark is None:
        mark = getattr(error, "context_mark", None) or mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)
