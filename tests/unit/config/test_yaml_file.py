"""Files that are no YAML mapping, or larger than any stack: one line each, with the place."""

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from berth.config.problems import ConfigError
from berth.config.read import read_stack_file

Refusal = Callable[[str | bytes], list[str]]
TODAY = date(2026, 12, 1)
DEEP = "nested more than 40 levels deep; a stack needs 6; remove the extra levels"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            "config:\n  berth:tiers:\n\tl4: 1\n",
            "a.yaml:3:1: a tab; indent with spaces",
            id="tab",
        ),
        pytest.param(
            "config:\n  aws:region: us-east-1\n   berth:environment: dev\n",
            "a.yaml:3:21: a second colon in one value, or a line indented too far; "
            "put the value in quotes, or align the line with its neighbours",
            id="indented-too-far",
        ),
        pytest.param(
            "config:\n    aws:region: us-east-1\n  berth:environment: dev\n",
            "a.yaml:3:3: this line does not fit the indentation above it; "
            "align it with the keys it belongs to",
            id="indented-too-little",
        ),
        pytest.param(
            "config:\n  berth:environment\n  berth:as_of: 2026-11-30\n",
            "a.yaml:3:14: a second colon in one value, or a line indented too far; "
            "put the value in quotes, or align the line with its neighbours",
            id="key-without-colon",
        ),
        pytest.param(
            'config:\n  aws:region: "us-east-1\n',
            "a.yaml:2:15: a quote that is never closed; close it",
            id="open-quote",
        ),
        pytest.param(
            "config:\n  berth:tiers: {l4: {a: 1}\n",
            "a.yaml:2:16: a mapping in braces that is never closed; close it with }",
            id="open-brace",
        ),
        pytest.param(
            "config:\n  berth:tiers: [l4\n",
            "a.yaml:2:16: a list in brackets that is never closed; close it with ]",
            id="open-bracket",
        ),
        pytest.param(
            'config:\n  aws:region: "us\\users"\n',
            "a.yaml:2:20: an escape in double quotes with too few digits; write the character "
            "itself",
            id="backslash",
        ),
        pytest.param(
            'config:\n  aws:region: "\\Uffffffff"\n',
            "a.yaml: an escape in double quotes, or a line that starts with %, that means nothing; "
            "write the character, or remove the line",
            id="escape-beyond-all-characters",
        ),
        pytest.param(
            f"%YAML {'9' * 5000}.1\n---\nconfig: {{}}\n",
            "a.yaml: an escape in double quotes, or a line that starts with %, that means nothing; "
            "write the character, or remove the line",
            id="version-without-end",
        ),
        pytest.param(
            'config:\n  aws:region: "\\ud800"\n',
            "a.yaml:2: aws:region: half of a surrogate pair, which is no character; "
            "write the character itself",
            id="half-a-character",
        ),
        pytest.param(
            "config:\n  aws:region: @east\n",
            "a.yaml:2:15: a value may not start with this character; put the value in quotes",
            id="reserved-character",
        ),
        pytest.param(
            "config:\n  aws:region: a\x00b\n",
            "a.yaml:2:16: a control character; remove it",
            id="control-character",
        ),
        pytest.param(
            "config: {}\n---\nconfig: {}\n",
            "a.yaml:2:1: a second document starts here; keep one per file",
            id="several-documents",
        ),
        pytest.param(
            "config:\n  berth:tiers: *none\n",
            "a.yaml:2:16: an alias without its anchor before it; write the value out",
            id="alias-of-nothing",
        ),
        pytest.param(
            "config: &all\n  berth:tiers: *all\n",
            "a.yaml:2:16: an alias without its anchor before it; write the value out",
            id="alias-of-what-it-is-in",
        ),
        pytest.param(
            "config:\n  berth:tiers: !!python/object/apply:os.system [ls]\n",
            "a.yaml:2:16: a tag (`!...`) is not read here; remove it",
            id="tag",
        ),
        pytest.param(
            b"config:\n  aws:region: \xff\n",
            "a.yaml:2: byte 0xff is not UTF-8; save the file as UTF-8",
            id="not-utf-8",
        ),
        pytest.param(
            "",
            "a.yaml: is empty; write the stack's settings below config:",
            id="empty",
        ),
        pytest.param(
            "# to be written\n",
            "a.yaml: is empty; write the stack's settings below config:",
            id="comments-only",
        ),
        pytest.param(
            "[1, 2]\n",
            "a.yaml:1: is not a mapping; write the stack's settings below config:",
            id="a-list",
        ),
        pytest.param(
            "confg: {}\n",
            "a.yaml:1: confg: unknown key; did you mean config",
            id="config-misspelt",
        ),
        pytest.param(
            "encryptionsalt: v1:abc\n",
            "a.yaml:1: has no config:; write the stack's settings below config:",
            id="no-config",
        ),
        pytest.param(
            "config: 5\n",
            "a.yaml:1: config: is not a mapping; write the stack's settings below config:",
            id="config-is-a-number",
        ),
        pytest.param(
            "config: {a: " + "[" * 10_000 + "]" * 10_000 + "}",
            f"a.yaml:1:51: {DEEP}",
            id="brackets-10000-deep",
        ),
        pytest.param(
            "- " * 10_000 + "a",
            f"a.yaml:1:81: {DEEP}",
            id="lists-10000-deep",
        ),
        pytest.param(
            "".join(" " * level + "a:\n" for level in range(500)),
            f"a.yaml:40:40: {DEEP}",
            id="mappings-500-deep",
        ),
        pytest.param(
            "a0: &a0 [1, 2]\n"
            + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 30)),
            "a.yaml:8:5: more than 5000 values, aliases written out; a stack has a few hundred; "
            "write fewer",
            id="aliases-that-multiply",
        ),
        pytest.param(
            "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 60)),
            f"a.yaml:38:12: {DEEP}",
            id="aliases-that-nest",
        ),
        pytest.param(
            "a: " + "x" * (256 * 1024),
            "a.yaml: larger than 256 KiB; a stack file has a few; name another",
            id="huge",
        ),
        pytest.param(
            "config: [" + "1, " * 6_000 + "]",
            "a.yaml:1:9: more than 5000 values, aliases written out; a stack has a few hundred; "
            "write fewer",
            id="many-values",
        ),
    ],
)
def test_a_file_that_is_no_stack_is_refused_in_one_line(
    content: str | bytes, expected: str, refusal: Refusal
) -> None:
    assert refusal(content) == [expected]


def test_syntax_errors_repeat_nothing_of_the_file(refusal: Refusal) -> None:
    (line,) = refusal('config:\n  berth:token: {secure: "AAABHidden\\q"}\n')

    assert line == (
        "a.yaml:2:37: a backslash in double quotes that escapes nothing; "
        "use single quotes, or write two backslashes"
    )


def test_a_missing_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ConfigError) as refused:
        read_stack_file(tmp_path / "b.yaml", TODAY)

    assert refused.value.lines == ("b.yaml: no such file; name one that exists",)


def test_a_folder_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stacks").mkdir()

    with pytest.raises(ConfigError) as refused:
        read_stack_file(Path("stacks"), TODAY)

    assert refused.value.lines == ("stacks: is a folder; name a stack file in it",)


def test_a_pipe_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")

    with pytest.raises(ConfigError) as refused:
        read_stack_file(Path("pipe"), TODAY)

    assert refused.value.lines == ("pipe: is not a regular file; name a stack file",)


@pytest.mark.parametrize(
    "failure",
    [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")],
    ids=["permission", "disk"],
)
def test_an_unreadable_file_says_why(
    failure: OSError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text("config: {}", encoding="utf-8")
    monkeypatch.setattr(Path, "open", fail)

    with pytest.raises(ConfigError) as refused:
        read_stack_file(Path("c.yaml"), TODAY)

    reason = str(failure.strerror).lower()
    assert refused.value.lines == (
        f"c.yaml: cannot be read ({reason}); make it readable, or name another",
    )


def test_a_name_with_a_null_byte_is_no_file_name() -> None:
    with pytest.raises(ConfigError) as refused:
        read_stack_file(Path("a\0b"), TODAY)

    (line,) = refused.value.lines
    assert line.startswith("a\\u0000b: ")
