"""What the stand-in AWS provider refuses before anything is made."""

from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2

from berth.offline.values import UNKNOWN, Secret, to_struct
from tests.unit.offline.conftest import Engine

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
ROLE = "aws:iam/role:Role"


def a_node_group(**changes: Any) -> dict[str, Any]:
    """A small valid one; None leaves a property out."""
    valid = {
        "clusterName": "c",
        "nodeRoleArn": "arn:aws:iam::123456789012:role/r",
        "subnetIds": ["subnet-1"],
        "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 1},
    }
    return {key: value for key, value in {**valid, **changes}.items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, [], id="valid"),
        pytest.param(
            {"instanceTypess": ["g6.xlarge"]},
            ["unknown property instanceTypess; did you mean instanceTypes"],
            id="unknown",
        ),
        pytest.param(
            {"taints": [{"key": "k", "effekt": "NO_SCHEDULE", "effect": "NO_SCHEDULE"}]},
            ["unknown property taints[0].effekt; did you mean effect"],
            id="unknown-in-a-list",
        ),
        pytest.param(
            {"clusterName": None}, ["missing required property clusterName"], id="missing"
        ),
        pytest.param(
            {"scalingConfig": {"minSize": 0, "maxSize": 1}},
            ["missing required property scalingConfig.desiredSize"],
            id="missing-in-a-block",
        ),
        pytest.param(
            {"capacityType": "RESERVED"},
            ["capacityType is RESERVED, which is not one of ON_DEMAND, SPOT, CAPACITY_BLOCK"],
            id="no-such-value",
        ),
        pytest.param(
            {"nodeGroupName": "a", "nodeGroupNamePrefix": "b"},
            ["nodeGroupName and nodeGroupNamePrefix are both set; leave one out"],
            id="conflict",
        ),
        pytest.param(
            {"nodeGroupName": "n" * 64},
            ["nodeGroupName has 64 characters, at most 63 are allowed"],
            id="name-too-long",
        ),
        pytest.param({"nodeGroupName": "n" * 63}, [], id="name-just-fits"),
        pytest.param(
            {"updateConfig": {"updateStrategy": "MINIMAL"}},
            [
                "exactly one of updateConfig.maxUnavailable, updateConfig.maxUnavailablePercentage"
                " must be set; given: none"
            ],
            id="one-of",
        ),
        pytest.param(
            {"scalingConfig": {"minSize": -1, "desiredSize": 0, "maxSize": 1}},
            ["scalingConfig.minSize is -1, below the lowest value 0"],
            id="below-the-bound",
        ),
        pytest.param(
            {"taints": [{"key": "k", "effect": "NO_SCHEDULE"}] * 51},
            ["taints has 51 elements, at most 50 are allowed"],
            id="too-many",
        ),
        pytest.param(
            {"subnetIds": "subnet-1"}, ["subnetIds must be a list, not a string"], id="no-list"
        ),
        pytest.param(
            {"diskSize": "large"}, ["diskSize must be an integer, not a string"], id="no-number"
        ),
        pytest.param({"diskSize": "100"}, [], id="number-as-text"),
        pytest.param(
            {"clusterName": UNKNOWN, "capacityType": UNKNOWN, "subnetIds": UNKNOWN},
            [],
            id="unknown-values-pass",
        ),
    ],
)
def test_node_group_inputs(aws: Engine, changes: dict[str, Any], expected: list[str]) -> None:
    found = aws.problems(NODE_GROUP, a_node_group(**changes), "pool")

    assert found == [f"{NODE_GROUP} pool: {text}" for text in expected]


def test_all_problems_come_at_once(aws: Engine) -> None:
    found = aws.problems(
        NODE_GROUP, a_node_group(clusterName=None, amiTypo="x", capacityType="x", subnetIds=1)
    )

    assert len(found) == 4


def test_a_type_that_does_not_exist_is_refused(aws: Engine) -> None:
    (found,) = aws.problems("aws:eks/nodeGroups:NodeGroups", {})

    assert "no such type in pulumi-aws" in found
    assert found.endswith("did you mean aws:eks/nodeGroup:NodeGroup")


def test_defaults_and_a_name_are_put_in(aws: Engine) -> None:
    inputs, _ = aws.check(ROLE, {"assumeRolePolicy": "{}"}, "worker")

    assert inputs["path"] == "/"
    assert inputs["maxSessionDuration"] == 3600
    assert inputs["name"].startswith("worker-")
    assert len(inputs["name"]) == len("worker-") + 7
    assert inputs["__defaults"] == ["forceDetachPolicies", "maxSessionDuration", "name", "path"]


def test_a_made_name_stays_and_a_given_one_does_not(aws: Engine) -> None:
    made, _ = aws.check(ROLE, {"assumeRolePolicy": "{}"})
    again, _ = aws.check(ROLE, {"assumeRolePolicy": "{}"}, olds=made)
    renamed = {**made, "name": "by-hand", "__defaults": []}
    after_renaming, _ = aws.check(ROLE, {"assumeRolePolicy": "{}"}, olds=renamed)

    assert again["name"] == made["name"]
    assert after_renaming["name"] == made["name"]


def test_a_replacement_gets_another_name(aws: Engine) -> None:
    _, first = aws.create(ROLE, {"assumeRolePolicy": "{}"})
    inputs, _ = aws.check(ROLE, {"assumeRolePolicy": "{}"})

    assert inputs["name"] != first["name"]


def test_a_prefix_takes_the_place_of_a_made_name(aws: Engine) -> None:
    inputs, _ = aws.check(ROLE, {"assumeRolePolicy": "{}", "namePrefix": "p-"})
    _, outputs = aws.create(ROLE, {"assumeRolePolicy": "{}", "namePrefix": "p-"})

    assert "name" not in inputs
    assert outputs["name"].startswith("p-")


def test_the_service_has_bounds_of_its_own(aws: Engine) -> None:
    attachment = {"role": "r", "policyArn": "short"}
    problems = aws.problems("aws:iam/rolePolicyAttachment:RolePolicyAttachment", attachment)

    with pytest.raises(Exception, match="ValidationException: policyArn has 5 characters"):
        aws.create("aws:iam/rolePolicyAttachment:RolePolicyAttachment", attachment)
    assert problems == []


def test_a_secret_is_not_shown_beside_its_problem(aws: Engine) -> None:
    parameter = {"type": Secret("hidden-type"), "value": Secret("hidden"), "name": "/p"}
    response = aws.stub.Check(
        provider_pb2.CheckRequest(
            urn=aws.urn("aws:ssm/parameter:Parameter", "x"),
            type="aws:ssm/parameter:Parameter",
            name="x",
            news=to_struct(parameter),
        )
    )

    (failure,) = response.failures
    assert failure.property == ""
    assert "type is [secret], which is not one of String, StringList, SecureString" in (
        failure.reason
    )


def test_the_configuration_of_a_provider(aws: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)

    def reasons(config: dict[str, Any]) -> list[str]:
        request = provider_pb2.CheckRequest(news=to_struct(config))
        return [failure.reason for failure in aws.stub.CheckConfig(request).failures]

    assert reasons({"region": "us-east-1", "version": "7.51.1"}) == []
    assert reasons({"region": UNKNOWN}) == []
    assert reasons({"regoin": "us-east-1"}) == [
        "aws provider: unknown setting regoin; did you mean region",
        "aws provider: missing region; set it with `pulumi config set aws:region us-east-1`",
    ]
