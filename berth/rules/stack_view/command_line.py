"""What a container runs, word by word: command, arguments, variables and shell scripts."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from berth.rules.stack_view.field import Field
from berth.rules.unknown import UNKNOWN

UNKNOWN_MARK: Final = "\ue000"
"""Stands in a word for a part that is known after apply."""
ELSEWHERE_MARK: Final = "\ue001"
"""Stands in a word for a part that the cluster or the image knows, such as a Secret's value."""

_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh"})
_WRAPPERS: Final = frozenset({"dumb-init", "env", "exec", "nohup", "tini"})
"""Programs that run the words after their own options."""
_SHELL_COMMAND_OPTION: Final = re.compile(r"-[a-z]*c[a-z]*")
_OPTION_WITH_NAME: Final = re.compile(r"[-+][a-zA-Z]*[oO]")
"""Such as `-euo`, after which `pipefail` follows."""
_KUBERNETES_REFERENCE: Final = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_SUBSTITUTION: Final = re.compile(r"\$\(\([^()]*\)\)|\$\([^()]*\)|`[^`]*`")
_SHELL_VARIABLE: Final = re.compile(
    r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?[-=]([^{}]*))?\}|\$([A-Za-z_][A-Za-z0-9_]*)"
)
_ASSIGNMENT: Final = re.compile(
    r"(?:^|[;&|\n])[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)="
    r"""("[^"\n]*"|'[^'\n]*'|[^\s;&|]*)"""
)
_BRANCH: Final = re.compile(r"(?:^|[\s;])(?:then|else|do|case)(?=\s)")
_ALL_PARAMETERS: Final = re.compile(r'"\$\{?[@*]\}?"|\$\{?[@*]\}?')
_PARAMETER: Final = re.compile(r"\$\{?([0-9])\}?")
_COMMENT_LINE: Final = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_LINE_CONTINUATION: Final = re.compile(r"\\\r?\n")
_SEPARATOR: Final = re.compile(r"[;&|\n]+")
_LONGEST_SCRIPT: Final = 100_000


def read_commands(
    command: Field, args: Field, env: Field, read_file: Callable[[str], str | None] = lambda _: None
) -> list[list[str]]:
    """The commands that a container runs, each as its words.

    Without a shell there is one command. `$(VAR)` of Kubernetes, and the variables and parameters
    of a shell script, are replaced by their values.

    Args:
        command: `command` of the container.
        args: `args` of the container.
        env: `env` of the container.
        read_file: text of a file of the container; None where the stack does not show it.

    Raises:
        KnownAfterApplyError: if command or args as a whole are known after apply.
    """
    values = _environment(env)
    words = [
        _expand_references(_word(item.value), values) for item in (*command.items(), *args.items())
    ]
    script = _script(words, read_file)
    if script is None:
        return [words] if words else []
    return list(_split_script(*script, values))


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


def _script(
    words: Sequence[str], read_file: Callable[[str], str | None]
) -> tuple[str, list[str]] | None:
    """A shell script and its parameters from `$0` on; None where no shell is seen."""
    rest = iter(words)
    program = next(rest, "")
    if program.rpartition("/")[2] in _WRAPPERS:
        program = next((word for word in rest if not _is_of_wrapper(word)), "")
    if program.rpartition("/")[2] not in _SHELLS:
        return _script_file(program, list(rest), read_file)
    for word in rest:
        if not word.startswith(("-", "+")):
            return _script_file(word, list(rest), read_file)
        if _OPTION_WITH_NAME.fullmatch(word):
            next(rest, None)
        if _SHELL_COMMAND_OPTION.fullmatch(word):
            script = next(rest, None)
            return None if script is None else (script, list(rest))
    return None


def _script_file(
    path: str, parameters: list[str], read_file: Callable[[str], str | None]
) -> tuple[str, list[str]] | None:
    text = read_file(path)
    if text is None or not _is_for_shell(text.partition("\n")[0]):
        return None
    return text, [path, *parameters]


def _is_for_shell(first_line: str) -> bool:
    words = re.split(r"[\s/]+", first_line)
    return words[0] != "#!" or not _SHELLS.isdisjoint(words)


def _is_of_wrapper(word: str) -> bool:
    return word.rpartition("/")[2] in _WRAPPERS or word.startswith("-") or "=" in word


def _split_script(
    script: str, parameters: Sequence[str], env: Mapping[str, str]
) -> Iterator[list[str]]:
    text = _COMMENT_LINE.sub("", script[:_LONGEST_SCRIPT])
    text = _LINE_CONTINUATION.sub(" ", text)
    text = _SUBSTITUTION.sub(ELSEWHERE_MARK, text)
    text = _expand_variables(text, _assigned(text, env))
    text = _PARAMETER.sub(lambda match: "".join(parameters[int(match[1]) :][:1]), text)
    text = _ALL_PARAMETERS.sub(lambda _: shlex.join(parameters[1:]), text)
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    command: list[str] = []
    for word in _words_until_broken(lexer):
        if _SEPARATOR.fullmatch(word):
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
    """The variables after a script; one that its branches set differently may have any value."""
    values = dict(env)
    found = _ASSIGNMENT.findall(script)
    for name, value in found:
        values[name] = _expand_variables(value.strip("\"'"), values)
    if _BRANCH.search(script):
        names = [*env, *(name for name, _ in found)]
        values |= {name: ELSEWHERE_MARK for name in names if names.count(name) > 1}
    return values


def _expand_variables(text: str, values: Mapping[str, str]) -> str:
    def replace(match: re.Match[str]) -> str:
        name, default, bare = match.groups()
        return values.get(name or bare, ELSEWHERE_MARK if default is None else default)

    return _SHELL_VARIABLE.sub(replace, text)
