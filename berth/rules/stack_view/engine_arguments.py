"""Arguments of an inference engine, in every spelling, and the ranks that they ask for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from berth.rules.stack_view.command_line import ELSEWHERE_MARK, UNKNOWN_MARK
from berth.rules.unknown import KnownAfterApplyError

_PROGRAMS: Final = frozenset(
    ["text-generation-launcher", "text-embeddings-router", "tritonserver", "trtllm-serve"]
)
_SUBCOMMANDS: Final = frozenset({"vllm", "sglang", "lmdeploy", "ollama"})
"""Programs that serve when their first argument says so."""
_MODULE: Final = re.compile(r"vllm\.entrypoints\..*|sglang\.launch_server|lmdeploy\.serve\..*")
_SCRIPT: Final = re.compile(r"(.*/)?(vllm/entrypoints/.*api_server|sglang/launch_server)\.py")

_TENSOR: Final = ("--tensor-parallel-size", "-tp", "--tp", "--tp-size", "--num-shard")
_PIPELINE: Final = ("--pipeline-parallel-size", "-pp", "--pp", "--pp-size")
_DATA: Final = ("--data-parallel-size", "-dp", "--dp", "--dp-size")
_DATA_LOCAL: Final = ("--data-parallel-size-local", "-dpl")
_NODES: Final = ("--nnodes", "-n")
_DATA_SPREAD: Final = (
    "--data-parallel-rank",
    "-dpn",
    "--data-parallel-external-lb",
    "-dpe",
    "--data-parallel-hybrid-lb",
    "-dph",
    "--enable-dp-attention",
)
"""With one of these, not all data-parallel ranks add to the GPUs of this container."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """How an engine is split. None: the stack leaves the number to the cluster or the image."""

    tensor: int | None
    pipeline: int | None
    data: int | None
    """Data-parallel ranks inside this container."""
    nodes: int | None
    """Containers that together hold one tensor and pipeline parallel group."""
    tensor_option: str
    """How the arguments spell the tensor parallel size."""


def starts_engine(words: Sequence[str]) -> bool:
    """Whether a command is that of an inference engine."""
    return engine_options(words) is not None


def engine_options(words: Sequence[str]) -> list[str] | None:
    """The words after the part of a command that starts an engine; None if none does."""
    for index, word in enumerate(words):
        if word.startswith("#"):
            return None
        following = words[index + 1] if index + 1 < len(words) else ""
        program = word.rpartition("/")[2]
        if program in _PROGRAMS or _SCRIPT.fullmatch(word):
            return list(words[index + 1 :])
        if program in _SUBCOMMANDS and following == "serve":
            return list(words[index + 2 :])
        if word == "-m" and _MODULE.fullmatch(following):
            return list(words[index + 2 :])
    return None


@dataclass(frozen=True, slots=True)
class EngineArguments:
    """Options of one engine, read as its own parser reads them."""

    words: tuple[str, ...]
    path: str
    """Where they are in the resource."""

    def value(self, *names: str) -> str | None:
        """The last value given to any of `names`; None if none is given.

        It may hold `ELSEWHERE_MARK`.

        Raises:
            KnownAfterApplyError: if the value is known after apply, or a word that may be the
                option.
        """
        found: str | None = None
        hidden = False
        index = 0
        while index < len(self.words):
            name, equals, value = self.words[index].partition("=")
            index += 1
            if name == UNKNOWN_MARK:
                hidden = True
            takes_next = name.startswith("-") and not equals and self._has_value(index)
            if takes_next:
                value = self.words[index]
                index += 1
            if _normal(name) in names and (equals or takes_next):
                found = value
        if (found is None and hidden) or (found is not None and UNKNOWN_MARK in found):
            raise KnownAfterApplyError(self.path)
        return found

    def has(self, *names: str) -> bool:
        """Whether any of `names` is given, with or without a value."""
        return any(_normal(word.partition("=")[0]) in names for word in self.words)

    def spelling(self, *names: str) -> str:
        """The last of `names` that is given, as it is spelled there; else the first."""
        given = [word.partition("=")[0] for word in self.words]
        return next((word for word in reversed(given) if _normal(word) in names), names[0])

    def ranks(self) -> Ranks:
        """The parallel sizes.

        Raises:
            KnownAfterApplyError: if one is known after apply.
        """
        return Ranks(
            tensor=self._count(_TENSOR),
            pipeline=self._count(_PIPELINE),
            data=self._data(),
            nodes=self._count(_NODES),
            tensor_option=self.spelling(*_TENSOR),
        )

    def _data(self) -> int | None:
        if self.has(*_DATA_LOCAL):
            return self._count(_DATA_LOCAL)
        return 1 if self.has(*_DATA_SPREAD) else self._count(_DATA)

    def _count(self, names: tuple[str, ...]) -> int | None:
        value = self.value(*names)
        if value is None:
            return 1
        if ELSEWHERE_MARK in value or not re.fullmatch(r"[0-9]{1,6}", value.strip()):
            return None
        return int(value)

    def _has_value(self, index: int) -> bool:
        if index >= len(self.words):
            return False
        following = self.words[index]
        return not following.startswith("-") or bool(re.fullmatch(r"-[0-9.]+", following))


def _normal(name: str) -> str:
    """VLLM takes `_` for `-` in the name of a long option."""
    return name.replace("_", "-") if name.startswith("--") else name
