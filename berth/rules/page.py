"""The page of a rule: what it finds, why, and a stack before and after, as Markdown and as data."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from berth.rules.admission.predicates import DIFFERENCES
from berth.rules.example import Example, load_example, name_of_entry
from berth.rules.exceptions import ANNOTATION, SECURITY_RULES
from berth.rules.remedies import REMEDIES
from berth.rules.rule import Rule

_WIDTH: Final = 100


def page_text(rule: Rule) -> str:
    """The page as Markdown."""
    example = load_example(rule.id)
    parts = [
        f"# {rule.id}",
        rule.title,
        _table(rule),
        f"**Why:** {rule.why}.",
        f"**Reads:** {rule.reads}.",
        f"**Source:** <{rule.source}>",
        f"## Broken\n\n{example.story}",
        _yaml_block(example.bad),
        f"Berth says:\n\n```\n{_verdict(example)}```",
        f"## Mended\n\n{_unchanged(example)}".rstrip(),
        _yaml_block([entry for entry in example.good if entry not in example.bad]),
        f"## Exceptions\n\n{_exceptions(rule)}",
        *_settings(rule),
        *_remedy(rule),
        *_admission(rule),
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def page_data(rule: Rule) -> dict[str, Any]:
    """The page for other programs."""
    example = load_example(rule.id)
    return {
        "id": rule.id,
        "title": rule.title,
        "severity": rule.severity,
        "enforcement_level": rule.level,
        "enforcement_level_in_prod": rule.level_in("prod"),
        "scope": rule.scope,
        "reads": rule.reads,
        "why": rule.why,
        "source": rule.source,
        "options": {name: dict(schema) for name, schema in rule.options.items()},
        "example": {
            "story": example.story,
            "bad": list(example.bad),
            "good": list(example.good),
            "findings": [
                {"resource": f.resource, "message": f.message, "fix": f.fix}
                for f in example.findings()
            ],
        },
    }


def index_text(rules: Sequence[Rule]) -> str:
    """The list of all pages as Markdown."""
    rows = [
        f"| [{rule.id}]({rule.id}.md) | {rule.severity} | {_level(rule)} | {rule.title} |"
        for rule in rules
    ]
    head = [
        "# Rules",
        "",
        f"{len(rules)} known mistakes of GPU inference on Kubernetes. `berth explain RULE` prints "
        "a page; `berth policies docs` writes them all from the rules.",
        "",
        "| rule | severity | level | a stack that keeps it |",
        "| --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *rows]) + "\n"


def _level(rule: Rule) -> str:
    return f"{rule.level}, mandatory in prod" if rule.mandatory_in_prod else rule.level


def _table(rule: Rule) -> str:
    judged = {
        "resource": "each resource alone, so that `up` stops before it is made",
        "stack": "all resources of the stack together",
    }
    return (
        "| severity | level | judges |\n| --- | --- | --- |\n"
        f"| {rule.severity} | {_level(rule)} | {judged[rule.scope]} |"
    )


def _verdict(example: Example) -> str:
    lines = []
    for finding in example.findings():
        lines.append(f"{finding.enforcement_level}  {finding.kind}  {finding.message}\n")
        lines.append(f"fix: {finding.fix}\n")
    return "".join(lines)


def _unchanged(example: Example) -> str:
    kept = [name_of_entry(entry) for entry in example.good if entry in example.bad]
    return f"As it was: {', '.join(kept)}." if kept else ""


def _exceptions(rule: Rule) -> str:
    if rule.id in SECURITY_RULES:
        return (
            "A rule about security takes no annotation. An entry in the file of `berth check "
            "--exceptions` or in the pack's configuration accepts a finding, and needs `ends_on`."
        )
    return (
        f"An annotation, or on AWS a tag, `{ANNOTATION}{rule.id}` whose value is the reason; or an "
        "entry in the file of `berth check --exceptions` or in the pack's configuration."
    )


def _remedy(rule: Rule) -> list[str]:
    if rule.id not in REMEDIES:
        return []
    wider = " It looks at one resource alone, so it changes every one that could have the mistake."
    return [
        "## Remediation\n\nAt the level `remediate` in the pack's configuration the pack makes the "
        "change itself. Off by default; secret values and those known after apply are left alone."
        + (wider if rule.scope == "stack" else "")
    ]


def _admission(rule: Rule) -> list[str]:
    difference = DIFFERENCES.get(rule.id)
    if difference is None:
        return []
    return [
        "## In the cluster\n\n`berth policies export` writes this rule as a "
        f"ValidatingAdmissionPolicy too. What that one leaves out: {difference}."
    ]


def _settings(rule: Rule) -> list[str]:
    if not rule.options:
        return []
    rows = [
        f"| `{name}` | {schema['type']} | {schema['description']} |"
        for name, schema in rule.options.items()
    ]
    table = "\n".join(["| key | type | meaning |", "| --- | --- | --- |", *rows])
    return [f"## Settings\n\nUnder `{rule.id}` in the pack's configuration.\n\n{table}"]


def _yaml_block(entries: Sequence[Mapping[str, Any]]) -> str:
    documents = yaml.dump_all(entries, Dumper=_Dumper, sort_keys=False, width=_WIDTH)
    return f"```yaml\n{documents}```"


class _Dumper(yaml.SafeDumper):
    """Writes lists of plain values on one line, longer texts as blocks, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        """Every value is written where it stands."""
        return True


def _write_text(dumper: _Dumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _write_list(dumper: _Dumper, items: list[Any]) -> yaml.Node:
    is_flat = all(isinstance(item, str | int) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=is_flat)


_Dumper.add_representer(str, _write_text)
_Dumper.add_representer(list, _write_list)
