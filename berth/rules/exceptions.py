"""Exceptions: findings that somebody owns up to, by configuration or on the resource itself."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from berth.rules.finding import Finding
from berth.rules.resource import Resource
from berth.rules.stack_view.field import Field

ANNOTATION: Final = "berth.dev/except-"
"""Followed by the id of a rule; the value is the reason. A tag of the same name does the same."""

SECURITY_RULES: Final = frozenset(
    {
        "gpu-isolation-bypass",
        "public-endpoint-no-auth",
        "secret-plain-env",
        "toolkit-outdated",
    }
)
"""Rules whose exceptions have to end."""


@dataclass(frozen=True, slots=True)
class Match:
    """Rules and resources, with `*` for any part of a name."""

    policies: tuple[str, ...]
    targets: tuple[str, ...]
    """Names or URNs."""

    def covers(self, finding: Finding) -> bool:
        """Whether it is meant for a finding."""
        names = (finding.resource, finding.urn)
        return any(fnmatch.fnmatchcase(finding.kind, p) for p in self.policies) and any(
            fnmatch.fnmatchcase(name, target) for target in self.targets for name in names
        )


@dataclass(frozen=True, slots=True)
class PolicyException:
    """One exception of a configuration."""

    reason: str
    matches: tuple[Match, ...]
    owner: str = ""
    ends_on: date | None = None

    def covers(self, finding: Finding) -> bool:
        """Whether it is meant for a finding."""
        return any(match.covers(finding) for match in self.matches)


@dataclass(frozen=True, slots=True)
class Excepted:
    """What is left of the findings, and what is to be said of the exceptions."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def is_excepted(resource: Resource, kind: str) -> bool:
    """Whether a resource's own annotation or tag gives a reason to leave out a rule.

    Rules about security take no such word: their exceptions need an end, which a file gives.
    """
    if kind in SECURITY_RULES:
        return False
    body = Field(resource.props)
    for holder in (body.at("metadata", "annotations"), body.at("tags")):
        reason = holder.at(f"{ANNOTATION}{kind}").value
        if isinstance(reason, str) and reason.strip():
            return True
    return False


def read_exceptions(data: Any, known_rules: Sequence[str]) -> tuple[PolicyException, ...]:
    """The exceptions of a configuration.

    Args:
        data: a list, or a mapping that has it under `exceptions`.
        known_rules: ids that may be named.

    Raises:
        ValueError: if one is not whole; the text has a line for each problem.
    """
    listed = data.get("exceptions") if isinstance(data, Mapping) else data
    if not isinstance(listed, list):
        raise ValueError("exceptions: no list; give entries of reason, owner, ends_on and match")
    problems: list[str] = []
    found = []
    for index, entry in enumerate(listed):
        where = f"exceptions[{index}]"
        if not isinstance(entry, Mapping):
            problems.append(f"{where}: no mapping; give reason and match")
            continue
        found.append(_read(entry, where, known_rules, problems))
    if problems:
        raise ValueError("\n".join(problems))
    return tuple(found)


def _read(
    entry: Mapping[str, Any], where: str, known_rules: Sequence[str], problems: list[str]
) -> PolicyException:
    reason = entry.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        problems.append(f"{where}.reason: missing; say why the findings are accepted")
    for key in entry:
        if key not in ("reason", "owner", "ends_on", "match"):
            problems.append(f"{where}.{key}: not known; use reason, owner, ends_on, match")
    matches = tuple(_matches(entry.get("match"), where, known_rules, problems))
    ends_on = _day(entry.get("ends_on"), f"{where}.ends_on", problems)
    named = [p for match in matches for p in match.policies]
    secured = sorted(k for k in SECURITY_RULES if any(fnmatch.fnmatchcase(k, p) for p in named))
    if secured and ends_on is None and entry.get("ends_on") is None:
        problems.append(f"{where}.ends_on: missing, and {secured[0]} needs one; give a day")
    return PolicyException(str(reason or ""), matches, str(entry.get("owner") or ""), ends_on)


def _matches(
    listed: Any, where: str, known_rules: Sequence[str], problems: list[str]
) -> list[Match]:
    if not isinstance(listed, list) or not listed:
        problems.append(f"{where}.match: missing; give a list of policies and targets")
        return []
    found = []
    for index, entry in enumerate(listed):
        place = f"{where}.match[{index}]"
        policies = _names(entry, "policies", place, problems)
        targets = _names(entry, "targets", place, problems)
        for policy in policies:
            if not any(fnmatch.fnmatchcase(rule, policy) for rule in known_rules):
                problems.append(f"{place}.policies: {policy} is no rule; see `berth check --list`")
        found.append(Match(policies, targets))
    return found


def _names(entry: Any, key: str, place: str, problems: list[str]) -> tuple[str, ...]:
    listed = entry.get(key) if isinstance(entry, Mapping) else None
    if isinstance(listed, list) and listed and all(isinstance(name, str) for name in listed):
        return tuple(listed)
    problems.append(f"{place}.{key}: missing; give a list of names, * for any part of one")
    return ()


def _day(value: Any, place: str, problems: list[str]) -> date | None:
    if value is None or isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        problems.append(f"{place}: {value} is no day; write it as 2026-12-31")
        return None


def except_findings(
    findings: Sequence[Finding], exceptions: Sequence[PolicyException], today: date
) -> Excepted:
    """Leave out what exceptions cover, and say which have ended or cover nothing."""
    notes = []
    valid = []
    for exception in exceptions:
        covers = any(exception.covers(finding) for finding in findings)
        names = ", ".join(p for match in exception.matches for p in match.policies)
        by = f" of {exception.owner}" if exception.owner else ""
        if exception.ends_on is not None and exception.ends_on < today:
            notes.append(
                f"exception{by} for {names}: ended on {exception.ends_on}; fix or renew it"
            )
        elif not covers:
            notes.append(f"exception{by} for {names}: nothing is left that it covers; remove it")
        else:
            valid.append(exception)
    left = [f for f in findings if not any(e.covers(f) for e in valid)]
    return Excepted(tuple(left), tuple(notes))
