"""What any team's resources cost; the arithmetic stands beside each estimate."""

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.costs.bought import PriceList
from berth.costs.estimate import Estimate
from berth.costs.resources.documents import DocumentError, read_engine_document
from berth.costs.resources.estimate_resources import estimate_resources
from berth.costs.resources.settings import region_of
from berth.costs.resources.values import ImpossibleValueError
from tests.unit.costs.engine_documents import (
    UNKNOWN,
    export,
    node_group,
    preview,
    state,
    step,
)

PRICES = PriceList(book=load_catalog().prices, region="us-east-1", day=date(2026, 11, 30))


def estimated(data: bytes, *, before: bool = False) -> Estimate:
    document = read_engine_document(data, "preview.json")
    return estimate_resources(document.before if before else document.after, load_catalog(), PRICES)


def per_hour(found: Estimate) -> tuple[Decimal, Decimal, Decimal]:
    totals = (found.floor, found.plan, found.ceiling)
    return tuple(each.usd_per_hour.quantize(Decimal("0.0001")) for each in totals)  # type: ignore[return-value]


def test_two_p5_on_demand() -> None:
    """2 x 55.04 = 110.08; disks 2 x 200 GiB x 0.08 / 730 = 0.0438; floor 0, ceiling twice."""
    found = estimated(preview(step("create", node_group())))

    assert per_hour(found) == (Decimal("0"), Decimal("110.1238"), Decimal("220.2477"))
    assert not found.at_least


def test_totals_are_the_sum_of_their_lines() -> None:
    found = estimated(preview(step("create", node_group()), step("create", node_group("b"))))

    assert found.plan.usd_per_hour == sum(line.plan_usd_per_hour for line in found.lines)


@pytest.mark.parametrize("option", ["launch template", "node group"])
def test_the_type_may_stand_in_the_launch_template(option: str) -> None:
    """One g6.xlarge at 0.8048."""
    template = state(
        "aws:ec2/launchTemplate:LaunchTemplate",
        "t",
        {"instanceType": "g6.xlarge"} if option == "launch template" else {},
    )
    group = node_group(
        instanceTypes=None if option == "launch template" else ["g6.xlarge"],
        scalingConfig={"minSize": 1, "desiredSize": 1, "maxSize": 1},
        diskSize=None,
        launchTemplate={"id": UNKNOWN},
    ) | {"propertyDependencies": {"launchTemplate": [template["urn"]]}}

    found = estimated(preview(step("create", template), step("create", group)))

    (nodes,) = (line for line in found.lines if line.unit == "node-hour")
    assert nodes.plan_usd_per_hour == Decimal("0.8048")


def test_an_auto_scaling_group_counts_as_its_desired_capacity() -> None:
    """3 x 0.8048 = 2.4144, from 1 to 5: 0.8048 and 4.0240."""
    template = state(
        "aws:ec2/launchTemplate:LaunchTemplate", "t", {"instanceType": "g6.xlarge"}, id="lt-1"
    )
    group = state(
        "aws:autoscaling/group:Group",
        "asg",
        {"minSize": 1, "maxSize": 5, "desiredCapacity": 3, "launchTemplate": {"id": "lt-1"}},
    )

    found = estimated(export(template, group))

    assert per_hour(found) == (Decimal("0.8048"), Decimal("2.4144"), Decimal("4.0240"))


def test_a_group_is_never_smaller_than_its_smallest_size() -> None:
    """The count that runs (1) is left to the autoscaler, and `up` raises it: 2 x 55.04 x floor."""
    scaling = {"minSize": 2, "desiredSize": 1, "maxSize": 4}

    found = estimated(preview(step("update", node_group(scalingConfig=scaling, diskSize=0))))

    (nodes,) = (line for line in found.lines if line.unit == "node-hour")
    assert nodes.floor_usd_per_hour == nodes.plan_usd_per_hour == Decimal("110.08")


def test_one_instance_is_there_at_floor_plan_and_ceiling() -> None:
    instance = state("aws:ec2/instance:Instance", "box", {"instanceType": "g6.xlarge"})

    assert per_hour(estimated(export(instance))) == (Decimal("0.8048"),) * 3


def test_what_is_replaced_counts_once() -> None:
    old = node_group(instanceTypes=["g6.xlarge"], diskSize=None)
    new = node_group(diskSize=None)
    steps = (
        step("create-replacement", new, old),
        step("replace", new, old),
        step("delete-replaced", None, old),
    )

    after = estimated(preview(*steps))
    before = estimated(preview(*steps), before=True)

    assert [line.detail for line in after.lines if line.unit == "node-hour"] == [
        "p5.48xlarge, on demand"
    ]
    assert [line.detail for line in before.lines if line.unit == "node-hour"] == [
        "g6.xlarge, on demand"
    ]


def test_a_replacement_in_one_step_counts_once_too() -> None:
    """As a preview without --show-replacement-steps has it."""
    old = node_group(instanceTypes=["g6.xlarge"], diskSize=None)
    data = preview(step("replace", node_group(diskSize=None), old))

    kinds = [
        [line.detail for line in estimated(data, before=before).lines if line.unit == "node-hour"]
        for before in (True, False)
    ]

    assert kinds == [["g6.xlarge, on demand"], ["p5.48xlarge, on demand"]]


def test_a_state_that_the_preview_dropped_is_named() -> None:
    data = preview({"op": "create", "urn": node_group()["urn"]})

    assert [each.reason for each in estimated(data).unpriced] == ["its state is not in the preview"]


def test_what_is_deleted_costs_before_and_not_after() -> None:
    data = preview(step("delete", None, node_group()))

    assert estimated(data).lines == []
    assert estimated(data, before=True).plan.usd_per_hour > 110


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"scalingConfig": {"desiredSize": UNKNOWN}}, "known after apply", id="count"),
        pytest.param({"scalingConfig": UNKNOWN}, "known after apply", id="all-counts"),
        pytest.param({"instanceTypes": "[secret]"}, "secret", id="secret"),
        pytest.param({"instanceTypes": ["x9.huge"]}, "x9.huge", id="unknown-type"),
        pytest.param(
            {"capacityType": "SPOT", "instanceTypes": ["g6.12xlarge"]},
            "no spot price of g6.12xlarge in us-east-1",
            id="spot-without-a-reading",
        ),
    ],
)
def test_what_cannot_be_priced_is_named_and_never_zero(changes: Any, reason: str) -> None:
    found = estimated(preview(step("create", node_group(**changes))))

    assert found.at_least
    assert any(reason in each.reason for each in found.unpriced), found.unpriced


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        pytest.param(
            {"scalingConfig": {"desiredSize": -2, "maxSize": 1}},
            "desiredSize is -2, which is no count from 0 to 1,000,000",
            id="negative",
        ),
        pytest.param(
            {"scalingConfig": {"desiredSize": 1e12, "maxSize": 1}},
            "which is no count from 0 to 1,000,000",
            id="absurd",
        ),
        pytest.param(
            {"scalingConfig": {"desiredSize": "many", "maxSize": 1}},
            "desiredSize is 'many', which is no number",
            id="no-number",
        ),
        pytest.param(
            {"scalingConfig": {"minSize": 5, "maxSize": 2}},
            "its smallest size 5 is above its largest, 2",
            id="the-wrong-way-round",
        ),
    ],
)
def test_a_count_that_cannot_be_is_refused(changes: Any, text: str) -> None:
    with pytest.raises(ImpossibleValueError, match=text) as refusal:
        estimated(preview(step("create", node_group(**changes))))

    assert str(refusal.value).startswith("pool (aws:eks/nodeGroup:NodeGroup): ")


def test_a_block_is_in_no_hour_and_its_fee_is_asked_for() -> None:
    template = state(
        "aws:ec2/launchTemplate:LaunchTemplate",
        "t",
        {
            "instanceType": "p5.48xlarge",
            "instanceMarketOptions": {"marketType": "capacity-block"},
            "capacityReservationSpecification": {
                "capacityReservationTarget": {"capacityReservationId": "cr-1"}
            },
        },
        id="lt-1",
    )
    group = node_group(instanceTypes=None, diskSize=None, launchTemplate={"id": "lt-1"})

    found = estimated(export(template, group))

    assert [line.plan_usd_per_hour for line in found.lines if line.unit == "node-hour"] == [0]
    assert "fee of Capacity Block cr-1" in found.unpriced[0].reason


def test_what_a_preview_leaves_out_is_said() -> None:
    found = estimated(
        preview(step("create", node_group()), changeSummary={"create": 1, "same": 40})
    )

    assert found.at_least
    assert found.unpriced[-1].resource == "40 unchanged resources"
    assert "--show-sames" in found.unpriced[-1].reason


def test_the_region_of_an_export_is_that_of_its_provider_or_of_an_arn() -> None:
    provider = state("pulumi:providers:aws", "default", {"region": "eu-west-1"})
    cluster = state(
        "aws:eks/cluster:Cluster", "c", {}, outputs={"arn": "arn:aws:eks:us-west-2:1:cluster/c"}
    )

    def region(*states: dict[str, Any]) -> str | None:
        return region_of(read_engine_document(export(*states), "e").after)

    assert region(cluster, provider) == "eu-west-1"
    assert region(cluster) == "us-west-2"
    assert region(node_group()) is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"", "no whole JSON", id="empty"),
        pytest.param(preview(step("create", node_group()))[:-9], "no whole JSON", id="cut-off"),
        pytest.param(preview() + preview(), "several JSON documents", id="two-documents"),
        pytest.param(b'{"sequence": 1}\n{"sequence": 2}\n', "a stream of", id="streaming"),
        pytest.param(b"[]", "not as the engine writes it", id="list"),
        pytest.param(b"{}", "neither a preview nor an export", id="other"),
        pytest.param(b'{"steps": 7}', "not as the engine writes it", id="wrong-type"),
        pytest.param(b'{"steps":' + b"[" * 100_000, "preview.json: ", id="deep"),
        pytest.param(b"\xff\xfe", "no whole JSON", id="no-text"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(DocumentError, match=text) as refusal:
        read_engine_document(data, "preview.json")

    assert str(refusal.value).startswith("preview.json: ")


def test_what_a_failed_preview_says_is_kept() -> None:
    said = [{"severity": "error", "message": "no credentials\n"}]

    document = read_engine_document(preview(diagnostics=said), "p")

    assert document.errors == ("no credentials",)


def test_a_stack_without_resources_costs_nothing() -> None:
    found = estimated(json.dumps({"deployment": {}}).encode())

    assert (found.lines, found.at_least) == ([], False)
