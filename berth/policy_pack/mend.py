"""One resource without a mistake that can be mended mechanically, in the form the engine sends."""

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import analyzer_pb2

from berth.policy_pack.plain import is_sealed, plain_properties
from berth.rules.exceptions import Acceptances
from berth.rules.finding import Finding
from berth.rules.remedies import REMEDIES, remedied
from berth.rules.resource import Resource
from berth.rules.rule import Rule


def mend(
    rule: Rule,
    asked: analyzer_pb2.AnalyzeRequest,
    properties: Struct,
    options: Mapping[str, Any] | None,
    accepted: Acceptances,
) -> Struct | None:
    """The properties with what the rule asks for.

    None where it has no remedy or finds nothing, or where an exception covers the resource.
    """
    if rule.id not in REMEDIES:
        return None
    resource = Resource(asked.type, asked.name, asked.urn, plain_properties(properties).values)
    raw = json_format.MessageToDict(properties)
    mended = remedied(rule.id, resource, raw, options or {}, is_sealed)
    if mended is None or not accepted.left_of([_finding(rule, resource)]):
        return None
    struct = Struct()
    struct.update(mended)
    return struct


def _finding(rule: Rule, resource: Resource) -> Finding:
    return Finding(
        kind=rule.id,
        severity=rule.severity,
        enforcement_level=rule.level,
        resource=resource.name,
        urn=resource.urn,
        message="",
        fix="",
    )
