"""The engine's side of the analyzer's protocol, in one process."""

from collections.abc import Mapping
from typing import Any
from unittest import mock

from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import EnforcementLevel
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY

from berth.policy_pack.analyzer import BerthAnalyzer
from berth.policy_pack.policies import make_policies
from berth.rules.registry import RULES as ALL_RULES

CONTEXT: Any = mock.Mock(name="ServicerContext")
LEVEL_NAMES = {
    analyzer_pb2.ADVISORY: "advisory",
    analyzer_pb2.MANDATORY: "mandatory",
    analyzer_pb2.DISABLED: "disabled",
}

RULES = [
    rule
    for rule in ALL_RULES
    if rule.id
    in (
        "driver-double-install",
        "gpu-pool-untainted",
        "gpu-request-limit-mismatch",
        "gpu-request-missing",
        "image-unpinned",
        "missing-toleration",
        "tp-exceeds-gpus",
    )
]
"""Enough of every level and scope to try the pack with."""


def secret(value: Any) -> dict[str, Any]:
    """A secret as it travels."""
    return {SPECIAL_SIG_KEY: SPECIAL_SECRET_SIG, "value": value}


def struct(props: Mapping[str, Any]) -> Struct:
    """Properties as they travel."""
    message = Struct()
    message.update(dict(props))
    return message


def analyzer(
    *,
    stack: str = "dev",
    config: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
) -> BerthAnalyzer:
    """The pack, told of its stack."""
    made = BerthAnalyzer("berth", "0.1.0", make_policies(RULES), EnforcementLevel.ADVISORY)
    request = analyzer_pb2.AnalyzerStackConfigureRequest(
        stack=stack, project="p", config=config or {}, tags=tags or {}
    )
    made.ConfigureStack(request, CONTEXT)
    return made


def info_of(pack: BerthAnalyzer) -> analyzer_pb2.AnalyzerInfo:
    """What the pack says of itself."""
    info: analyzer_pb2.AnalyzerInfo = pack.GetAnalyzerInfo(  # type: ignore[no-untyped-call]
        None, CONTEXT
    )
    return info


def configure(
    pack: BerthAnalyzer,
    *,
    levels: Mapping[str, str] | None = None,
    properties: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Settings as the engine hands them on: every policy with its level, then what the user set."""
    info = info_of(pack)
    values = {name: number for number, name in LEVEL_NAMES.items()}
    request = analyzer_pb2.ConfigureAnalyzerRequest()
    for policy in info.policies:
        entry = request.policyConfig[policy.name]
        chosen = (levels or {}).get(policy.name)
        entry.enforcementLevel = values[chosen] if chosen else policy.enforcementLevel
        entry.properties.update(dict((properties or {}).get(policy.name, {})))
    pack.Configure(request, CONTEXT)


def analyze(
    pack: BerthAnalyzer, type_token: str, props: Mapping[str, Any]
) -> analyzer_pb2.AnalyzeResponse:
    """Have one resource judged."""
    request = analyzer_pb2.AnalyzeRequest(
        type=type_token, name="chat", urn="urn:chat", properties=struct(props)
    )
    return pack.Analyze(request, CONTEXT)


def analyze_stack(
    pack: BerthAnalyzer, *resources: tuple[str, str, Mapping[str, Any]]
) -> analyzer_pb2.AnalyzeResponse:
    """Have a stack judged: type, name and properties of each resource."""
    sent = [
        analyzer_pb2.AnalyzerResource(
            type=type_token, name=name, urn=f"urn:{name}", properties=struct(props)
        )
        for type_token, name, props in resources
    ]
    return pack.AnalyzeStack(analyzer_pb2.AnalyzeStackRequest(resources=sent), CONTEXT)


def levels_of(response: analyzer_pb2.AnalyzeResponse) -> dict[str, str]:
    """Level of each violation by policy."""
    return {d.policyName: LEVEL_NAMES[d.enforcementLevel] for d in response.diagnostics}
