"""Exceptions: findings that somebody owns up to, by configuration or on the resource itself."""

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from berth.rules.finding import Excepted, Finding
from berth.rules.resource import Resource
from berth.rules.stack_view.field import Field
from berth.rules.unknown import UNKNOWN

ANNOTATION: Final = "berth.dev/except-"
"""Followed by the id of a rule; the value is the reason. A tag of the same name does the same."""

EXCEPTIONS_POLICY: Final = "policy-exceptions"
"""Under this name the configuration of the pack has its exceptions."""

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


def is_excepted(resource: Resource, kind: str) -> bool:
    """Whether a resource's own annotation or tag gives a reason to leave out a rule.

    Rules about security take no such word: their exceptions need an end, which a file gives.
    """
    return kind not in SECURITY_RULES and kind in _own_exceptions(resource)


def _own_exceptions(resource: Resource) -> tuple[str, ...]:
    """Ids of the rules that a resource's annotations and tags give a reason for."""
    return tuple(kind for kind, has_reason in _named_exceptions(resource) if has_reason)


def _named_exceptions(resource: Resource) -> Iterator[tuple[str, bool]]:
    """Ids of the rules that annotations and tags name, and whether they give a reason."""
    body = Field(resource.props)
    for holder in (body.at("metadata", "annotations").value, body.at("tags").value):
        if isinstance(holder, Mapping):
            for name, reason in holder.items():
                if isinstance(name, str) and name.startswith(ANNOTATION):
                    # one that is known after apply may hold a reason yet
                    has_reason = reason is UNKNOWN or (
                        isinstance(reason, str) and bool(reason.strip())
                    )
                    yield name.removeprefix(ANNOTATION), has_reason


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


class Acceptances:
    """The exceptions of one run, and which of them covered something.

    Shared by the threads that serve one stack: what it notes is only ever added to.
    """

    def __init__(self, exceptions: Sequence[PolicyException], today: date) -> None:
        self._exceptions = tuple(exceptions)
        self._today = today
        self._used: set[int] = set()
        self._excepted: set[Excepted] = set()

    def left_of(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """The findings that no exception covers; one that has ended covers nothing."""
        left = []
        for finding in findings:
            covering = [i for i, each in enumerate(self._exceptions) if each.covers(finding)]
            self._used.update(covering)
            if not any(not self._has_ended(self._exceptions[i]) for i in covering):
                left.append(finding)
        return tuple(left)

    def note_excepted(self, excepted: Iterable[Excepted]) -> None:
        """Remember what resources' own annotations and tags covered."""
        self._excepted.update(excepted)

    def notes(self, resources: Iterable[Resource], known_rules: Sequence[str]) -> tuple[str, ...]:
        """A line for each exception that has ended, covers nothing or cannot count."""
        lines = []
        for index, exception in enumerate(self._exceptions):
            names = ", ".join(p for match in exception.matches for p in match.policies)
            start = f"exception{f' of {exception.owner}' if exception.owner else ''} for {names}"
            if self._has_ended(exception):
                lines.append(f"{start}: ended on {exception.ends_on}; fix or renew it")
            elif index not in self._used:
                lines.append(f"{start}: nothing is left that it covers; remove it")
        for resource in resources:
            for kind, has_reason in _named_exceptions(resource):
                problem = (
                    self._problem_of_own(resource, kind, known_rules)
                    if has_reason
                    else "no reason, so it covers nothing; say why, or remove it"
                )
                if problem:
                    lines.append(f"{resource.name}: {ANNOTATION}{kind}: {problem}")
        return tuple(dict.fromkeys(lines))

    def _has_ended(self, exception: PolicyException) -> bool:
        return exception.ends_on is not None and exception.ends_on < self._today

    def _problem_of_own(self, resource: Resource, kind: str, known_rules: Sequence[str]) -> str:
        if kind not in known_rules:
            return f"{kind} is no rule; see `berth check --list`"
        if kind in SECURITY_RULES:
            return "a rule about security needs an end; give the exception in a file"
        if Excepted(kind, resource.urn, resource.name) not in self._excepted:
            return "nothing is left that it covers; remove it"
        return ""
