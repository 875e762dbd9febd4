"""Remediations in the engine's own form: what is secret, unknown or accepted stays as it is."""

from collections.abc import Mapping
from typing import Any

import pytest
from google.protobuf import json_format
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import EnforcementLevel
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

from berth.policy_pack.analyzer import BerthAnalyzer
from berth.policy_pack.policies import make_policies
from berth.rules.registry import RULES
from tests.unit.policy_pack.engine import CONTEXT, secret, struct

KIND = "gpu-request-limit-mismatch"
EXCEPTION = {"reason": "on purpose", "match": [{"policies": [KIND], "targets": ["chat"]}]}


def pod(limit: Any = 2, **more: Any) -> dict[str, Any]:
    amounts = {"limits": {"nvidia.com/gpu": limit}, "requests": {"nvidia.com/gpu": 1}}
    return {"spec": {"containers": [{"name": "a", "resources": amounts, **more}]}}


def remediate(
    props: Mapping[str, Any], *kinds: str, exceptions: list[dict[str, Any]] | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """Policy and properties of each change."""
    pack = BerthAnalyzer("berth", "0.1.0", make_policies(RULES), EnforcementLevel.ADVISORY)
    settings = analyzer_pb2.ConfigureAnalyzerRequest()
    for kind in kinds:
        settings.policyConfig[kind].enforcementLevel = analyzer_pb2.REMEDIATE
    if exceptions:
        stated = settings.policyConfig["policy-exceptions"]
        stated.enforcementLevel = analyzer_pb2.ADVISORY
        stated.properties.update({"exceptions": exceptions})
    pack.Configure(settings, CONTEXT)
    request = analyzer_pb2.AnalyzeRequest(
        type="kubernetes:core/v1:Pod", name="chat", urn="urn:chat", properties=struct(props)
    )
    answer = pack.Remediate(request, CONTEXT)
    assert all(change.policyPackName == "berth" for change in answer.remediations)
    return [(c.policyName, json_format.MessageToDict(c.properties)) for c in answer.remediations]


def test_it_is_off_until_the_level_is_chosen() -> None:
    assert remediate(pod()) == []


def test_secrets_and_unknown_values_come_back_as_they_came() -> None:
    env = [{"name": "A", "value": secret("x")}, {"name": "B", "value": UNKNOWN_STRING_VALUE}]

    ((kind, props),) = remediate(pod(env=env), KIND)

    (container,) = props["spec"]["containers"]
    assert kind == KIND
    assert container["resources"]["requests"] == {"nvidia.com/gpu": 2}
    assert container["env"] == env


@pytest.mark.parametrize("limit", [secret(2), UNKNOWN_STRING_VALUE])
def test_what_is_sealed_is_not_copied(limit: Any) -> None:
    assert remediate(pod(limit), KIND) == []


def test_each_policy_sees_what_the_one_before_made() -> None:
    both = remediate(pod(2, args=["vllm", "serve", "m", "-tp", "2"]), KIND, "shm-too-small")

    assert [kind for kind, _ in both] == [KIND, "shm-too-small"]
    last = both[-1][1]["spec"]
    assert last["containers"][0]["resources"]["requests"] == {"nvidia.com/gpu": 2}
    assert [volume["name"] for volume in last["volumes"]] == ["dshm"]


def test_a_rule_without_a_remedy_changes_nothing() -> None:
    assert remediate(pod(), "image-unpinned", "gpu-request-missing") == []


def test_what_is_accepted_is_not_mended() -> None:
    assert remediate(pod(), KIND, exceptions=[EXCEPTION]) == []
