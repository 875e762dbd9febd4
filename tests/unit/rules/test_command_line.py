"""What a container runs, word by word."""

from typing import Any

import pytest

from berth.rules.stack_view.command_line import (
    ELSEWHERE_MARK,
    UNKNOWN_MARK,
    literal_env,
    read_commands,
)
from berth.rules.stack_view.field import Field
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError

FILES = {
    "/scripts/run.sh": '#!/bin/bash\n# don\'t stop\nset -e\nexec vllm serve "$1" "${@}"\n',
    "/scripts/bare": "run it",
    "/scripts/env.sh": "#! /usr/bin/env bash\nrun it",
    "/scripts/serve.py": "#!/usr/bin/python3\nrun it",
}


def commands(command: Any = None, args: Any = None, env: Any = None) -> list[list[str]]:
    return read_commands(Field(command), Field(args), Field(env), FILES.get)


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
        (["a"], [None, {"b": 1}, ["c"], "d"], [["a", "", "", "", "d"]]),
        (["/bin/bash", "-o", "pipefail", "-c", "a | b"], None, [["a"], ["b"]]),
        (["bash", "-euo", "pipefail", "-c", "a"], None, [["a"]]),
        (["bash", "-ceuo", "pipefail", "a"], None, [["a"]]),
        (["bash", "+o", "posix", "-c", "a"], None, [["a"]]),
        (["bash", "--login", "-c", "a"], None, [["a"]]),
        (["bash", "-o"], None, [["bash", "-o"]]),
        (["tini", "--", "sh", "-c", "a b"], None, [["a", "b"]]),
        (["/usr/bin/env", "A=1", "bash", "-c", "a"], None, [["a"]]),
        (["nohup", "exec", "sh", "-c", "a"], None, [["a"]]),
        (["env"], None, [["env"]]),
        (["python", "-c", "a; b"], None, [["python", "-c", "a; b"]]),
        (["--x", "sh"], ["-c", "a; b"], [["--x", "sh", "-c", "a; b"]]),
        (["sh", "-c", "a h:80,x@y {1}"], None, [["a", "h:80,x@y", "{1}"]]),
        (["sh", "-c", "a ''; b"], None, [["a", ""], ["b"]]),
        (["sh", "-c", "  # a\n b"], None, [["b"]]),
    ],
)
def test_words_of_a_command(command: Any, args: Any, expected: list[list[str]]) -> None:
    assert [words for words in commands(command, args) if words] == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["/scripts/run.sh", "m", "-tp", "2"], ["exec", "vllm", "serve", "m", "m", "-tp", "2"]),
        (["bash", "-x", "/scripts/run.sh", "m"], ["exec", "vllm", "serve", "m", "m"]),
        (["sh", "/scripts/bare"], ["run", "it"]),
        (["/scripts/bare"], ["run", "it"]),
        (["/scripts/env.sh"], ["run", "it"]),
        (["/scripts/serve.py"], ["/scripts/serve.py"]),
        (["/scripts/other.sh"], ["/scripts/other.sh"]),
        (["--template", "/scripts/bare"], ["--template", "/scripts/bare"]),
    ],
)
def test_a_script_that_the_stack_shows_is_read(command: list[str], expected: list[str]) -> None:
    assert [words for words in commands(command) if words][-1] == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('run "$@"', ["run", "-tp", "a b"]),
        ("run $*", ["run", "-tp", "a b"]),
        ("run $1 -x", ["run", "-tp", "-x"]),
        ("run ${0}", ["run", "name"]),
        ("run $3", ["run"]),
    ],
)
def test_a_script_takes_its_parameters(script: str, expected: list[str]) -> None:
    assert commands(["sh", "-c", script], ["name", "-tp", "a b"]) == [expected]


def test_a_script_without_parameters_gets_none() -> None:
    assert commands(["sh", "-c", 'run "$@" $0']) == [["run"]]


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ([{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)2"}], {"A": "1", "B": "12"}),
        ([{"name": "A", "value": 1}, {"name": "A", "value": "2"}], {"A": "2"}),
        ([{"name": "A", "valueFrom": {"secretKeyRef": {}}}], {}),
        ([{"name": "A", "value": UNKNOWN}, {"name": UNKNOWN, "value": "1"}], {}),
        ([{"name": "A"}], {"A": ""}),
        ([{"name": "A", "value": "1", "valueFrom": {"fieldRef": {}}}], {"A": "1"}),
        ([{"name": 5, "value": "1"}], {}),
        (UNKNOWN, {}),
    ],
)
def test_variables_that_the_stack_states(env: Any, expected: dict[str, str]) -> None:
    assert literal_env(Field(env)) == expected


@pytest.mark.parametrize(
    ("command", "args"), [(UNKNOWN, None), (["a"], UNKNOWN)], ids=["command", "args"]
)
def test_a_command_that_is_known_after_apply_is_not_guessed(command: Any, args: Any) -> None:
    with pytest.raises(KnownAfterApplyError):
        commands(command, args)


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
        ("export W='q'; run $W", ["run", "q"]),
        ("run ${W-z}", ["run", "z"]),
        ("run ${W:=z}", ["run", "z"]),
        ("W=a\nW=b\nrun $W", ["run", "b"]),
        ("W=a\nW=$W/b\nrun $W", ["run", "a/b"]),
        ("if x; then\nW=a\nelse\nW=b\nfi\nrun $W", ["run", ELSEWHERE_MARK]),
        ("if x; then\nW=a\nfi\nrun $W", ["run", "a"]),
        ("W=a\nif x; then\nW=b\nfi\nrun $W$V", ["run", ELSEWHERE_MARK + "x"]),
        ('if [ -z "$V" ]; then\nV=b\nfi\nrun $V', ["run", ELSEWHERE_MARK]),
        ("W=do\nW=a\nrun $W", ["run", "a"]),
        ("run $((1 + 1))", ["run", ELSEWHERE_MARK]),
    ],
)
def test_a_shell_replaces_variables(script: str, expected: list[str]) -> None:
    assert commands(["sh", "-c", script], None, variable("x"))[-1] == expected
