"""Exceptions of a configuration and of a resource: what they cover, and what is said of them."""

import re
from datetime import date
from typing import Any

import pytest

from berth.rules.exceptions import Acceptances, Match, is_excepted, read_exceptions
from berth.rules.finding import Excepted, Finding
from berth.rules.resource import Resource
from berth.rules.unknown import UNKNOWN

RULES = ("image-unpinned", "secret-plain-env", "toolkit-outdated", "tp-exceeds-gpus")
NAMES = "missing; give a list of names, * for any part of one"
TODAY = date(2026, 12, 1)
MATCH = [{"policies": ["image-unpinned"], "targets": ["chat"]}]


def finding(kind: str = "image-unpinned", resource: str = "chat", urn: str = "urn:chat") -> Finding:
    return Finding(
        kind=kind,
        severity="medium",
        enforcement_level="advisory",
        resource=resource,
        urn=urn,
        message="chat: moves; pin it",
        fix="set image",
    )


def entry(**changes: Any) -> dict[str, Any]:
    made = {"reason": "a canary", "owner": "serving", "match": MATCH, **changes}
    return {key: value for key, value in made.items() if value is not None}


def acceptances(*entries: dict[str, Any]) -> Acceptances:
    return Acceptances(read_exceptions(list(entries), RULES), TODAY)


@pytest.mark.parametrize(
    ("policies", "targets", "covers"),
    [
        (["image-unpinned"], ["chat"], True),
        (["image-*"], ["c*"], True),
        (["image-unpinned"], ["urn:*"], True),
        (["image-unpinned"], ["embed", "chat"], True),
        (["image-unpinned"], ["embed"], False),
        (["tp-exceeds-gpus"], ["chat"], False),
        (["Image-Unpinned"], ["chat"], False),
    ],
)
def test_a_match_names_rule_and_resource(
    policies: list[str], targets: list[str], *, covers: bool
) -> None:
    assert Match(tuple(policies), tuple(targets)).covers(finding()) is covers


def test_what_is_covered_is_left_out_and_the_rest_stays() -> None:
    other = finding(resource="embed", urn="urn:embed")

    assert acceptances(entry()).left_of([finding(), other]) == (other,)


def test_an_exception_holds_on_its_last_day_and_no_longer() -> None:
    assert acceptances(entry(ends_on="2026-12-01")).left_of([finding()]) == ()
    assert acceptances(entry(ends_on=date(2026, 11, 30))).left_of([finding()]) == (finding(),)


def test_one_that_has_ended_does_not_spoil_another() -> None:
    both = acceptances(entry(ends_on="2026-11-30"), entry())

    assert both.left_of([finding()]) == ()


def test_used_ended_and_unused_ones() -> None:
    made = acceptances(
        entry(),
        entry(ends_on="2026-11-30"),
        entry(owner=None, match=[{"policies": ["tp-exceeds-gpus"], "targets": ["*"]}]),
    )
    made.left_of([finding()])

    assert made.notes([], RULES) == (
        "exception of serving for image-unpinned: ended on 2026-11-30; fix or renew it",
        "exception for tp-exceeds-gpus: nothing is left that it covers; remove it",
    )


@pytest.mark.parametrize(
    ("data", "problems"),
    [
        ("all", ["exceptions: no list; give entries of reason, owner, ends_on and match"]),
        ({}, ["exceptions: no list; give entries of reason, owner, ends_on and match"]),
        (["all"], ["exceptions[0]: no mapping; give reason and match"]),
        (
            [entry(reason="  ")],
            ["exceptions[0].reason: missing; say why the findings are accepted"],
        ),
        (
            [entry(reason=7, because="x")],
            [
                "exceptions[0].reason: missing; say why the findings are accepted",
                "exceptions[0].because: not known; use reason, owner, ends_on, match",
            ],
        ),
        (
            [entry(match=[])],
            ["exceptions[0].match: missing; give a list of policies and targets"],
        ),
        (
            [entry(match="all")],
            ["exceptions[0].match: missing; give a list of policies and targets"],
        ),
        (
            [entry(), entry(match=[{"policies": ["image-unpinned"], "targets": []}])],
            [f"exceptions[1].match[0].targets: {NAMES}"],
        ),
        (
            [entry(match=[{"policies": "image-unpinned", "targets": [1]}])],
            [
                f"exceptions[0].match[0].policies: {NAMES}",
                f"exceptions[0].match[0].targets: {NAMES}",
            ],
        ),
        (
            [entry(match=["image-unpinned"])],
            [
                f"exceptions[0].match[0].policies: {NAMES}",
                f"exceptions[0].match[0].targets: {NAMES}",
            ],
        ),
        (
            [entry(match=[{"policies": ["image-pinned"], "targets": ["*"]}])],
            ["exceptions[0].match[0].policies: image-pinned is no rule; see `berth check --list`"],
        ),
        (
            [entry(match=[{"policies": ["*"], "targets": ["*"]}])],
            ["exceptions[0].ends_on: missing, and gpu-isolation-bypass needs one; give a day"],
        ),
        (
            [entry(match=[{"policies": ["toolkit-*"], "targets": ["*"]}], ends_on="soon")],
            ["exceptions[0].ends_on: soon is no day; write it as 2026-12-31"],
        ),
    ],
)
def test_what_is_not_whole_is_named_with_its_place(data: Any, problems: list[str]) -> None:
    with pytest.raises(ValueError, match=re.escape(problems[0])) as refused:
        read_exceptions(data, RULES)

    assert str(refused.value).splitlines() == problems


def test_a_mapping_may_hold_the_list_and_a_security_rule_an_end() -> None:
    (read,) = read_exceptions(
        {
            "exceptions": [
                entry(
                    owner=None,
                    ends_on="2026-12-31",
                    match=[{"policies": ["secret-plain-env"], "targets": ["chat"]}],
                )
            ]
        },
        RULES,
    )

    assert (read.reason, read.owner, read.ends_on) == ("a canary", "", date(2026, 12, 31))
    assert read.covers(finding(kind="secret-plain-env"))


def noted(key: str, reason: Any, *, as_tag: bool = False) -> Resource:
    notes = {f"berth.dev/except-{key}": reason, "team": "serving"}
    props = {"tags": notes} if as_tag else {"metadata": {"annotations": notes}}
    return Resource("kubernetes:apps/v1:Deployment", "chat", "urn:chat", props)


@pytest.mark.parametrize(
    ("resource", "excepted"),
    [
        (noted("image-unpinned", "a canary"), True),
        (noted("image-unpinned", "a canary", as_tag=True), True),
        (noted("image-unpinned", " "), False),
        (noted("image-unpinned", UNKNOWN), True),
        (noted("tp-exceeds-gpus", "a canary"), False),
        (Resource("t", "n", "u", {"metadata": {"annotations": UNKNOWN}}), False),
        (Resource("t", "n", "u", {"tags": [{"key": "berth.dev/except-image-unpinned"}]}), False),
        (Resource("t", "n", "u", {"tags": {1: "a", "image-unpinned": "a canary"}}), False),
    ],
)
def test_a_resource_gives_a_reason_of_its_own(resource: Resource, *, excepted: bool) -> None:
    assert is_excepted(resource, "image-unpinned") is excepted


def test_a_security_rule_takes_no_word_of_a_resource() -> None:
    assert not is_excepted(noted("secret-plain-env", "known"), "secret-plain-env")


def test_a_word_without_a_reason_is_named() -> None:
    assert acceptances().notes([noted("image-unpinned", "")], RULES) == (
        "chat: berth.dev/except-image-unpinned: no reason, so it covers nothing; "
        "say why, or remove it",
    )


@pytest.mark.parametrize(
    ("rule", "note"),
    [
        ("image-unpinned", ()),
        (
            "tp-exceeds-gpus",
            ("chat: berth.dev/except-tp-exceeds-gpus: nothing is left that it covers; remove it",),
        ),
        (
            "secret-plain-env",
            (
                "chat: berth.dev/except-secret-plain-env: a rule about security needs an end; "
                "give the exception in a file",
            ),
        ),
        (
            "image-pinned",
            (
                "chat: berth.dev/except-image-pinned: image-pinned is no rule; "
                "see `berth check --list`",
            ),
        ),
    ],
)
def test_a_word_of_a_resource_that_cannot_count_is_named_once(
    rule: str, note: tuple[str, ...]
) -> None:
    made = acceptances()
    made.note_excepted([Excepted("image-unpinned", "urn:chat", "chat")])
    resource = noted(rule, "a canary")

    assert made.notes([resource, resource], RULES) == note
