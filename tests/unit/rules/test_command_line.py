"""What a container runs, word by word."""

from typing import Any

import pytest

from berth.rules.stack_view.command_line import ELSEWHERE_MARK, UNKNOWN_MARK, read_commands
from berth.rules.stack_view.field import Field
from berth.rules.unknown import UNKNOWN


def commands(command: Any = None, args: Any = None, env: Any = None) -> list[list[str]]:
    return read_commands(Field(command), Field(args), Field(env))


def variable(value: Any = None, **source: Any) -> list[dict[str, Any]]:
    return [{"name": "V", "value": value, **source}]


@pytest.mark.parametrize(
    ("command", "args", "expected"),
    [
        (None, None, []),
        (["a"], ["b", 1, True], [["a", "b", "1", "True"]]),
        ("not a list", None, []),
        (["sh", "-c", "a b; c && d | e"], None, [["a", "b"], ["c"], ["d"], ["e"]]),
        (["/bin/bash", "-euxc"], ["a 'b c'"], [["a", "b c"]]),
        (["sh", "-e", "-c", "a\nb \\\n c"], None, [["a"], ["b", "c"]]),
        (["sh", "script.sh"], None, [["sh", "script.sh"]]),
        (["sh", "-c"], None, [["sh", "-c"]]),
        (["sh", "-c", "a 'b"], None, [["a"]]),
    ],
)
def test_words(command: Any, args: Any, expected: list[list[str]]) -> None:
    assert [words for words in commands(command, args) if words] == expected


@pytest.mark.parametrize(
    ("word", "env", "expected"),
    [
        ("$(V)", variable("x"), "x"),
        ("-tp=$(V)", variable(2), "-tp=2"),
        ("$$(V)", variable("x"), "$(V)"),
        ("$(OTHER)", variable("x"), "$(OTHER)"),
        ("$(V)", variable(valueFrom={"fieldRef": {}}), ELSEWHERE_MARK),
        ("$(V)", variable(UNKNOWN), UNKNOWN_MARK),
        ("$(V)", UNKNOWN, "$(V)"),
    ],
)
def test_kubernetes_replaces_references(word: str, env: Any, expected: str) -> None:
    assert commands([word], None, env) == [[expected]]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("run $V", ["run", "x"]),
        ('run "${V}y"', ["run", "xy"]),
        ("run ${W:-z}", ["run", "z"]),
        ("run ${V:-z}", ["run", "x"]),
        ("run $W", ["run", ELSEWHERE_MARK]),
        ("run `date`", ["run", ELSEWHERE_MARK]),
        ("run $(date)", ["run", ELSEWHERE_MARK]),
        ("W=q; run $W", ["run", "q"]),
        ('export W="q"\nrun $W', ["run", "q"]),
        ("W=$V; run $W", ["run", "x"]),
    ],
)
def test_a_shell_replaces_variables(script: str, expected: list[str]) -> None:
    assert commands(["sh", "-c", script], None, variable("x"))[-1] == expected
