"""Renders the arguments of `aws.iam.get_policy_document` as the JSON document that AWS reads."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

_VERSION = "2012-10-17"


def render_policy_document(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The document as a structure: sources first, the own statements, then what overrides them.

    Statements with the same `sid` replace each other, the later one wins.
    """
    version = arguments.get("version") or _VERSION
    document: dict[str, Any] = {"Version": version}
    if arguments.get("policyId"):
        document["Id"] = arguments["policyId"]
    statements: list[dict[str, Any]] = []
    for source in _documents(arguments, "sourceJson", "sourcePolicyDocuments"):
        statements = _merged(statements, _statements(source))
    own = [_statement(statement, version) for statement in arguments.get("statements") or []]
    statements = _merged(statements, own)
    for override in _documents(arguments, "overrideJson", "overridePolicyDocuments"):
        statements = _merged(statements, _statements(override))
    document["Statement"] = statements
    return document


def _documents(arguments: Mapping[str, Any], single: str, several: str) -> list[Any]:
    texts = [arguments.get(single), *(arguments.get(several) or [])]
    return [json.loads(text) for text in texts if text]


def _statements(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    statements = document.get("Statement", [])
    return statements if isinstance(statements, list) else [statements]


def _merged(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[dict[str, Any]]:
    result = list(first)
    for statement in second:
        sid = statement.get("Sid")
        index = next((i for i, s in enumerate(result) if sid and s.get("Sid") == sid), None)
        if index is None:
            result.append(statement)
        else:
            result[index] = statement
    return result


def _statement(arguments: Mapping[str, Any], version: str) -> dict[str, Any]:
    statement: dict[str, Any] = {}
    if arguments.get("sid"):
        statement["Sid"] = arguments["sid"]
    statement["Effect"] = arguments.get("effect") or "Allow"
    for key, name in (
        ("actions", "Action"),
        ("notActions", "NotAction"),
        ("resources", "Resource"),
        ("notResources", "NotResource"),
    ):
        if arguments.get(key):
            statement[name] = _one_or_many([_variables(v, version) for v in arguments[key]])
    for key, name in (("principals", "Principal"), ("notPrincipals", "NotPrincipal")):
        if arguments.get(key):
            statement[name] = _principals(arguments[key])
    if arguments.get("conditions"):
        statement["Condition"] = _conditions(arguments["conditions"], version)
    return statement


def _principals(principals: Sequence[Mapping[str, Any]]) -> Any:
    if any(p["type"] == "*" and p["identifiers"] == ["*"] for p in principals):
        return "*"
    by_type: dict[str, list[str]] = {}
    for principal in principals:
        by_type.setdefault(principal["type"], []).extend(principal["identifiers"])
    return {kind: _one_or_many(identifiers) for kind, identifiers in by_type.items()}


def _conditions(conditions: Sequence[Mapping[str, Any]], version: str) -> dict[str, Any]:
    by_test: dict[str, dict[str, list[str]]] = {}
    for condition in conditions:
        values = by_test.setdefault(condition["test"], {}).setdefault(condition["variable"], [])
        values.extend(_variables(value, version) for value in condition["values"])
    return {
        test: {variable: _one_or_many(values) for variable, values in variables.items()}
        for test, variables in by_test.items()
    }


def _variables(text: str, version: str) -> str:
    """`&{aws:username}` is how a program writes the policy variable `${aws:username}`."""
    return text.replace("&{", "${") if version == _VERSION else text


def _one_or_many(values: list[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else sorted(values, reverse=True)
