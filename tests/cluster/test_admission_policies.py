"""The exported admission policies on a real API server: they deny exactly what the rules find."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from berth.rehearsal.api import Api, ApiError
from berth.rehearsal.control_plane import ControlPlane
from berth.rules.admission.objects import Parameters, admission_objects, exported_rules
from tests.unit.rules.admission_cases import CASES

pytestmark = pytest.mark.cluster

GROUP = "/apis/admissionregistration.k8s.io/v1"
PLURALS = {
    "ConfigMap": ("/api/v1", "configmaps"),
    "CronJob": ("/apis/batch/v1", "cronjobs"),
    "DaemonSet": ("/apis/apps/v1", "daemonsets"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "Pod": ("/api/v1", "pods"),
    "StatefulSet": ("/apis/apps/v1", "statefulsets"),
}
PLURALS_OF_POLICIES = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
PATIENCE_S = 60
RULES = tuple(rule.id for rule in exported_rules())


@pytest.fixture(scope="module")
def api(cluster_programs: None) -> Iterator[Api]:
    """An API server with every policy, each bound to a namespace of its own, called like it."""
    with ControlPlane() as plane:
        for rule in exported_rules():
            metadata = {"name": rule.id}
            plane.api.create(
                "/api/v1/namespaces",
                {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata},
            )
            parameters = Parameters(actions=("Deny",), namespaces=(rule.id,))
            for made in admission_objects(parameters, [rule]):
                plane.api.create(f"{GROUP}/{PLURALS_OF_POLICIES[made['kind']]}", made)
        wait_until_in_force(plane.api)
        yield plane.api


def wait_until_in_force(api: Api) -> None:
    """Policies take a moment to be compiled; a case that each denies tells."""
    known_bad = {kind: body for body, kinds in CASES.values() for kind in kinds}
    deadline = time.monotonic() + PATIENCE_S
    for rule in RULES:
        while denial(api, rule, known_bad[rule]) is None:
            assert time.monotonic() < deadline, f"{rule} denies nothing"
            time.sleep(0.2)


def denial(api: Api, namespace: str, body: dict[str, Any]) -> str | None:
    """Why an object may not be made there; None if it may. Nothing is kept."""
    prefix, plural = PLURALS[body["kind"]]
    try:
        api.create(f"{prefix}/namespaces/{namespace}/{plural}?dryRun=All", body)
    except ApiError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", CASES)
def test_the_api_server_agrees_with_the_rules(api: Api, name: str) -> None:
    body, kinds = CASES[name]

    denials = {rule: denial(api, rule, body) for rule in RULES}

    assert {rule for rule, text in denials.items() if text} == kinds
    for rule in kinds:
        assert f"denied request: {rule}: chat: " in (denials[rule] or "")


def test_a_denial_says_what_to_change(api: Api) -> None:
    text = denial(api, "image-unpinned", CASES["latest"][0]) or ""

    assert "image-unpinned: chat: container server: " in text
    assert "fix: set image to a version or a digest, for vLLM to vllm/vllm-openai:v" in text


def test_every_expression_has_the_types_of_the_objects(api: Api) -> None:
    for policy in api.items(f"{GROUP}/validatingadmissionpolicies"):
        warnings = policy.get("status", {}).get("typeChecking", {}).get("expressionWarnings", [])
        assert warnings == [], policy["metadata"]["name"]


def test_what_a_deployment_makes_is_not_judged_again(api: Api) -> None:
    body = CASES["pod"][0]
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "chat",
        "uid": "00000000-0000-0000-0000-000000000001",
        "controller": True,
    }
    owned = {**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}}

    assert denial(api, "image-unpinned", body)
    assert denial(api, "image-unpinned", owned) is None
