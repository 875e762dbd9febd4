"""Names from stack keys; length limits of AWS."""

import pytest

from components import naming

LONGEST_KEY = "a" * 30
"""A tier's or a server's, as the stack file allows it."""
RANDOM_SUFFIX = "-1a2b3c4"
"""Seven hex digits after a dash, which the AWS provider adds to a name."""


def test_the_longest_tier_fits_a_node_group_name() -> None:
    name = naming.resource_name("berth", LONGEST_KEY) + RANDOM_SUFFIX

    assert len(name) <= 63  # limit of EKS


@pytest.mark.parametrize(
    ("arn", "expected"),
    [
        pytest.param(
            "arn:aws:iam::111122223333:role/Admin", "111122223333-role-Admin", id="a-role"
        ),
        pytest.param(
            "arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/Admin_1a",
            "111122223333-role-Admin_1a",
            id="path-left-out",
        ),
        pytest.param("arn:aws:iam::111122223333:root", "111122223333-root", id="an-account"),
    ],
)
def test_a_principal_is_named_by_account_kind_and_name(arn: str, expected: str) -> None:
    assert naming.principal_key(arn) == expected


@pytest.mark.parametrize(
    ("region", "expected"),
    [
        pytest.param("us-east-1", "aws", id="commercial"),
        pytest.param("us-gov-west-1", "aws-us-gov", id="government"),
        pytest.param("cn-north-1", "aws-cn", id="china"),
    ],
)
def test_partitions_go_by_region(region: str, expected: str) -> None:
    assert naming.aws_partition(region) == expected
