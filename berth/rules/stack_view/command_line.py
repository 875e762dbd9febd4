"""What a container runs, word by word: command, arguments, variables and shell scripts."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from berth.rules.stack_view.field import Field
from berth.rules.unknown import UNKNOWN

UNKNOWN_MARK: Final = "\ue000"
"""Stands in a word for a part that is known after apply."""
ELSEWHERE_MARK: Final = "\ue001"
"""Stands in a word for a part that the cluster or the image knows, such as a Secret's value."""

_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh"})
_SHELL_COMMAND_OPTION: Final = re.compile(r"-[a-z]*c[a-z]*")
_KUBERNETES_REFERENCE: Final = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_SUBSTITUTION: Final = re.compile(r"\$\(\([^()]*\)\)|\$\([^()]*\)|`[^`]*`")
_SHELL_VARIABLE: Final = re.compile(
    r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^{}]*))?\}|\$([A-Za-z_][A-Za-z0-9_]*)"
)
_ASSIGNMENT: Final = re.compile(
    r"(?:^|[;&|\n])[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)="
    r"""("[^"\n]*"|'[^'\n]*'|[^\s;&|]*)"""
)
_LINE_CONTINUATION: Final = re.compile(r"\\\r?\n")
_LONGEST_SCRIPT: Final = 100_000


def read_commands(command: Field, args: Field, env: Field) -> list[list[str]]:
    """The commands that a container runs, each as its words.

    Without a shell there is one command. `$(VAR)` of Kubernetes and the variables of a shell script
    are replaced by their values.

    Args:
        command: `command` of the container.
        args: `args` of the container.
        env: `env` of the container.

    Raises:
        KnownAfterApplyError: if command or args as a whole are known after apply.
    """
    values = _environment(env)
    words = [
        _expand_references(_word(item.value), values) for item in (*command.items(), *args.items())
    ]
    script = _shell_script(words)
    if script is None:
        return [words] if words else []
    return list(_split_script(script, values))


def literal_env(env: Field) -> dict[str, str]:
    """Variables with a value that the stack states."""
    return {
        name: value
        for name, value in _environment(env).items()
        if UNKNOWN_MARK not in value and ELSEWHERE_MARK not in value
    }


def _environment(env: Field) -> dict[str, str]:
    if env.is_unknown:
        return {}
    values: dict[str, str] = {}
    for item in env.items():
        name = item.at("name")
        if name.is_unknown or not isinstance(name.value, str):
            continue
        value = item.at("value")
        if value.is_absent and not item.at("valueFrom").is_absent:
            values[name.value] = ELSEWHERE_MARK
        else:
            values[name.value] = _expand_references(_word(value.value), values)
    return values


def _word(value: object) -> str:
    if value is UNKNOWN:
        return UNKNOWN_MARK
    if value is None or isinstance(value, Mapping):
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ""
    return str(value)


def _expand_references(word: str, values: Mapping[str, str]) -> str:
    def replace(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return values.get(match[1], match[0])

    return _KUBERNETES_REFERENCE.sub(replace, word)


def _shell_script(words: Sequence[str]) -> str | None:
    if not words or words[0].rpartition("/")[2] not in _SHELLS:
        return None
    for index, word in enumerate(words[1:], start=1):
        if _SHELL_COMMAND_OPTION.fullmatch(word):
            return words[index + 1] if index + 1 < len(words) else None
        if not word.startswith("-"):
            return None
    return None


def _split_script(script: str, env: Mapping[str, str]) -> Iterator[list[str]]:
    text = _LINE_CONTINUATION.sub(" ", script[:_LONGEST_SCRIPT])
    text = _SUBSTITUTION.sub(ELSEWHERE_MARK, text)
    lexer = shlex.shlex(
        _expand_variables(text, _assigned(text, env)), posix=True, punctuation_chars=";&|\n"
    )
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    command: list[str] = []
    for word in _words_until_broken(lexer):
        if set(word) <= set(";&|\n"):
            yield command
            command = []
        else:
            command.append(word)
    yield command


def _words_until_broken(lexer: shlex.shlex) -> Iterator[str]:
    """The words up to a quote that is never closed, where the shell would stop too."""
    try:
        yield from lexer
    except ValueError:
        return


def _assigned(script: str, env: Mapping[str, str]) -> dict[str, str]:
    values = dict(env)
    for name, value in _ASSIGNMENT.findall(script):
        values[name] = _expand_variables(value.strip("\"'"), values)
    return values


def _expand_variables(text: str, values: Mapping[str, str]) -> str:
    def replace(match: re.Match[str]) -> str:
        name, default, bare = match.groups()
        return values.get(name or bare, ELSEWHERE_MARK if default is None else default)

    return _SHELL_VARIABLE.sub(replace, text)
