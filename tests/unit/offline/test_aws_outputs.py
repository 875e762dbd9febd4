"""What the stand-in AWS provider shows: unknown before, of the right form after."""

import base64
import re
from typing import Any

import pytest

from berth.offline.values import UNKNOWN, Secret, from_struct
from tests.unit.offline.conftest import Engine, Providers
from tests.unit.offline.test_aws_checks import NODE_GROUP, ROLE, a_node_group

ACCOUNT = "123456789012"
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
BUDGET = {"budgetType": "COST", "timeUnit": "MONTHLY", "name": "b"}
RULE = {"securityGroupId": "sg-1", "ipProtocol": "tcp", "cidrIpv4": "10.0.0.0/8"}
TRUST_ANCHOR = {"source": {"sourceType": "CERTIFICATE_BUNDLE", "sourceData": {}}, "name": "t"}


@pytest.mark.parametrize(
    ("resource_type", "inputs", "id_form", "arn_form"),
    # forms: https://docs.aws.amazon.com/service-authorization/latest/reference/
    [
        pytest.param(
            "aws:ec2/vpc:Vpc", {}, "vpc-[0-9a-f]{17}", "arn:aws:ec2:R:A:vpc/ID", id="vpc"
        ),
        pytest.param(ROLE, {"assumeRolePolicy": "{}", "name": "r", "path": "/p/"}, "r",
                     "arn:aws:iam::A:role/p/r", id="role"),
        pytest.param("aws:iam/policy:Policy", {"policy": "{}", "name": "p"},
                     "arn:aws:iam::A:policy/p", "arn:aws:iam::A:policy/p", id="policy"),
        pytest.param("aws:iam/openIdConnectProvider:OpenIdConnectProvider",
                     {"url": "https://oidc.eks.us-east-1.amazonaws.com/id/1", "clientIdLists": []},
                     "arn:aws:iam::A:oidc-provider/oidc.eks.us-east-1.amazonaws.com/id/1",
                     None, id="oidc"),
        pytest.param("aws:eks/cluster:Cluster",
                     {"name": "c", "roleArn": "r", "vpcConfig": {"subnetIds": ["s"]}}, "c",
                     "arn:aws:eks:R:A:cluster/c", id="cluster"),
        pytest.param(NODE_GROUP, a_node_group(nodeGroupName="n"), "c:n",
                     f"arn:aws:eks:R:A:nodegroup/c/n/{UUID}", id="node-group"),
        pytest.param("aws:eks/addon:Addon", {"clusterName": "c", "addonName": "vpc-cni"},
                     "c:vpc-cni", f"arn:aws:eks:R:A:addon/c/vpc-cni/{UUID}", id="addon"),
        pytest.param("aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
                     {"clusterName": "c", "principalArn": "p", "policyArn": "q",
                      "accessScope": {"type": "cluster"}}, "c#p#q", None, id="access-policy"),
        pytest.param("aws:kms/key:Key", {}, UUID, "arn:aws:kms:R:A:key/ID", id="key"),
        pytest.param("aws:s3/bucket:Bucket", {"bucket": "b"}, "b", "arn:aws:s3:::b", id="bucket"),
        pytest.param("aws:ec2/launchTemplate:LaunchTemplate", {}, "lt-[0-9a-f]{17}",
                     "arn:aws:ec2:R:A:launch-template/ID", id="launch-template"),
        pytest.param("aws:ec2/eip:Eip", {}, "eipalloc-[0-9a-f]{17}",
                     "arn:aws:ec2:R:A:elastic-ip/ID", id="eip"),
        # 1080289494 is the CRC-32 of 0.0.0.0/0, as Terraform's hash of a route has it
        pytest.param("aws:ec2/route:Route", {"routeTableId": "rtb-0a1b2c", "gatewayId": "igw-1",
                                             "destinationCidrBlock": "0.0.0.0/0"},
                     "r-rtb-0a1b2c1080289494", None, id="route"),
        pytest.param("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", RULE,
                     "sgr-[0-9a-f]{17}", "arn:aws:ec2:R:A:security-group-rule/ID", id="rule"),
        pytest.param("aws:budgets/budget:Budget", BUDGET, "A:b", "arn:aws:budgets::A:budget/b",
                     id="budget"),
        pytest.param("aws:secretsmanager/secret:Secret", {"name": "s"},
                     "arn:aws:secretsmanager:R:A:secret:s-[0-9a-z]{6}", None, id="secret"),
        pytest.param("aws:ssm/parameter:Parameter", {"name": "/a/b", "type": "String",
                                                     "insecureValue": "v"},
                     "/a/b", "arn:aws:ssm:R:A:parameter/a/b", id="parameter"),
        pytest.param("aws:autoscaling/tag:Tag", {"autoscalingGroupName": "g", "tag": {
            "key": "k", "value": "v", "propagateAtLaunch": True}}, "g,k", None, id="tag"),
        pytest.param("aws:rolesanywhere/trustAnchor:TrustAnchor", TRUST_ANCHOR, UUID,
                     "arn:aws:rolesanywhere:R:A:trust-anchor/ID", id="trust-anchor"),
        pytest.param("aws:sqs/queue:Queue", {}, ".+", "arn:aws:sqs:R:A:.+", id="not-in-the-table"),
    ],
)  # fmt: skip
def test_ids_and_arns_have_the_forms_of_the_cloud(
    aws: Engine, resource_type: str, inputs: dict[str, Any], id_form: str, arn_form: str | None
) -> None:
    resource_id, outputs = aws.create(resource_type, inputs)

    assert re.fullmatch(id_form.replace("A:", f"{ACCOUNT}:").replace("R:", "us-east-1:"),
                        resource_id)  # fmt: skip
    expected = (arn_form or ".*").replace(":A:", f":{ACCOUNT}:").replace(":R:", ":us-east-1:")
    assert re.fullmatch(expected.replace("ID", resource_id), outputs.get("arn", ""))


def test_a_preview_leaves_unknown_what_the_cloud_assigns(aws: Engine) -> None:
    cluster = {"roleArn": "r", "vpcConfig": {"subnetIds": ["s"]}, "tags": {"a": "b"}}
    outputs = aws.preview("aws:eks/cluster:Cluster", cluster)

    unknown = {name for name, value in outputs.items() if value is UNKNOWN}
    assert {"arn", "endpoint", "certificateAuthority", "identities", "status"} <= unknown
    assert outputs["vpcConfig"]["clusterSecurityGroupId"] is UNKNOWN
    assert outputs["vpcConfig"]["subnetIds"] == ["s"]
    assert outputs["tagsAll"] == {"owner": "platform", "a": "b"}
    assert outputs["region"] == "us-east-1"
    assert aws.cloud.records() == []


def test_a_cluster_that_exists_shows_what_a_client_needs(aws: Engine) -> None:
    cluster = {"roleArn": "r", "vpcConfig": {"subnetIds": ["s"]}}
    _, outputs = aws.create("aws:eks/cluster:Cluster", cluster)

    certificate = base64.b64decode(outputs["certificateAuthority"]["data"]).decode()
    identity = outputs["endpoint"].removeprefix("https://").partition(".")[0]
    assert certificate.startswith("-----BEGIN CERTIFICATE-----\n")
    assert outputs["identities"][0]["oidcs"][0]["issuer"].endswith(f"/id/{identity}")


def test_the_same_resource_gets_the_same_values(aws: Engine) -> None:
    first_id, first = aws.create("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16"})
    aws.delete("aws:ec2/vpc:Vpc", first_id)
    second_id, second = aws.create("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16"})
    other_id, _ = aws.create("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16"}, "other")

    assert (first_id, first) == (second_id, second)
    assert other_id != first_id


def test_secrets_stay_secret(aws: Engine) -> None:
    parameter = {"name": "/p", "type": "SecureString", "value": "v"}
    _, marked_by_sdk = aws.create("aws:ssm/parameter:Parameter", parameter)
    _, passed_on = aws.create("aws:sqs/queue:Queue", {"policy": Secret("v"), "tags": Secret({})})

    assert marked_by_sdk["value"] == Secret("v")
    assert passed_on["policy"] == Secret("v")
    assert isinstance(passed_on["tagsAll"], Secret)


def test_an_update_keeps_what_the_cloud_gave(aws: Engine) -> None:
    inputs, _ = aws.check(NODE_GROUP, a_node_group())
    resource_id, outputs = aws.create(NODE_GROUP, a_node_group())
    larger = a_node_group(scalingConfig={"minSize": 0, "desiredSize": 0, "maxSize": 5})
    planned = aws.update(NODE_GROUP, resource_id, (inputs, outputs), larger, preview=True)
    updated = aws.update(NODE_GROUP, resource_id, (inputs, outputs), larger)

    assert planned == {**outputs, "scalingConfig": larger["scalingConfig"]}
    assert updated == planned


def test_a_changed_template_has_a_new_version(aws: Engine) -> None:
    template = "aws:ec2/launchTemplate:LaunchTemplate"
    inputs, _ = aws.check(template, {"imageId": "ami-1"})
    resource_id, outputs = aws.create(template, {"imageId": "ami-1"})
    olds = (inputs, outputs)
    planned = aws.update(template, resource_id, olds, {"imageId": "ami-2"}, preview=True)
    updated = aws.update(template, resource_id, olds, {"imageId": "ami-2"})
    words = {"imageId": "ami-1", "description": "d"}
    described = aws.update(template, resource_id, olds, words, preview=True)

    assert planned["latestVersion"] is UNKNOWN
    assert updated["latestVersion"] == 2
    assert described["latestVersion"] == 1


@pytest.mark.parametrize(
    ("resource_type", "inputs", "message"),
    [
        pytest.param(ROLE, {"assumeRolePolicy": "{}", "name": "r"},
                     "EntityAlreadyExists: Role with name r already exists", id="role"),
        pytest.param(NODE_GROUP, a_node_group(nodeGroupName="n"),
                     "ResourceInUseException: NodeGroup already exists with name n and cluster",
                     id="node-group"),
        pytest.param("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", RULE,
                     "InvalidPermission.Duplicate", id="rule-without-a-name"),
        pytest.param("aws:sqs/queue:Queue", {"name": "q"}, "already exists", id="not-in-the-table"),
    ],
)  # fmt: skip
def test_a_second_one_of_the_same_name_fails(
    aws: Engine, resource_type: str, inputs: dict[str, Any], message: str
) -> None:
    aws.create(resource_type, inputs, "one")

    with pytest.raises(Exception, match=message):
        aws.create(resource_type, inputs, "two")


def test_attaching_twice_is_no_error(aws: Engine) -> None:
    attachment = {"role": "r", "policyArn": "arn:aws:iam::aws:policy/ReadOnlyAccess"}
    kind = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"

    assert aws.create(kind, attachment, "one")[0] == aws.create(kind, attachment, "two")[0]


def test_a_name_is_free_in_another_region(aws: Engine) -> None:
    cluster = {"name": "c", "roleArn": "r", "vpcConfig": {"subnetIds": ["s"]}}
    aws.create("aws:eks/cluster:Cluster", cluster, "one")
    _, outputs = aws.create("aws:eks/cluster:Cluster", {**cluster, "region": "eu-west-1"}, "two")

    assert ".eu-west-1." in outputs["endpoint"]


def test_every_connection_has_its_own_configuration(providers: Providers) -> None:
    east = providers.connect("aws", {"region": "us-east-1"})
    west = providers.connect(
        "aws", {"region": "us-west-2", "allowedAccountIds": '["210987654321"]'}
    )

    assert east.preview("aws:ec2/vpc:Vpc", {})["region"] == "us-east-1"
    assert west.create("aws:ec2/vpc:Vpc", {})[1]["arn"].startswith(
        "arn:aws:ec2:us-west-2:210987654321:vpc/"
    )


def test_reading_shows_what_was_changed_outside(aws: Engine) -> None:
    inputs, _ = aws.check(NODE_GROUP, a_node_group(tags={"a": "b"}))
    resource_id, outputs = aws.create(NODE_GROUP, a_node_group(tags={"a": "b"}))
    before = aws.read(NODE_GROUP, resource_id, inputs=inputs, outputs=outputs)
    aws.cloud.change(resource_id, "tags.by-hand", "yes")
    after = aws.read(NODE_GROUP, resource_id, inputs=inputs, outputs=outputs)
    aws.cloud.remove(resource_id)
    gone = aws.read(NODE_GROUP, resource_id, inputs=inputs, outputs=outputs)

    assert before.inputs["tags"] == {"a": "b"}
    assert dict(after.inputs["tags"]) == {"a": "b", "by-hand": "yes"}
    assert dict(after.properties["tagsAll"]) == {"owner": "platform", "a": "b", "by-hand": "yes"}
    assert gone.id == ""


def test_reading_keeps_the_secret_among_the_tags(aws: Engine) -> None:
    tags = {"a": Secret("v"), "b": "plain"}
    inputs, _ = aws.check(NODE_GROUP, a_node_group(tags=tags))
    resource_id, outputs = aws.create(NODE_GROUP, a_node_group(tags=tags))

    read = from_struct(aws.read(NODE_GROUP, resource_id, inputs=inputs, outputs=outputs).properties)

    assert read["tags"]["a"] == Secret("v")
    assert read["tagsAll"] == {"owner": "platform", "a": Secret("v"), "b": "plain"}


def test_deleting_what_is_gone_is_no_error(aws: Engine) -> None:
    resource_id, _ = aws.create("aws:ec2/vpc:Vpc", {})

    aws.delete("aws:ec2/vpc:Vpc", resource_id)
    aws.delete("aws:ec2/vpc:Vpc", resource_id)

    assert aws.cloud.records() == []


def test_a_purchased_block_stays_when_it_is_deleted(aws: Engine) -> None:
    block = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
    offer = {"capacityBlockOfferingId": "cb-1", "instancePlatform": "Linux/UNIX"}
    resource_id, _ = aws.create(block, offer)

    aws.delete(block, resource_id)

    assert [record.id for record in aws.cloud.records()] == [resource_id]
