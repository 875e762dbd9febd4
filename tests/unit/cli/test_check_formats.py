"""SARIF and JUnit as their readers want them."""

import json
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from berth.cli.check_formats import as_junit, as_sarif
from berth.cli.check_inputs import Place
from berth.rules.check import check
from berth.rules.example import as_resources, load_example
from berth.rules.finding import Finding
from berth.rules.registry import RULES

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
RULE = {
    "type": "object",
    "required": ["id", "shortDescription", "fullDescription", "help"],
    "properties": {
        "id": {"type": "string", "maxLength": 255},
        "shortDescription": TEXT,
        "fullDescription": TEXT,
        "help": TEXT,
        "helpUri": {"type": "string", "pattern": "^https://"},
        "defaultConfiguration": {"properties": {"level": LEVEL}},
        "properties": {"properties": {"security-severity": {"pattern": r"^\d+\.\d$"}}},
    },
}
PLACE = {
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {"required": ["uri"]},
                "region": {"properties": {"startLine": {"type": "integer", "minimum": 1}}},
            },
        },
        "logicalLocations": {"type": "array", "uniqueItems": True},
    },
}
RESULT = {
    "required": ["message", "ruleId", "ruleIndex", "level"],
    "properties": {
        "message": TEXT,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "locations": {"type": "array", "items": PLACE},
    },
}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "$schema": {"type": "string", "format": "uri"},
        "runs": {
            "type": "array",
            "items": {
                "required": ["tool"],
                "additionalProperties": False,
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": RULE,
                                    }
                                },
                            }
                        },
                    },
                    "results": {"type": "array", "items": RESULT},
                },
            },
        },
    },
}
"""What SARIF 2.1.0 demands of the parts that are used (OASIS, sections 3.13 to 3.52), and what
GitHub's code scanning wants besides: texts of rules, a web address for help, a numeric severity."""


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    """One broken stack of each rule."""
    return [f for rule in RULES for f in check(as_resources(load_example(rule.id).bad)).findings]


def test_sarif_is_valid(findings: list[Finding]) -> None:
    places = {finding.urn: Place("a b/chat.yaml", 3) for finding in findings}

    document: dict[str, Any] = json.loads(as_sarif(findings, RULES, places))

    jsonschema.validate(document, SARIF)
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) >= len(RULES)
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
    uris = {
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]
    }
    assert uris == {"a%20b/chat.yaml"}


def test_sarif_carries_the_page_of_what_was_found(findings: list[Finding]) -> None:
    (found, *_) = findings

    document = json.loads(as_sarif([found], RULES, {}))

    rules = document["runs"][0]["tool"]["driver"]["rules"]
    pages = {rule["id"]: rule["help"].get("markdown", "") for rule in rules}
    assert pages[found.kind].startswith(f"# {found.kind}\n")
    assert [rule_id for rule_id, page in pages.items() if page] == [found.kind]


def test_junit_is_read_as_its_readers_do(findings: list[Finding]) -> None:
    root = ElementTree.fromstring(as_junit(findings, RULES))

    assert root.tag == "testsuites"
    (suite,) = root
    cases = suite.findall("testcase")
    failed = [case for case in cases if case.find("failure") is not None]
    assert suite.get("name") == "berth"
    assert (suite.get("tests"), suite.get("failures")) == (str(len(cases)), str(len(failed)))
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(RULES)
    assert all(case.get("time") is not None for case in cases)
    mandatory = {f.kind for f in findings if f.enforcement_level == "mandatory"}
    assert {case.get("name") for case in failed} == mandatory
    assert all((case.find("failure") is None) or case[0].get("message") for case in cases)


def test_nothing_found_is_valid_too() -> None:
    jsonschema.validate(json.loads(as_sarif([], RULES, {})), SARIF)
    (suite,) = ElementTree.fromstring(as_junit([], RULES))
    assert suite.get("failures") == "0"
