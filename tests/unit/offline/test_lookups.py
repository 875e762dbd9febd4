"""Look-ups of the stand-in AWS provider."""

import json
import re
from typing import Any

import pytest

from tests.unit.offline.conftest import Engine

ZONES = "aws:index/getAvailabilityZones:getAvailabilityZones"
PARAMETER = "aws:ssm/getParameter:getParameter"
DOCUMENT = "aws:iam/getPolicyDocument:getPolicyDocument"
OIDC = "arn:aws:iam::123456789012:oidc-provider/o"
OFFERINGS = "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings"


def test_zones_of_a_region(aws: Engine) -> None:
    found = aws.invoke(ZONES, {"state": "available"})
    other = aws.invoke(ZONES, {"region": "us-west-2", "excludeNames": ["us-west-2a"]})
    chosen = aws.invoke(ZONES, {"filters": [{"name": "zone-id", "values": ["use1-az4"]}]})

    assert found["names"] == [f"us-east-1{letter}" for letter in "abcdef"]
    assert found["zoneIds"][0] == "use1-az1"
    assert other["names"] == ["us-west-2b", "us-west-2c", "us-west-2d"]
    assert chosen["names"] == ["us-east-1d"]


def test_account_region_and_partition(aws: Engine) -> None:
    caller = aws.invoke("aws:index/getCallerIdentity:getCallerIdentity")
    region = aws.invoke("aws:index/getRegion:getRegion")
    partition = aws.invoke("aws:index/getPartition:getPartition")

    assert caller["accountId"] == "123456789012"
    assert caller["arn"].startswith("arn:aws:iam::123456789012:")
    assert (region["region"], region["endpoint"]) == ("us-east-1", "ec2.us-east-1.amazonaws.com")
    assert (partition["partition"], partition["dnsSuffix"]) == ("aws", "amazonaws.com")


@pytest.mark.parametrize(
    "name",
    [
        "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended/image_id",
        "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/standard/recommended/image_id",
        "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/latest/image_id",
    ],
)
def test_images_of_eks_are_pretended_and_stable(aws: Engine, name: str) -> None:
    first = aws.invoke(PARAMETER, {"name": name})
    again = aws.invoke(PARAMETER, {"name": name})
    elsewhere = aws.invoke(PARAMETER, {"name": name, "region": "eu-west-1"})

    assert re.fullmatch("ami-0[0-9a-f]{16}", first["value"])
    assert again == first
    assert elsewhere["value"] != first["value"]


def test_an_own_parameter_is_found(aws: Engine) -> None:
    own = {"name": "/own", "type": "String", "value": "v"}
    aws.create("aws:ssm/parameter:Parameter", own)

    assert aws.invoke(PARAMETER, {"name": "/own"})["value"] == "v"


def test_everything_asked_for_is_offered(aws: Engine) -> None:
    wanted = {"name": "instance-type", "values": ["p5.48xlarge"]}
    place = {"name": "location", "values": ["us-east-1b"]}
    found = aws.invoke(OFFERINGS, {"filters": [wanted], "locationType": "availability-zone"})
    here = aws.invoke(OFFERINGS, {"filters": [wanted, place], "locationType": "availability-zone"})

    assert found["instanceTypes"] == ["p5.48xlarge"] * 6
    assert (here["locations"], here["locationTypes"]) == (["us-east-1b"], ["availability-zone"])


@pytest.mark.parametrize(
    ("token", "arguments", "expected"),
    [
        pytest.param("aws:ec2/getAmi:getAmi", {},
                     "aws:ec2/getAmi:getAmi: no answer offline; write its function in "
                     "berth/offline/aws/answers.py", id="function"),
        pytest.param(PARAMETER, {"name": "/no/such"},
                     f"{PARAMETER}: parameter /no/such has no answer offline; add one to "
                     "berth/offline/aws/lookups.yaml", id="parameter"),
        pytest.param("aws:eks/getAddonVersion:getAddonVersion",
                     {"addonName": "vpc-cnl", "kubernetesVersion": "1.35"},
                     "add-on vpc-cnl", id="add-on"),
        pytest.param(ZONES, {"region": "us-east-9"}, "add it to berth/catalog/regions.yaml",
                     id="region"),
    ],
)  # fmt: skip
def test_what_has_no_answer_says_where_to_add_one(
    aws: Engine, token: str, arguments: dict[str, Any], expected: str
) -> None:
    with pytest.raises(Exception, match=re.escape(expected)):
        aws.invoke(token, arguments)


def test_an_add_on_version_has_the_form_of_one(aws: Engine) -> None:
    arguments = {"addonName": "vpc-cni", "kubernetesVersion": "1.35"}
    found = aws.invoke("aws:eks/getAddonVersion:getAddonVersion", arguments)

    assert re.fullmatch(r"v\d+\.\d+\.\d+-eksbuild\.\d+", found["version"])


def test_a_policy_document(aws: Engine) -> None:
    statements = [
        {
            "sid": "Assume",
            "actions": ["sts:AssumeRoleWithWebIdentity"],
            "principals": [{"type": "Federated", "identifiers": [OIDC]}],
            "conditions": [
                {"test": "StringEquals", "variable": "o:sub", "values": ["system:sa:a:b"]},
                {"test": "StringEquals", "variable": "o:aud", "values": ["sts.amazonaws.com"]},
            ],
        },
        {
            "effect": "Deny",
            "actions": ["s3:Get*", "s3:List*"],
            "resources": ["arn:aws:s3:::&{aws:username}"],
            "principals": [{"type": "*", "identifiers": ["*"]}],
        },
    ]

    found = aws.invoke(DOCUMENT, {"statements": statements})

    # the form of https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements.html
    assert json.loads(found["json"]) == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "Assume",
                "Effect": "Allow",
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Principal": {"Federated": OIDC},
                "Condition": {
                    "StringEquals": {"o:sub": "system:sa:a:b", "o:aud": "sts.amazonaws.com"}
                },
            },
            {
                "Effect": "Deny",
                "Action": ["s3:List*", "s3:Get*"],
                "Resource": "arn:aws:s3:::${aws:username}",
                "Principal": "*",
            },
        ],
    }
    assert json.loads(found["minifiedJson"]) == json.loads(found["json"])


def test_policy_documents_are_merged_by_sid(aws: Engine) -> None:
    source = json.dumps({"Statement": [{"Sid": "a", "Effect": "Allow"}, {"Effect": "Deny"}]})
    override = json.dumps({"Statement": {"Sid": "a", "Effect": "Deny"}})
    arguments = {"sourcePolicyDocuments": [source], "overridePolicyDocuments": [override]}

    found = aws.invoke(DOCUMENT, arguments)

    assert json.loads(found["json"])["Statement"] == [
        {"Sid": "a", "Effect": "Deny"},
        {"Effect": "Deny"},
    ]
