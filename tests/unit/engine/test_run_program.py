"""Whose frames a failing program's traceback shows."""

import runpy
import traceback
from pathlib import Path

import pytest

from berth.engine.run_program import without_frames_above


def shown(entry: Path, error: type[Exception]) -> list[str]:
    """The lines of a program's traceback, without the markers below the code."""
    with pytest.raises(error) as caught:
        runpy.run_path(str(entry), run_name="__main__")
    lines = "".join(traceback.format_exception(without_frames_above(caught.value, entry)))
    return [line.strip() for line in lines.splitlines() if "^" not in line and "~" not in line]


def test_frames_begin_in_the_program(tmp_path: Path) -> None:
    entry = tmp_path / "__main__.py"
    entry.write_text("def f():\n    return 1 / 0\nf()\n", "utf-8")

    assert shown(entry, ZeroDivisionError) == [
        "Traceback (most recent call last):",
        f'File "{entry}", line 3, in <module>',
        "f()",
        f'File "{entry}", line 2, in f',
        "return 1 / 0",
        "ZeroDivisionError: division by zero",
    ]


def test_a_syntax_error_shows_its_line_and_nothing_of_ours(tmp_path: Path) -> None:
    entry = tmp_path / "__main__.py"
    entry.write_text("x = 1\nimport ;\n", "utf-8")

    assert shown(entry, SyntaxError) == [
        f'File "{entry}", line 2',
        "import ;",
        "SyntaxError: invalid syntax",
    ]
