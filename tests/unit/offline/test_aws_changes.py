"""Which changes replace an AWS resource, which are made in place, and which are none."""

import json
from typing import Any

import pytest

from berth.offline.values import UNKNOWN
from tests.unit.offline.conftest import Engine, Providers
from tests.unit.offline.test_aws_checks import NODE_GROUP, ROLE, a_node_group

CLUSTER = "aws:eks/cluster:Cluster"
FSX = "aws:fsx/lustreFileSystem:LustreFileSystem"
RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
VPC = "aws:ec2/vpc:Vpc"
A_RULE = {"securityGroupId": "sg-1", "ipProtocol": "tcp"}


def a_cluster(**changes: Any) -> dict[str, Any]:
    return {"name": "c", "roleArn": "r", "vpcConfig": {"subnetIds": ["s"]}, **changes}


def a_file_system(capacity_gib: int) -> dict[str, Any]:
    return {
        "subnetIds": "s",
        "storageCapacity": capacity_gib,
        "deploymentType": "PERSISTENT_2",
    }


def trusted(*services: str) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Principal": {"Service": list(services)}}
    return {"assumeRolePolicy": json.dumps({"Statement": [statement]})}


@pytest.mark.parametrize(
    ("resource_type", "old", "new", "changed", "replaced"),
    [
        pytest.param(NODE_GROUP, a_node_group(instanceTypes=["a"]),
                     a_node_group(instanceTypes=["b"]),
                     ["instanceTypes[0]"], ["instanceTypes"], id="replacing"),
        pytest.param(NODE_GROUP, a_node_group(labels={"a": "b"}), a_node_group(labels={"a": "c"}),
                     ["labels.a"], [], id="in-place"),
        pytest.param(NODE_GROUP, a_node_group(subnetIds=["a", "b"]),
                     a_node_group(subnetIds=["b", "a"]), [], [], id="order-of-a-set"),
        pytest.param(NODE_GROUP, a_node_group(subnetIds=["a"]), a_node_group(subnetIds=["a", "b"]),
                     ["subnetIds[1]"], ["subnetIds"], id="one-more-in-a-set"),
        pytest.param(NODE_GROUP, a_node_group(instanceTypes=["a", "b"]),
                     a_node_group(instanceTypes=["b", "a"]),
                     ["instanceTypes[0]", "instanceTypes[1]"], ["instanceTypes"],
                     id="order-of-a-list"),
        pytest.param(NODE_GROUP, a_node_group(diskSize=20), a_node_group(diskSize="20"),
                     [], [], id="number-as-text"),
        pytest.param(NODE_GROUP, a_node_group(instanceTypes=["a"]), a_node_group(),
                     [], [], id="what-the-cloud-fills-is-left-out"),
        pytest.param(NODE_GROUP, a_node_group(tags={}), a_node_group(), [], [], id="empty-block"),
        pytest.param(NODE_GROUP, a_node_group(launchTemplate={"id": "lt-1", "version": "1"}),
                     a_node_group(launchTemplate={"id": "lt-1", "version": "2"}),
                     ["launchTemplate.version"], [], id="template-version"),
        pytest.param(NODE_GROUP, a_node_group(launchTemplate={"id": "lt-1", "version": "1"}),
                     a_node_group(launchTemplate={"id": "lt-2", "version": "1"}),
                     ["launchTemplate.id"], ["launchTemplate"], id="another-template"),
        pytest.param(NODE_GROUP, a_node_group(), a_node_group(subnetIds=[UNKNOWN]),
                     ["subnetIds[0]", "subnetIds[0]"], ["subnetIds"], id="not-known-yet"),
        pytest.param(ROLE, trusted("a", "b"), trusted("b", "a"), [], [], id="policy-order"),
        pytest.param(ROLE, trusted("a"), {"assumeRolePolicy": (
            '{"Statement": {"Principal": {"Service": "a"},  "Effect": "Allow"}}')},
                     [], [], id="policy-reformatted"),
        pytest.param(ROLE, trusted("a"), trusted("b"), ["assumeRolePolicy"], [], id="policy"),
        pytest.param(ROLE, {**trusted("a"), "path": "/"}, {**trusted("a"), "path": "/x/"},
                     ["path"], ["path"], id="role-path"),
        pytest.param(VPC, {}, {"region": "us-east-1"}, [], [], id="the-providers-own-region"),
        pytest.param(VPC, {}, {"region": "eu-west-1"}, ["region"], ["region"], id="moved"),
        pytest.param(VPC, {"instanceTenancy": "dedicated"}, {"instanceTenancy": "default"},
                     ["instanceTenancy"], [], id="to-default-tenancy"),
        pytest.param(VPC, {"instanceTenancy": "default"}, {"instanceTenancy": "dedicated"},
                     ["instanceTenancy"], ["instanceTenancy"], id="to-dedicated-tenancy"),
        pytest.param(CLUSTER, a_cluster(encryptionConfig={"resources": ["secrets"],
                                                          "provider": {"keyArn": "k"}}),
                     a_cluster(), ["encryptionConfig"], ["encryptionConfig"],
                     id="encryption-removed"),
        pytest.param(CLUSTER, a_cluster(), a_cluster(encryptionConfig={
            "resources": ["secrets"], "provider": {"keyArn": "k"}}),
                     ["encryptionConfig"], [], id="encryption-added"),
        pytest.param(CLUSTER, a_cluster(version="1.34"), a_cluster(version="1.35"),
                     ["version"], [], id="cluster-upgrade"),
        pytest.param(FSX, a_file_system(2400),
                     a_file_system(1200),
                     ["storageCapacity"], ["storageCapacity"], id="smaller-file-system"),
        pytest.param(FSX, a_file_system(1200),
                     a_file_system(2400),
                     ["storageCapacity"], [], id="larger-file-system"),
        pytest.param(RULE, {**A_RULE, "cidrIpv4": "10.0.0.0/8"},
                     {**A_RULE, "cidrIpv4": "10.1.0.0/16"},
                     ["cidrIpv4"], [], id="rule-other-range"),
        pytest.param(RULE, {**A_RULE, "cidrIpv4": "10.0.0.0/8"},
                     {**A_RULE, "prefixListId": "pl-1"},
                     ["cidrIpv4", "prefixListId"], ["cidrIpv4", "prefixListId"],
                     id="rule-other-kind-of-source"),
        pytest.param("aws:sqs/queue:Queue", {"delaySeconds": 1}, {"delaySeconds": 2},
                     ["delaySeconds"], [], id="not-in-the-table"),
    ],
)  # fmt: skip
def test_changes(
    aws: Engine,
    resource_type: str,
    old: dict[str, Any],
    new: dict[str, Any],
    changed: list[str],
    replaced: list[str],
) -> None:
    response = aws.diff(resource_type, old, new)

    assert sorted(response.detailedDiff) == sorted(set(changed))
    assert list(response.replaces) == replaced
    assert (response.changes == response.DIFF_NONE) == (changed == [])


def test_writing_down_what_the_cloud_filled_changes_nothing(aws: Engine) -> None:
    _, outputs = aws.create(NODE_GROUP, a_node_group())
    written = a_node_group(amiType=outputs["amiType"], diskSize=outputs["diskSize"])

    response = aws.diff(NODE_GROUP, a_node_group(), written, outputs)

    assert response.changes == response.DIFF_NONE


@pytest.mark.parametrize(
    ("resource_type", "old", "new", "expected"),
    [
        pytest.param(ROLE, {**trusted("a"), "name": "r"},
                     {**trusted("a"), "name": "r", "path": "/x/"}, True, id="named-by-the-program"),
        pytest.param(ROLE, trusted("a"), {**trusted("a"), "path": "/x/"}, False, id="name-made"),
        pytest.param("aws:iam/rolePolicyAttachment:RolePolicyAttachment",
                     {"role": "a", "policyArn": "arn:aws:iam::aws:policy/ReadOnlyAccess"},
                     {"role": "b", "policyArn": "arn:aws:iam::aws:policy/ReadOnlyAccess"},
                     True, id="the-provider-demands-it"),
    ],
)  # fmt: skip
def test_what_is_deleted_before_its_replacement(
    aws: Engine, resource_type: str, old: dict[str, Any], new: dict[str, Any], expected: bool
) -> None:
    assert aws.diff(resource_type, old, new).deleteBeforeReplace is expected


def test_other_default_tags_are_a_change_of_what_has_them(providers: Providers) -> None:
    def connect(tags: str) -> Engine:
        return providers.connect("aws", {"region": "us-east-1", "defaultTags": tags})

    before = connect('{"tags": {"owner": "a"}}')
    after = connect('{"tags": {"owner": "b"}}')
    inputs, _ = before.check(VPC, {"tags": {"x": "y"}})
    resource_id, outputs = before.create(VPC, {"tags": {"x": "y"}})
    response = after.diff(VPC, {"tags": {"x": "y"}}, {"tags": {"x": "y"}}, outputs)
    updated = after.update(VPC, resource_id, (inputs, outputs), {"tags": {"x": "y"}})

    assert list(response.detailedDiff) == ["tagsAll"]
    assert list(response.replaces) == []
    assert updated["tagsAll"] == {"owner": "b", "x": "y"}
