"""What is wrong with the inputs of an AWS resource beyond their types: values and bounds."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from berth.offline.aws.facts import TypeFacts
from berth.offline.changes import Path
from berth.offline.checks import Problem
from berth.offline.values import UNKNOWN, Properties, at_pattern, is_unknown, steps

Match = Callable[[str, str], re.Match[str] | None]


def problems_of(facts: TypeFacts, inputs: Properties) -> Iterator[Problem]:
    """Every problem that the provider would report in a preview."""
    yield from _enum_problems(facts, inputs)
    yield from _combination_problems(facts, inputs)
    yield from _limit_problems(facts.limits, inputs, re.search)


def service_problems(facts: TypeFacts, inputs: Properties) -> Iterator[Problem]:
    """What only the service refuses, when the resource is made."""
    yield from _limit_problems(facts.api_limits, inputs, re.fullmatch)


def _enum_problems(facts: TypeFacts, inputs: Properties) -> Iterator[Problem]:
    for pattern, values in facts.enums.items():
        allowed = [str(value) for value in values]
        for value in at_pattern(inputs, pattern):
            if not is_unknown(value) and not isinstance(value, list) and str(value) not in allowed:
                text = f"{pattern} is {value}, which is not one of {', '.join(allowed)}"
                yield Problem(_top(pattern), text)


def _combination_problems(facts: TypeFacts, inputs: Properties) -> Iterator[Problem]:
    for pair in facts.conflicts:
        for block, (first, second) in _blocks(inputs, pair):
            if _is_set(block, first) and _is_set(block, second):
                yield Problem(_top(pair[0]), f"{pair[0]} and {pair[1]} are both set; leave one out")
    for names in facts.exactly_one_of:
        for block, short_names in _blocks(inputs, names):
            given = [name for name in short_names if _is_set(block, name)]
            if len(given) != 1:
                listed = ", ".join(given) or "none"
                text = f"exactly one of {', '.join(names)} must be set; given: {listed}"
                yield Problem(_top(names[0]) if "." in names[0] else (), text)
    for name, others in facts.required_with.items():
        missing = [other for other in others if not _is_set(inputs, other)]
        if _is_set(inputs, name) and missing:
            yield Problem(_top(name), f"{name} needs {', '.join(missing)} as well")


def _blocks(inputs: Properties, names: Sequence[str]) -> Iterator[tuple[Any, list[str]]]:
    """Each block that holds all of `names`, and what they are called inside it."""
    parents = [name.rpartition(".")[0] for name in names]
    parent = min(parents, key=len)
    if not parent or not all(p == parent or p.startswith(f"{parent}.") for p in parents):
        yield inputs, list(names)
        return
    for block in at_pattern(inputs, parent):
        yield block, [name.removeprefix(f"{parent}.") for name in names]


def _limit_problems(
    limits: Mapping[str, Mapping[str, Any]], inputs: Properties, match: Match
) -> Iterator[Problem]:
    for pattern, bounds in limits.items():
        for value in at_pattern(inputs, pattern):
            if is_unknown(value) or value == bounds.get("or", UNKNOWN):
                continue
            for problem in _broken_bounds(value, bounds, match):
                yield Problem(_top(pattern), f"{pattern} {problem}")


def _broken_bounds(value: Any, bounds: Mapping[str, Any], match: Match) -> Iterator[str]:
    if isinstance(value, list):
        if len(value) > bounds.get("max_items", len(value)):
            yield f"has {len(value)} elements, at most {bounds['max_items']} are allowed"
        if len(value) < bounds.get("min_items", 0):
            yield f"has {len(value)} elements, at least {bounds['min_items']} are needed"
        return
    number = _number(value)
    if number is not None:
        yield from _broken_number(number, value, bounds)
    if isinstance(value, str):
        yield from _broken_text(value, bounds, match)


def _broken_number(number: float, given: Any, bounds: Mapping[str, Any]) -> Iterator[str]:
    if "min" in bounds and number < bounds["min"]:
        yield f"is {given}, below the lowest value {bounds['min']}"
    if "max" in bounds and number > bounds["max"]:
        yield f"is {given}, above the highest value {bounds['max']}"
    if "multiple_of" in bounds and number % bounds["multiple_of"]:
        yield f"is {given}, which is not a multiple of {bounds['multiple_of']}"


def _broken_text(text: str, bounds: Mapping[str, Any], match: Match) -> Iterator[str]:
    if len(text) < bounds.get("min_length", 0):
        yield f"has {len(text)} characters, at least {bounds['min_length']} are needed"
    if len(text) > bounds.get("max_length", len(text)):
        yield f"has {len(text)} characters, at most {bounds['max_length']} are allowed"
    if "pattern" in bounds and match(bounds["pattern"], text) is None:
        yield f"does not match the pattern {bounds['pattern']}"


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _is_set(inputs: Properties, pattern: str) -> bool:
    """Set means: there, and not the empty value that a provider takes for nothing."""
    return any(value not in ("", [], {}) for value in at_pattern(inputs, pattern))


def _top(pattern: str) -> Path:
    return (steps(pattern)[0],)
