"""Subnets that never move, routes out, and endpoints."""

from ipaddress import IPv4Network
from itertools import combinations

import pytest

from berth.planner.plan import NetworkPlan
from components.network import Network, NetworkArgs, subnet_cidrs
from tests.unit.components.engine import RecordingEngine, declare

TWO_ZONES = ("us-east-1a", "us-east-1b")


def network(
    zones: tuple[str, ...] = TWO_ZONES,
    nat_gateways: int = 1,
    endpoints: tuple[str, ...] = ("ecr.api", "ecr.dkr"),
) -> RecordingEngine:
    plan = NetworkPlan(
        cidr="10.40.0.0/16",
        zones=zones,
        nat_gateways=nat_gateways,
        interface_endpoints=endpoints,
    )
    args = NetworkArgs(plan=plan, region="us-east-1", stack="h100-prod")
    return declare(lambda: Network("berth", args))


@pytest.mark.parametrize(
    ("zone", "public", "private"),
    [
        # Blocks of 10.40.0.0/16 are 10.40.(16 n).0/20; the thirteenth begins at 10.40.192.0.
        pytest.param("us-east-1a", "10.40.192.0/24", "10.40.0.0/20", id="a"),
        pytest.param("us-east-1b", "10.40.193.0/24", "10.40.16.0/20", id="b"),
        pytest.param("us-east-1f", "10.40.197.0/24", "10.40.80.0/20", id="f"),
    ],
)
def test_the_letter_of_a_zone_gives_its_ranges(zone: str, public: str, private: str) -> None:
    cidrs = subnet_cidrs("10.40.0.0/16", zone)

    assert (cidrs.public, cidrs.private) == (public, private)


def test_no_two_subnets_overlap() -> None:
    zones = [f"us-east-1{letter}" for letter in "abcdefghijkl"]
    cidrs = [subnet_cidrs("10.40.0.0/16", zone) for zone in zones]
    ranges = [IPv4Network(text) for each in cidrs for text in (each.public, each.private)]

    assert not any(one.overlaps(other) for one, other in combinations(ranges, 2))


def test_another_zone_changes_no_subnet() -> None:
    before = network().all("aws:ec2/subnet:Subnet")
    after = network(("us-east-1a", "us-east-1b", "us-east-1c")).all("aws:ec2/subnet:Subnet")

    assert before.items() <= after.items()
    assert len(after) == 6


def test_load_balancers_find_their_subnets_by_tag() -> None:
    subnets = network().all("aws:ec2/subnet:Subnet")

    assert subnets["berth-public-us-east-1a"]["tags"]["kubernetes.io/role/elb"] == "1"
    assert subnets["berth-private-us-east-1a"]["tags"]["kubernetes.io/role/internal-elb"] == "1"


@pytest.mark.parametrize(
    ("nat_gateways", "of_zone_b"),
    [
        pytest.param(1, "berth-nat-us-east-1a-id", id="one-for-all"),
        pytest.param(2, "berth-nat-us-east-1b-id", id="one-each"),
    ],
)
def test_private_subnets_go_out_through_a_nat_gateway(nat_gateways: int, of_zone_b: str) -> None:
    engine = network(nat_gateways=nat_gateways)

    route = engine.one("aws:ec2/route:Route", "berth-private-us-east-1b")
    assert route["natGatewayId"] == of_zone_b
    assert len(engine.all("aws:ec2/natGateway:NatGateway")) == nat_gateways
    assert len(engine.all("aws:ec2/eip:Eip")) == nat_gateways


def test_nat_gateways_stand_in_public_subnets() -> None:
    gateway = network().one("aws:ec2/natGateway:NatGateway")

    assert gateway["subnetId"] == "berth-public-us-east-1a-id"


def test_s3_is_reached_from_every_private_subnet() -> None:
    endpoint = network().one("aws:ec2/vpcEndpoint:VpcEndpoint", "berth-s3")

    assert endpoint["vpcEndpointType"] == "Gateway"
    assert endpoint["serviceName"] == "com.amazonaws.us-east-1.s3"
    assert endpoint["routeTableIds"] == [
        "berth-private-us-east-1a-id",
        "berth-private-us-east-1b-id",
    ]


def test_ecr_is_reached_by_its_own_name_from_the_network_only() -> None:
    engine = network()

    endpoint = engine.one("aws:ec2/vpcEndpoint:VpcEndpoint", "berth-ecr-api")
    rule = engine.one("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
    assert endpoint["serviceName"] == "com.amazonaws.us-east-1.ecr.api"
    assert endpoint["privateDnsEnabled"] is True
    assert endpoint["securityGroupIds"] == [rule["securityGroupId"]]
    assert (rule["cidrIpv4"], rule["fromPort"], rule["toPort"]) == ("10.40.0.0/16", 443, 443)


def test_without_interface_endpoints_there_is_no_group_for_them() -> None:
    engine = network(endpoints=())

    assert engine.all("aws:ec2/securityGroup:SecurityGroup") == {}
    assert list(engine.all("aws:ec2/vpcEndpoint:VpcEndpoint")) == ["berth-s3"]
