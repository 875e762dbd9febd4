"""What an account answers, and what is said where it does not: never a guess, never a traceback."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from pulumi.runtime.mocks import MockCallArgs

from berth.catalog.load import load_catalog
from berth.config.stack import StackConfig
from berth.planner.account import Account
from berth.planner.make_plan import make_plan
from berth.planner.start import StartFinding, check_start
from components.account import AccountError, look_up_account
from tests.unit.components.engine import RecordingEngine, declare
from tests.unit.planner.stacks import BLOCK, a_70b, a_stack, an_h100_tier

ZONES = "aws:index/getAvailabilityZones:getAvailabilityZones"
OFFERINGS = "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings"
QUOTA = "aws:servicequotas/getServiceQuota:getServiceQuota"
SUBNET = "aws:ec2/getSubnet:getSubnet"
CLUSTER = "aws:eks/getCluster:getCluster"
OFFER = "aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering"

G_QUOTA = "L-DB2E81BA"
HERE = ["us-east-1a", "us-east-1b"]
SUBNETS = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
EKS_CLUSTER = {
    "eks_cluster": {"name": "shared", "subnet_ids": dict(zip(HERE, SUBNETS, strict=True))}
}

DENIED = (
    "operation error EC2: DescribeAvailabilityZones, https response error StatusCode: 403, "
    "RequestID: 0a1b, api error UnauthorizedOperation: You are not authorized to perform this "
    "operation. User: arn:aws:iam::123456789012:user/u is not authorized to perform: "
    "ec2:DescribeAvailabilityZones because no identity-based policy allows the action"
)
EXPIRED = (
    "validating provider credentials: retrieving caller identity from STS: operation error STS: "
    "GetCallerIdentity, https response error StatusCode: 403, RequestID: 0a1b, api error "
    "ExpiredToken: The security token included in the request is expired"
)
NO_CREDENTIALS = "No valid credential sources found. Please see https://www.pulumi.com/aws/"
THROTTLED = (
    "operation error Service Quotas: GetServiceQuota, exceeded maximum number of attempts, 25, "
    "https response error StatusCode: 400, api error TooManyRequestsException: Rate exceeded"
)
SILENT = "operation error EC2: dial tcp 203.0.113.1:443: i/o timeout"
"""Texts as the AWS SDK for Go writes them, github.com/aws/smithy-go (middleware and errors)."""


class AnsweringEngine(RecordingEngine):
    """An account; an answer that is a text is what the provider refuses with."""

    def __init__(self, changes: Mapping[str, Any]) -> None:
        super().__init__()
        self.answers: dict[str, Any] = {
            ZONES: {"names": HERE},
            OFFERINGS: {"instanceTypes": ["g6.xlarge"] * 2, "locations": HERE},
            QUOTA: {"value": 64.0},
            **changes,
        }
        self.asked: list[MockCallArgs] = []

    def call(self, args: MockCallArgs) -> Any:
        self.asked.append(args)
        answer = self.answers[args.token]
        if callable(answer):
            answer = answer(args.args)
        if isinstance(answer, str):
            raise RuntimeError(answer)
        return answer


def look_up(
    changes: Mapping[str, Any], **stack: Any
) -> tuple[StackConfig, Account, AnsweringEngine]:
    config, found, engine = a_stack(**stack), [], AnsweringEngine(changes)
    declare(lambda: found.append(look_up_account(config, load_catalog())), engine)
    return config, found[0], engine


def refusal(changes: Mapping[str, Any], **stack: Any) -> list[str]:
    refused: list[str] = []

    def program() -> None:
        try:
            look_up_account(a_stack(**stack), load_catalog())
        except AccountError as error:
            refused.extend(error.lines)

    declare(program, AnsweringEngine(changes))
    return refused


def start(changes: Mapping[str, Any], **stack: Any) -> list[StartFinding]:
    config, account, _ = look_up(changes, **stack)
    catalog = load_catalog()
    return check_start(config, make_plan(config, catalog, account), catalog, account)


def test_zones_offers_and_quota_are_read_and_nothing_else_is_asked() -> None:
    _, account, engine = look_up({})

    assert account.availability_zones == ("us-east-1a", "us-east-1b")
    assert account.offered == {"g6.xlarge": frozenset(HERE)}
    assert account.quotas_vcpu == {G_QUOTA: Decimal(64)}
    assert account.unread == {}
    assert sorted(each.token for each in engine.asked) == sorted([ZONES, OFFERINGS, QUOTA])


def test_a_quota_that_is_read_is_held_against_the_need() -> None:
    """Two g6.xlarge of 4 vCPU each, against 4."""
    (finding,) = start({QUOTA: {"value": 4.0}})

    assert not finding.ok
    assert "8 vCPU" in finding.problem
    assert finding.problem.endswith("and the account has 4")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(DENIED, "aws:region: the zones of us-east-1 were not read: "
                     "ec2:DescribeAvailabilityZones is denied; allow it to the role that runs "
                     "this, or name subnets in berth:cluster.network.subnet_ids", id="denied"),
        pytest.param(THROTTLED, "were not read: AWS asks to slow down; run it again in a minute",
                     id="throttled"),
        pytest.param(SILENT, "were not read: AWS does not answer in time; check the network",
                     id="time-out"),
        pytest.param("dial tcp: lookup ec2.us-east-1.amazonaws.com: no such host",
                     "were not read: AWS cannot be reached from here", id="unreachable"),
        pytest.param("Missing region configuration", "no region is set; set aws:region",
                     id="no-region"),
        pytest.param(EXPIRED, "AWS account in us-east-1: the credentials have expired; log in "
                     "again", id="expired"),
        pytest.param(NO_CREDENTIALS, "AWS account in us-east-1: no AWS credentials were found; "
                     "set AWS_PROFILE", id="none"),
        pytest.param("api error InvalidClientTokenId: The security token is invalid",
                     "AWS account in us-east-1: AWS does not accept the credentials", id="unknown"),
        pytest.param("api error Blocked: account 123456789012 is blocked",
                     "AWS refuses ec2:DescribeAvailabilityZones (Blocked: account 123456789012 is "
                     "blocked)", id="something-else"),
        pytest.param({"names": []}, "the account may use no zone of us-east-1; enable the region",
                     id="empty"),
    ],
)  # fmt: skip
def test_without_zones_a_network_is_refused_in_one_line_and_never_guessed(
    words: Any, expected: str
) -> None:
    (line,) = refusal({ZONES: words})

    assert expected in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        pytest.param("api error AccessDeniedException: User: u is not authorized to perform: "
                     "servicequotas:GetServiceQuota", "servicequotas:GetServiceQuota is denied",
                     id="denied"),
        pytest.param(THROTTLED, "AWS asks to slow down", id="throttled"),
        pytest.param(SILENT, "AWS does not answer in time", id="time-out"),
        pytest.param({}, "AWS gives no answer that is of use", id="empty"),
    ],
)  # fmt: skip
def test_a_quota_that_cannot_be_read_is_said_with_the_reason(words: Any, reason: str) -> None:
    (finding,) = start({QUOTA: words})

    assert finding.ok
    assert finding.problem.endswith("the quota was not read")
    assert finding.fix.startswith(reason)


def test_offers_that_cannot_be_read_are_said_with_the_reason() -> None:
    offers = [each for each in start({OFFERINGS: SILENT}) if "offer" in each.problem]

    (finding,) = offers
    assert (finding.ok, finding.problem) == (True, "zones that offer g6.xlarge: not read")
    assert finding.fix.startswith("AWS does not answer in time")


def test_one_expired_answer_among_many_is_told_once() -> None:
    lines = refusal({ZONES: EXPIRED, OFFERINGS: EXPIRED, QUOTA: EXPIRED})

    assert len(lines) == 1


def test_subnets_by_zone_need_no_answer() -> None:
    cluster = {"kubernetes_version": "1.35", "endpoint": "private",
               "network": {"subnet_ids": dict(zip(HERE, SUBNETS, strict=True))}}  # fmt: skip

    _, account, _ = look_up({ZONES: DENIED, SUBNET: DENIED}, cluster=cluster)

    assert account.subnets == {}
    assert set(account.unread) == {"zones", *SUBNETS}


def test_a_listed_subnet_whose_zone_was_not_read_is_refused() -> None:
    cluster = {"kubernetes_version": "1.35", "endpoint": "private",
               "network": {"subnet_ids": SUBNETS}}  # fmt: skip

    def answer(arguments: Mapping[str, Any]) -> Any:
        known = {"availabilityZone": "us-east-1a", "availableIpAddressCount": 250}
        return known if arguments["id"] == SUBNETS[0] else "api error InvalidSubnetID.NotFound: x"

    (line,) = refusal({SUBNET: answer}, cluster=cluster)

    assert line == (
        f"berth:cluster.network.subnet_ids: the zone of {SUBNETS[1]} was not read: it does not "
        f"exist in this account and region; check its name, or write it as {{<zone>: {SUBNETS[1]}}}"
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("api error ResourceNotFoundException: No cluster found for name: shared.",
                     "shared in us-east-1 was not read: it does not exist in this account and "
                     "region; check its name", id="missing"),
        pytest.param({"arn": "a", "status": "CREATING", "certificateAuthorities": []},
                     "shared in us-east-1 has no endpoint yet; wait until it is ACTIVE",
                     id="not-ready"),
    ],
)  # fmt: skip
def test_an_eks_cluster_that_cannot_be_used_is_refused(words: Any, expected: str) -> None:
    found = {"availabilityZone": "us-east-1a", "availableIpAddressCount": 250}

    (line,) = refusal({CLUSTER: words, SUBNET: found}, cluster=EKS_CLUSTER)

    assert line.startswith(f"berth:cluster.eks_cluster.name: {expected}")


BOUGHT = {key: each for key, each in BLOCK.items() if key != "reservation_id"} | {
    "purchase": {"offering_id": "cb-0123456789abcdef0", "pay_whole_fee_now_without_refund": True}
}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param({"upfrontFee": "132149.00", "currencyCode": "USD",
                      "availabilityZone": "us-east-1b",
                      "capacityBlockOfferingId": "cb-0123456789abcdef0"},
                     "AWS asks 132149.00 USD now", id="same"),
        pytest.param({"upfrontFee": "140000", "currencyCode": "USD",
                      "availabilityZone": "us-east-1b", "capacityBlockOfferingId": "cb-other"},
                     "AWS asks 140000 USD now, as cb-other: name that one", id="another"),
        pytest.param({"upfrontFee": "140000", "currencyCode": "EUR"},
                     "what AWS asks now was not read: AWS gives no answer that is of use; see what "
                     "the account shows", id="currency"),
        pytest.param({"upfrontFee": "soon"}, "what AWS asks now was not read", id="no-number"),
        pytest.param("api error UnauthorizedOperation: You are not authorized",
                     "not read: ec2:DescribeCapacityBlockOfferings is denied", id="denied"),
    ],
)  # fmt: skip
def test_the_price_of_a_block_is_what_aws_asks_now_or_not_read(answer: Any, expected: str) -> None:
    offered = {"instanceTypes": ["p5.48xlarge"] * 2, "locations": HERE}

    findings = start(
        {OFFER: answer, OFFERINGS: offered},
        tiers={"h100": an_h100_tier(capacity=BOUGHT)},
        models={"chat": a_70b()},
    )

    (finding,) = [each for each in findings if "`up` buys" in each.problem]
    assert expected in finding.problem


def test_a_type_that_no_zone_offers_is_said_as_such() -> None:
    """An empty answer is an answer: the type is not there."""
    _, account, _ = look_up({OFFERINGS: {"instanceTypes": [], "locations": []}})

    assert account.offered == {"g6.xlarge": frozenset()}


def test_what_the_stand_in_does_not_pretend_has_no_reason() -> None:
    """Offline the page says once that nothing is read."""
    _, account, _ = look_up({QUOTA: f"invocation of {QUOTA} returned an error: {QUOTA}: no answer "
                             "offline; write its function in answers.py"})  # fmt: skip

    assert account.quotas_vcpu == {}
    assert account.unread == {}


def test_an_eks_cluster_is_planned_for_its_own_kubernetes_version() -> None:
    """1.32: that of the autoscaler, https://github.com/kubernetes/autoscaler/releases."""
    subnet = {"availabilityZone": "us-east-1a", "availableIpAddressCount": 250}
    found = {
        "arn": "arn:aws:eks:us-east-1:123456789012:cluster/shared",
        "endpoint": "https://0a1b.gr7.us-east-1.eks.amazonaws.com",
        "version": "1.32",
        "certificateAuthorities": [{"data": "Q0VSVA=="}],
        "vpcConfig": {"vpcId": "vpc-1", "clusterSecurityGroupId": "sg-1"},
    }
    cluster = EKS_CLUSTER | {"install": ["cluster-autoscaler", "nvidia-gpu-operator"]}

    config, account, _ = look_up({CLUSTER: found, SUBNET: subnet}, cluster=cluster)
    plan = make_plan(config, load_catalog(), account)

    assert plan.autoscaler is not None
    assert plan.autoscaler.image_tag == "v1.32.7"
    assert plan.eks_cluster is not None
    assert plan.eks_cluster.service_cidr == "10.100.0.0/16"
