"""What `berth check` prints: text, JSON, SARIF and JUnit."""

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from berth.cli.check_inputs import Place
from berth.rules.finding import Finding, NotChecked
from berth.rules.page import page_text
from berth.rules.page_address import is_on_the_web, page_address
from berth.rules.rule import Rule

_SARIF_LEVEL = {"mandatory": "error", "advisory": "warning"}
_SECURITY_SEVERITY = {"low": "3.0", "medium": "5.0", "high": "8.0", "critical": "9.5"}


def as_text(findings: Sequence[Finding], not_checked: Sequence[NotChecked]) -> str:
    """For a person: each finding with its fix, the graver first, and a count."""
    lines = []
    for finding in sorted(findings, key=lambda f: f.enforcement_level == "advisory"):
        lines.append(f"{finding.enforcement_level:9}  {finding.kind}  {finding.message}")
        lines.append(f"           fix: {finding.fix}")
    lines += [f"unknown    {entry.kind}  {entry.message}" for entry in not_checked]
    mandatory = sum(finding.enforcement_level == "mandatory" for finding in findings)
    lines.append(f"{mandatory} mandatory, {len(findings) - mandatory} advisory findings")
    return "\n".join(lines) + "\n"


def as_json(findings: Sequence[Finding], not_checked: Sequence[NotChecked]) -> str:
    """For other programs."""
    violations = [
        {
            "kind": finding.kind,
            "severity": finding.severity,
            "enforcement_level": finding.enforcement_level,
            "resource": finding.resource,
            "message": finding.message,
            "fix": finding.fix,
        }
        for finding in findings
    ]
    entries = [
        {"kind": e.kind, "resource": e.resource, "field": e.field, "message": e.message}
        for e in not_checked
    ]
    return json.dumps({"violations": violations, "not_checked": entries}, indent=2) + "\n"


def as_sarif(
    findings: Sequence[Finding], rules: Sequence[Rule], places: Mapping[str, Place]
) -> str:
    """SARIF 2.1.0, which code hosts show beside the lines of a change."""
    ids = [rule.id for rule in rules]
    found = {finding.kind for finding in findings}
    run = {
        "tool": {
            "driver": {
                "name": "berth",
                "rules": [_sarif_rule(rule, found) for rule in rules],
            }
        },
        "results": [_sarif_result(finding, ids, places) for finding in findings],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, indent=2) + "\n"


def _sarif_rule(rule: Rule, found: Set[str]) -> dict[str, Any]:
    """A rule; with its page, which code hosts show beside a finding, where there is one."""
    address = page_address(rule.id)
    help_text = {"text": f"{rule.why}; `berth explain {rule.id}` shows how to mend it"}
    if rule.id in found:
        help_text["markdown"] = page_text(rule)
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "helpUri": address if is_on_the_web(address) else rule.source,
        "help": help_text,
        "defaultConfiguration": {"level": _SARIF_LEVEL[rule.level]},
        "properties": {"security-severity": _SECURITY_SEVERITY[rule.severity]},
    }


def _sarif_result(
    finding: Finding, ids: Sequence[str], places: Mapping[str, Place]
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.kind,
        "ruleIndex": ids.index(finding.kind),
        "level": _SARIF_LEVEL[finding.enforcement_level],
        "message": {"text": f"{finding.message}\nfix: {finding.fix}"},
    }
    place = places.get(finding.urn)
    if place:
        result["locations"] = [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(place.path.replace("\\", "/"))},
                    "region": {"startLine": place.line},
                },
                "logicalLocations": [{"name": finding.resource}],
            }
        ]
    return result


def as_junit(findings: Sequence[Finding], rules: Sequence[Rule]) -> str:
    """JUnit: one test per rule, failed where a mandatory finding is, with all findings."""
    by_kind: dict[str, list[Finding]] = {}
    for finding in findings:
        by_kind.setdefault(finding.kind, []).append(finding)
    cases = []
    failures = 0
    for rule in rules:
        found = by_kind.get(rule.id, [])
        lines = [f"{f.enforcement_level}: {f.message}; {f.fix}" for f in found]
        text = escape(_printable("\n".join(lines)))
        name = f'    <testcase classname="berth" name={quoteattr(rule.id)} time="0"'
        if any(finding.enforcement_level == "mandatory" for finding in found):
            failures += 1
            title = quoteattr(rule.title)
            cases.append(f"{name}><failure message={title}>{text}</failure></testcase>")
        elif found:
            cases.append(f"{name}><system-out>{text}</system-out></testcase>")
        else:
            cases.append(f"{name}/>")
    head = f'  <testsuite name="berth" tests="{len(rules)}" failures="{failures}" errors="0">'
    body = "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", head, *cases])
    return f"{body}\n  </testsuite>\n</testsuites>\n"


def _printable(text: str) -> str:
    """Without characters that XML has no way to write."""
    return "".join(c if c >= " " or c in "\n\t" else "?" for c in text)
