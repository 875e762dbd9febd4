"""Admission policies: how they are built, and what the rules say of the cases they are tried on.

What the API server says of the same cases is seen at the cluster level.
"""

from typing import Any

import pytest

from berth.rules.admission.objects import Parameters, admission_objects, exported_rules
from berth.rules.admission.predicates import DIFFERENCES, PREDICATES
from berth.rules.check import check
from berth.rules.resource import Resource, manifest_type
from tests.unit.rules.admission_cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_the_rules_find_what_a_case_says(name: str) -> None:
    body, kinds = CASES[name]
    token = manifest_type(body["apiVersion"], body["kind"])

    report = check([Resource(token, "chat", "urn:chat", body)], rules=exported_rules())

    assert {finding.kind for finding in report.findings} == kinds
    assert (report.not_checked, report.surprises) == ((), ())


def objects(**parameters: Any) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    made = admission_objects(Parameters(**parameters))
    pairs = zip(made[::2], made[1::2], strict=True)
    return {
        binding["spec"]["policyName"].removeprefix("berth-"): (policy["spec"], binding["spec"])
        for policy, binding in pairs
    }


def test_five_rules_are_exported_each_with_what_it_leaves_out() -> None:
    assert set(objects()) == set(PREDICATES) == set(DIFFERENCES)
    assert len(PREDICATES) == 5


def test_mandatory_rules_deny_and_the_others_warn() -> None:
    made = objects()

    assert made["secret-plain-env"][1]["validationActions"] == ["Deny"]
    assert made["image-unpinned"][1]["validationActions"] == ["Warn", "Audit"]
    assert (made["secret-plain-env"][0]["failurePolicy"]) == "Fail"
    assert (made["image-unpinned"][0]["failurePolicy"]) == "Ignore"


def test_production_is_stricter() -> None:
    made = objects(environment="prod")

    assert made["image-unpinned"][1]["validationActions"] == ["Deny"]
    assert made["model-server-daemonset"][1]["validationActions"] == ["Warn", "Audit"]


def test_namespaces_are_chosen_and_left_out() -> None:
    (_, binding) = objects(namespaces=("a",), excluded_namespaces=("b",))["image-unpinned"]

    assert binding["matchResources"]["namespaceSelector"]["matchExpressions"] == [
        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a"]},
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["b"]},
    ]


def test_only_secrets_are_looked_for_in_config_maps() -> None:
    judged = {
        rule: [entry["resources"] for entry in spec["matchConstraints"]["resourceRules"]]
        for rule, (spec, _) in objects().items()
    }
    found = {rule: spec["variables"][-1]["expression"] for rule, (spec, _) in objects().items()}

    assert judged["secret-plain-env"][0] == ["configmaps", "pods"]
    assert judged["image-unpinned"][0] == ["pods"]
    assert found["secret-plain-env"].startswith("object.kind == 'ConfigMap' ? ")
    assert found["image-unpinned"].startswith("(variables.containers")


def test_a_security_rule_takes_no_annotation() -> None:
    made = objects()

    names = {rule: [c["name"] for c in spec["matchConditions"]] for rule, (spec, _) in made.items()}
    assert names["image-unpinned"] == ["made-by-its-author", "not-excepted"]
    assert names["secret-plain-env"] == ["made-by-its-author"]


def test_the_message_names_rule_object_and_containers() -> None:
    (spec, _) = objects()["gpu-request-missing"]
    (validation,) = spec["validations"]

    assert validation["messageExpression"].startswith("'gpu-request-missing: ' + ")
    assert "variables.offenders.join(', ')" in validation["messageExpression"]
    assert "`berth explain gpu-request-missing`" in validation["messageExpression"]
