"""Arguments of an inference engine, in every spelling, and the ranks that they ask for."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from berth.rules.stack_view.command_line import ELSEWHERE_MARK, UNKNOWN_MARK
from berth.rules.unknown import KnownAfterApplyError

Engine = Literal[
    "vllm", "sglang", "tgi", "tei", "triton", "tensorrt-llm", "nim", "lmdeploy", "ollama"
]

PROGRAMS: Final[Mapping[str, Engine]] = {
    "text-generation-launcher": "tgi",
    "text-embeddings-router": "tei",
    "tritonserver": "triton",
    "trtllm-serve": "tensorrt-llm",
}
SUBCOMMANDS: Final[Mapping[str, Engine]] = {
    "vllm": "vllm",
    "sglang": "sglang",
    "lmdeploy": "lmdeploy",
    "ollama": "ollama",
}
"""Programs that serve when their first argument says so."""
_MODULE: Final = re.compile(
    r"(vllm)\.entrypoints\..*|(sglang)\.launch_server|(lmdeploy)\.serve\..*|dynamo\.(vllm|sglang)"
)
_SCRIPT: Final = re.compile(r"(?:.*/)?(vllm|sglang)/(?:entrypoints/.*api_server|launch_server)\.py")
_MODEL_OPTIONS: Final[Mapping[Engine, tuple[str, ...]]] = {
    "vllm": ("--model",),
    "sglang": ("--model-path", "--model"),
    "tgi": ("--model-id",),
    "tei": ("--model-id",),
}
_POSITIONAL_MODEL: Final = frozenset({"vllm", "tensorrt-llm", "lmdeploy"})
_SUBCOMMANDS_BEFORE_MODEL: Final = frozenset({"serve", "api_server"})

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


def find_engine(words: Sequence[str]) -> tuple[Engine, list[str]] | None:
    """The engine that a command starts and the words after that part; None if none does."""
    for index, word in enumerate(words):
        if word.startswith("#"):
            return None
        following = words[index + 1] if index + 1 < len(words) else ""
        program = word.rpartition("/")[2]
        if program in PROGRAMS:
            return PROGRAMS[program], list(words[index + 1 :])
        if script := _SCRIPT.fullmatch(word):
            return SUBCOMMANDS[script[1]], list(words[index + 1 :])
        if program in SUBCOMMANDS and following == "serve":
            return SUBCOMMANDS[program], list(words[index + 2 :])
        if word == "-m" and (module := _MODULE.fullmatch(following)):
            name = next(group for group in module.groups() if group)
            return SUBCOMMANDS[name], list(words[index + 2 :])
    return None


@dataclass(frozen=True, slots=True)
class EngineArguments:
    """Options of one engine, read as its own parser reads them."""

    words: tuple[str, ...]
    path: str
    """Where they are in the resource."""
    engine: Engine | None = None
    """None: an image of an engine that is not known for its options."""
    is_partial: bool = False
    """More of them are in a file that the stack does not show, or in a script of the image."""

    def value(self, *names: str) -> str | None:
        """The last value given to any of `names`; None if none is given.

        It may hold `ELSEWHERE_MARK`, as it does where a file or a variable that is not shown may
        give it.

        Raises:
            KnownAfterApplyError: if the value is known after apply, or a word that may be the
                option.
        """
        found: str | None = None
        hidden = False
        is_partial = self.is_partial
        index = 0
        while index < len(self.words):
            name, equals, value = self.words[index].partition("=")
            index += 1
            if name == UNKNOWN_MARK:
                hidden = True
            if name == ELSEWHERE_MARK and (index > 1 or self.engine not in _POSITIONAL_MODEL):
                is_partial = True
            takes_next = name.startswith("-") and not equals and self._has_value(index)
            if takes_next:
                value = self.words[index]
                index += 1
            if _normal(name) in names and (equals or takes_next):
                found = value
        if (found is None and hidden) or (found is not None and UNKNOWN_MARK in found):
            raise KnownAfterApplyError(self.path)
        return ELSEWHERE_MARK if found is None and is_partial else found

    def text(self, *names: str) -> str | None:
        """The value as far as the stack states it; None where it does not."""
        value = self.value(*names)
        return None if value is None or ELSEWHERE_MARK in value else value.strip()

    def number(self, *names: str) -> float | None:
        """The value as a number; None where it is not stated or not one."""
        value = self.text(*names)
        try:
            number = float(value) if value else None
        except ValueError:
            return None
        return number if number is not None and math.isfinite(number) else None

    def tokens(self, *names: str) -> int | None:
        """A count of tokens, which vLLM also takes as `8k` (thousands) and `8K` (of 1024)."""
        value = self.text(*names) or ""
        match = re.fullmatch(r"([0-9]{1,9})(\.[0-9]+)?([kKmM]?)", value)
        if not match:
            return None
        scale = {"": 1, "k": 1000, "K": 1024, "m": 1000**2, "M": 1024**2}[match[3]]
        return int(float(match[1] + (match[2] or "")) * scale)

    def model(self, env: Mapping[str, str]) -> str | None:
        """The model that it loads: a repository or a path; None where the stack does not say.

        Args:
            env: variables of the container that are stated.
        """
        if self.engine is None:
            return None
        stated = self.text(*_MODEL_OPTIONS.get(self.engine, ()))
        if stated is None and self.engine in _POSITIONAL_MODEL:
            stated = self._first_positional()
        if stated is None and self.engine in ("tgi", "tei"):
            stated = env.get("MODEL_ID")
        return stated or None

    def _first_positional(self) -> str | None:
        rest = [word for word in self.words[:2] if word not in _SUBCOMMANDS_BEFORE_MODEL]
        if not rest or rest[0].startswith("-"):
            return None
        has_mark = ELSEWHERE_MARK in rest[0] or UNKNOWN_MARK in rest[0]
        return None if has_mark else rest[0].strip()

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
