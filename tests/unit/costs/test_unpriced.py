"""What has no price is named, so that no total is lower than it seems."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.costs.bought import PriceList
from berth.costs.estimate import Estimate
from berth.costs.resources.documents import read_engine_document
from berth.costs.resources.estimate_resources import estimate_resources
from tests.unit.costs.engine_documents import export, node_group, preview, state, step

PRICES = PriceList(book=load_catalog().prices, region="us-east-1", day=date(2026, 11, 30))


def estimated(data: bytes) -> Estimate:
    side = read_engine_document(data, "preview.json").after
    return estimate_resources(side, load_catalog(), PRICES)


def reasons(*states: dict[str, Any]) -> list[str]:
    return [
        each.reason for each in estimated(preview(*(step("create", s) for s in states))).unpriced
    ]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        pytest.param(
            "aws:rds/instance:Instance",
            "no price of aws:rds/instance:Instance is kept",
            id="database",
        ),
        pytest.param(
            "aws-native:rds:DBInstance",
            "no price of aws-native:rds:DBInstance is kept",
            id="native",
        ),
        pytest.param(
            "kubernetes:karpenter.sh/v1:NodePool",
            "Karpenter starts its nodes when pods wait: as many as the pods of the day ask, since "
            "it has no limits; plan and disks count none",
            id="karpenter",
        ),
        pytest.param(
            "aws:ec2/capacityBlockReservation:CapacityBlockReservation",
            "the fee of the block, paid once and never refunded, is not in the stack (known after "
            "it is bought)",
            id="a block that is bought",
        ),
    ],
)
def test_a_type_without_a_price_is_named(kind: str, reason: str) -> None:
    assert reasons(state(kind, "it", {})) == [reason]


@pytest.mark.parametrize(
    "kind",
    ["aws:iam/role:Role", "aws:ec2/subnet:Subnet", "aws:s3/bucket:Bucket", "random:index:Id"],
)
def test_what_costs_nothing_by_the_hour_is_not(kind: str) -> None:
    assert reasons(state(kind, "it", {})) == []


def test_a_load_balancer_of_a_service_is_named() -> None:
    service = state("kubernetes:core/v1:Service", "front", {"spec": {"type": "LoadBalancer"}})

    assert reasons(service) == [
        "of which kind the load balancer is that the cloud makes for it is not said"
    ]


def test_an_export_of_a_stack_of_berth_says_what_it_lacks() -> None:
    found = estimated(export(state("berth:index:Platform", "berth", {})))

    assert [each.resource for each in found.unpriced] == ["the stack"]
    assert found.at_least


def test_gpus_are_not_called_idle_where_pods_are_not_read() -> None:
    assert estimated(preview(step("create", node_group()))).idle == []


def test_a_disk_that_is_not_gp3_has_no_price() -> None:
    assert reasons(with_disk(volumeType="io2"))[0].startswith("Root disks: no price of io2")


def test_a_faster_disk_costs_more() -> None:
    """One node: (1000 - 125) x 0.04 = 35.00, (5000 - 3000) x 0.005 = 10.00 a month."""
    found = estimated(preview(step("create", with_disk(throughput=1000, iops=5000))))

    month = {
        line.name: (line.plan_usd_per_hour * 730).quantize(Decimal("0.01")) for line in found.lines
    }
    assert month["Disk throughput"] == Decimal("35.00")
    assert month["Disk operations"] == Decimal("10.00")


def with_disk(**changes: Any) -> dict[str, Any]:
    disk = {"volumeSize": 100, "volumeType": "gp3", **changes}
    return state(
        "aws:ec2/instance:Instance", "box", {"instanceType": "g6.xlarge", "rootBlockDevice": disk}
    )
