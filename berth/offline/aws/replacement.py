"""Which changes of an AWS resource replace it, and which are none."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from berth.offline.aws.facts import TypeFacts
from berth.offline.changes import Change, Comparison, pattern_of
from berth.offline.values import Properties, at_pattern, is_unknown, plain


def real_changes(
    facts: TypeFacts, region: str, old_inputs: Properties, old_outputs: Properties, new: Properties
) -> list[Change]:
    """The changes that the provider would see.

    Taking out what the cloud fills anyway, or writing down what it filled, changes nothing.
    """
    comparison = Comparison(lenient=True, sets=frozenset(facts.sets))
    found = comparison.changes(plain(old_inputs), plain(new))
    filled = plain(old_outputs)
    return [c for c in found if not _is_none(facts, region, filled, c, comparison)]


def _is_none(
    facts: TypeFacts, region: str, filled: Properties, change: Change, comparison: Comparison
) -> bool:
    if change.pattern == "region":
        return (change.old or region) == (change.new or region)
    by_cloud = change.pattern in (*facts.computed_optional, *facts.computed_nested)
    if not by_cloud:
        return False
    if change.kind == "delete":
        return True
    if change.kind == "add" and len(change.path) == 1 and not is_unknown(change.new):
        name = str(change.path[0])
        return not comparison.changes({name: filled.get(name)}, {name: change.new})
    return False


def replacing(facts: TypeFacts, changes: Sequence[Change], old: Properties) -> list[Change]:
    """Those of `changes` that cannot be made in place."""
    before = plain(old)
    return [c for c in changes if _replaces(facts, c, before)]


def _replaces(facts: TypeFacts, change: Change, old: Properties) -> bool:
    for leaf in _leaves(change):
        pattern = pattern_of(leaf.path)
        if any(pattern == p or pattern.startswith((f"{p}.", f"{p}[")) for p in facts.replace_on):
            return True
        if any(_condition_holds(rule, leaf, change, pattern, old) for rule in facts.replace_if):
            return True
    return False


def _leaves(change: Change) -> Iterator[Change]:
    """A block that comes or goes, as the properties in it; anything else as it is."""
    yield change
    block = change.new if change.kind == "add" else change.old
    if change.kind == "update":
        return
    if isinstance(block, Mapping):
        for key, value in block.items():
            yield from _leaves(_inner(change, key, value))
    elif isinstance(block, list):
        for index, value in enumerate(block):
            yield from _leaves(_inner(change, index, value))


def _inner(change: Change, step: str | int, value: Any) -> Change:
    path = (*change.path, step)
    if change.kind == "add":
        return Change(path, "add", None, value)
    return Change(path, "delete", value, None)


def _condition_holds(
    rule: Mapping[str, Any], leaf: Change, change: Change, pattern: str, old: Properties
) -> bool:
    wanted = rule["path"]
    if pattern != wanted and not pattern.startswith((f"{wanted}.", f"{wanted}[")):
        return False
    if any(at_pattern(old, path) != [value] for path, value in rule.get("with", {}).items()):
        return False
    if any(at_pattern(old, path) == [value] for path, value in rule.get("without", {}).items()):
        return False
    if "only" in rule and [leaf.old, leaf.new] != rule["only"]:
        return False
    if "unless" in rule and [leaf.old, leaf.new] == rule["unless"]:
        return False
    return _kind_matches(rule.get("change", "any"), leaf, change, wanted)


def _kind_matches(kind: str, leaf: Change, change: Change, wanted: str) -> bool:
    if kind == "presence":
        return leaf.pattern == wanted and leaf.kind != "update"
    if kind == "removed":
        return change.kind == "delete" and wanted.startswith(change.pattern)
    if kind == "lowered":
        return _number(leaf.new) < _number(leaf.old)
    if kind == "between":
        return leaf.kind == "update" and leaf.old not in (None, "")
    return True


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def renewed_outputs(facts: TypeFacts, changes: Sequence[Change], new: Properties) -> set[str]:
    """Outputs that the cloud will give a new value because of `changes`."""
    changed = {str(change.path[0]) for change in changes}
    found: set[str] = set()
    for output, rule in facts.unknown_after_change.items():
        if any(at_pattern(new, path) != [value] for path, value in rule.get("with", {}).items()):
            continue
        causes = changed & set(rule["on"]) if "on" in rule else changed - set(rule["except"])
        if causes:
            found.add(output)
    return found
