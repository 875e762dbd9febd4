"""What the rules know of image names, as CEL expressions over a reference.

Made of the same words as `berth.rules.stack_view.image`; RE2 has no look-ahead, so a registry is
told by a pattern of its own.
"""

import re
from collections.abc import Iterable
from typing import Final

from berth.rules.stack_view import image as words

_HAS_REGISTRY: Final = r"(?i)^(?:localhost|[^/]*[.:][^/]*)/"
_IN_TAG: Final = r"(?i):(?:[^/@]*[^a-z0-9/@])?{}(?:[^a-z0-9/@][^/@]*)?(?:@.*)?$"
_END: Final = r"(?::[^/@]*)?(?:@.*)?$"
"""Tag and digest, which no name reaches into."""


def is_engine(reference: str) -> str:
    """Whether an image is an inference engine."""
    anywhere = rf"(?:[^@]*[^a-z0-9@])?(?:{_any(words.ENGINE_WORDS)})(?:[^a-z0-9].*)?$"
    llm_d = rf"(?:[^:@]*/)?{words.LLM_D.pattern}{_END}"
    named = f"({_matches(reference, anywhere)} || {_matches(reference, llm_d)})"
    beside = _matches(reference, _in_name(words.NOT_AN_ENGINE))
    last = rf"(?:[^@]*/)?(?:[^/@]*[^a-z0-9/@])?(?:{_any(words.ENGINE_WORDS)})(?:[^a-z0-9/][^/]*)?$"
    above = _matches(reference, _in_path(words.NOT_AN_ENGINE))
    beside = f"({beside} || (!{_matches(reference, last)} && {above}))"
    client = f"{reference}.matches({_literal(_IN_TAG.format(words.CLIENT_TAG))})"
    return f"({named} && !{beside} && !{client})"


def is_gpu_base(reference: str) -> str:
    """Whether it is a CUDA or PyTorch base image."""
    bases = "|".join(map(re.escape, words.BASES))
    return _matches(reference, rf"(?:[^:@]*/)?(?:{bases}){_END}")


def is_for_cpu(reference: str) -> str:
    """Whether it is a build for CPUs."""
    return _matches(reference, r"(?:[^@]*[^a-z0-9@])?cpu(?:[^a-z0-9].*)?$")


def is_gpu_agent(reference: str) -> str:
    """Whether it is part of what makes GPUs usable on a node."""
    vendors = _in_path(words.VENDOR_WORDS)
    by_name = _matches(reference, _in_name(words.AGENT_NAMES))
    by_vendor = _matches(reference, _in_name(words.VENDOR_AGENT_NAMES))
    other = _matches(reference, _in_name(words.NOT_GPU_WORDS))
    return f"((({by_name}) || ({_matches(reference, vendors)} && {by_vendor})) && !{other})"


def is_floating(reference: str) -> str:
    """Whether its tag moves, or there is none."""
    tags = "|".join(sorted(words.FLOATING))
    moves = _literal(rf"(?i):(?:{tags}|latest-[^/]*|[^/:]*-latest)$")
    tagged = _literal(r":[^/]*$")
    loose = f"({reference}.matches({moves}) || !{reference}.matches({tagged}))"
    return f"(!{reference}.contains('@') && {loose})"


def _in_name(names: Iterable[str]) -> str:
    """Words of the last part of the path."""
    return rf"(?:[^@]*/)?(?:[^/:@]*[^a-z0-9/:@])?(?:{_any(names)})(?:[^a-z0-9/:@][^/:@]*)?{_END}"


def _in_path(names: Iterable[str]) -> str:
    """Words of the path, without tag and digest."""
    return rf"(?:[^:@]*[^a-z0-9:@])?(?:{_any(names)})(?:[^a-z0-9:@][^:@]*)?{_END}"


def _any(names: Iterable[str]) -> str:
    return "|".join(name.replace("-", "[^a-z0-9/:@]+") for name in sorted(names))


def _matches(reference: str, pattern: str) -> str:
    bare, behind = _literal(f"(?i)^{pattern}"), _literal(f"(?i)^[^/]+/{pattern}")
    has_registry = f"{reference}.matches({_literal(_HAS_REGISTRY)})"
    return f"({has_registry} ? {reference}.matches({behind}) : {reference}.matches({bare}))"


def _literal(pattern: str) -> str:
    return f"r'{pattern}'"
