"""What a preview's report says, without an engine."""

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from pulumi.automation.events import EngineEvent

from berth.catalog.load import load_catalog
from berth.cli.preview_page import print_page
from berth.cli.preview_report import Report, report_document
from berth.cli.resource_notes import UNKNOWN, note
from berth.config.budget import Guardrails
from berth.costs.from_plan import estimate
from berth.engine.preview import (
    EnginePreview,
    PolicyFinding,
    PreviewedResource,
    collect,
    network_zones,
)
from berth.rules.finding import NotChecked
from tests.unit.planner.stacks import an_8b, an_l4_tier, planned

DAY = date(2026, 11, 30)
URN = "urn:pulumi:l4-dev::berth::kubernetes:apps/v1:Deployment::berth-chat"


def a_report(
    monthly_usd: str | None = None, region: str = "us-east-1", day: date = DAY, **preview: Any
) -> Report:
    budget = {} if monthly_usd is None else {"budget": {"monthly_usd": Decimal(monthly_usd)}}
    tiers = {"l4": an_l4_tier(min_nodes=1)}
    plan = planned(region=region, as_of=day, tiers=tiers, models={"chat": an_8b()}, **budget)
    return Report(
        stack="l4-dev",
        plan=plan,
        estimate=estimate(plan, load_catalog()),
        preview=EnginePreview(**preview),
    )


def a_resource(op: str = "create", **changes: Any) -> PreviewedResource:
    resource: dict[str, Any] = {
        "urn": URN,
        "type": "kubernetes:apps/v1:Deployment",
        "name": "berth-chat",
        "op": op,
        "parent": "",
        "changed": (),
        "inputs": {},
    }
    return PreviewedResource(**(resource | changes))


def a_finding(level: str) -> PolicyFinding:
    return PolicyFinding(
        kind="image-unpinned",
        enforcement_level=level,
        urn=URN,
        message="The rule in words.\nberth-chat: image x has no tag; pin it\nfix: image: x:v1",
    )


def test_limits_of_the_repository_hold_beside_the_budget() -> None:
    """One g6.xlarge and what is around it: 847.59 USD a month."""
    limits = Guardrails.model_validate({"stacks": {"l4-dev": {"monthly_usd": 800}}})

    (finding,) = replace(a_report("900"), guardrails=limits).findings

    assert (finding.kind, finding.enforcement_level) == ("budget-exceeded", "mandatory")
    assert finding.message.startswith("berth-guardrails.yaml: stacks.l4-dev.monthly_usd: the plan")


@pytest.mark.parametrize(("level", "refused"), [("mandatory", True), ("advisory", False)])
def test_only_a_mandatory_finding_refuses(level: str, refused: bool) -> None:
    report = a_report(policies=[a_finding(level)])

    assert report.refused is refused
    assert report_document(report)["policies"] == [
        {
            "kind": "image-unpinned",
            "enforcement_level": level,
            "resource": "berth-chat",
            "message": "berth-chat: image x has no tag; pin it",
            "fix": "image: x:v1",
        }
    ]


def test_the_budget_is_a_limit_that_may_be_reached() -> None:
    usd = a_report().estimate.plan.usd_per_month

    at_limit = a_report(str(usd))
    above = a_report(str(usd - Decimal("0.01")))

    assert at_limit.findings == []
    (finding,) = above.findings
    assert (finding.kind, finding.enforcement_level) == ("budget-exceeded", "mandatory")
    assert f"{usd} USD a month, 0.01 above" in finding.message


@pytest.mark.parametrize(
    ("region", "day", "level"),
    [
        pytest.param("us-west-2", DAY, "advisory", id="what stands around the GPUs"),
        pytest.param("us-east-1", date(2020, 1, 30), "mandatory", id="the GPU nodes"),
    ],
)
def test_a_budget_does_not_hold_what_has_no_price(region: str, day: date, level: str) -> None:
    (finding,) = a_report("1000000", region, day).findings

    assert (finding.kind, finding.enforcement_level) == ("budget-exceeded", level)
    assert "is unknown" in finding.message


def test_the_document_has_the_parts_that_others_read() -> None:
    document = json.loads(json.dumps(report_document(a_report())))

    assert list(document) == ["stack", "resources", "plan", "policies", "cost", "start"]
    assert [each["name"] for each in document["cost"]["servers"]] == ["chat"]
    assert set(document["cost"]["idle"]) >= {"gpus", "usd_per_hour"}


def test_each_server_of_the_plan_has_its_cost() -> None:
    document = report_document(a_report())

    (server,) = document["cost"]["servers"]
    assert document["plan"]["servers"]["chat"]["cost"] == {
        "usd_per_hour": server["usd_per_hour"],
        "usd_per_1m_output_tokens": server["usd_per_1m_output_tokens"],
    }


def test_what_could_not_be_checked_is_told() -> None:
    entry = NotChecked(kind="image-unpinned", resource="chat", urn="urn:chat", field="spec.image")
    report = replace(a_report(), not_checked=(entry,))

    assert report_document(report)["not_checked"] == [
        {
            "kind": "image-unpinned",
            "resource": "chat",
            "field": "spec.image",
            "message": "chat: not checked: spec.image is known after apply",
        }
    ]


def test_the_page_nests_resources_and_names_what_changes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    component = a_resource(urn="c", type="berth:index:ModelServer", op="same")
    changed = a_resource(op="update", parent="c", changed=("spec",))

    print_page(a_report(resources=[component, changed], warnings=["look here"]))

    page = capsys.readouterr().out
    assert "Resources: 1 unchanged, 1 to change" in page
    assert "    ~ kubernetes:apps/v1:Deployment berth-chat  changes spec" in page
    assert "warning: look here" in page
    assert "1 replica of 1 GPU (tensor parallel 1) on 1 node" in page


@pytest.mark.parametrize(
    ("token", "inputs", "said"),
    [
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16"}, "10.0.0.0/16"),
        ("aws:ec2/vpc:Vpc", {"cidrBlock": UNKNOWN}, ""),
        (
            "aws:eks/nodeGroup:NodeGroup",
            {
                "instanceTypes": ["g6.xlarge"],
                "scalingConfig": {"minSize": 0, "desiredSize": 1.0, "maxSize": UNKNOWN},
            },
            "g6.xlarge, min 0, desired 1, max ?",
        ),
        ("kubernetes:apps/v1:Deployment", {"spec": UNKNOWN}, "? replicas"),
        ("kubernetes:core/v1:Service", {"spec": {"ports": []}}, ""),
        ("aws:s3/bucket:Bucket", {}, ""),
    ],
)
def test_a_note_says_what_is_known(token: str, inputs: dict[str, Any], said: str) -> None:
    assert note(token, inputs) == said


GROUP = {
    "urn": "urn:pulumi:l4-dev::berth::aws:eks/nodeGroup:NodeGroup::berth-l4",
    "type": "aws:eks/nodeGroup:NodeGroup",
    "name": "berth-l4",
}


def a_group(least: int, most: int, running: int | None, op: str = "update") -> PreviewedResource:
    """A node group with new bounds, and the count that the state last saw."""
    scaling = {"minSize": least, "desiredSize": running or least, "maxSize": most}
    before = {"scalingConfig": {"desiredSize": running}} if running is not None else {}
    return a_resource(
        op=op,
        **GROUP,
        inputs={"labels": {"berth-gpu/tier": "l4"}, "scalingConfig": scaling},
        before=before | {"clusterName": "berth-1a2b", "nodeGroupName": "berth-l4-3c4d"},
    )


@pytest.mark.parametrize(
    ("least", "most", "running", "said"),
    [
        pytest.param(3, 5, 1, "min_nodes 3 is above the 1 node that runs", id="min-above"),
        pytest.param(1, 2, 4, "max_nodes 2 is below the 4 nodes that run", id="max-below"),
    ],
)
def test_bounds_that_eks_refuses_with_the_nodes_that_run_are_said_before_up(
    least: int, most: int, running: int, said: str
) -> None:
    report = a_report(resources=[a_group(least, most, running)])

    (finding,) = [each for each in report.start if "as of the last refresh" in each["problem"]]
    assert (finding["tier"], finding["ok"]) == ("l4", False)
    assert finding["problem"].startswith(said)
    bound = least if least > running else most
    assert f"--nodegroup-name berth-l4-3c4d --scaling-config desiredSize={bound}" in finding["fix"]


@pytest.mark.parametrize(
    ("least", "most", "running", "op"),
    [
        pytest.param(1, 5, 1, "update", id="min-reached"),
        pytest.param(1, 4, 4, "update", id="max-reached"),
        pytest.param(3, 5, None, "create", id="new"),
        pytest.param(3, 5, 1, "replace", id="replaced"),
    ],
)
def test_bounds_that_hold_are_not_mentioned(
    least: int, most: int, running: int | None, op: str
) -> None:
    report = a_report(resources=[a_group(least, most, running, op)])

    assert not [each for each in report.start if "last refresh" in each["problem"]]


def test_the_zones_of_a_stack_are_those_of_its_subnets() -> None:
    def subnet(zone: str, op: str = "create") -> PreviewedResource:
        return a_resource(op=op, type="aws:ec2/subnet:Subnet", inputs={"availabilityZone": zone})

    found = [subnet("us-east-1f"), subnet("us-east-1c"), subnet("us-east-1c")]

    assert network_zones([*found, subnet("us-east-1a", "delete"), a_resource()]) == (
        "us-east-1c",
        "us-east-1f",
    )


@pytest.mark.parametrize(
    ("differs", "shown"),
    [
        pytest.param(["tags", "tagsAll"], ("tags",), id="tags of its own"),
        pytest.param(["tagsAll"], ("tagsAll",), id="those of the provider"),
        pytest.param(["scalingConfig"], ("scalingConfig",), id="something else"),
    ],
)
def test_tags_are_not_told_twice(differs: list[str], shown: tuple[str, ...]) -> None:
    state = {"type": GROUP["type"], "urn": GROUP["urn"], "parent": "", "inputs": {}}
    metadata = {"op": "update", "urn": GROUP["urn"], "type": GROUP["type"], "new": state}
    event = {"resourcePreEvent": {"metadata": metadata | {"old": state, "diffs": differs}}}
    result = EnginePreview()

    collect(EngineEvent.from_json(event), result)

    assert [each.changed for each in result.resources] == [shown]
