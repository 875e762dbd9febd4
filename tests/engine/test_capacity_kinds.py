"""Reservations, blocks that hand over, and what prod keeps, on the real engine."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.engine.tools import Program
from berth.offline.cloud import Cloud
from tests.aws_api.service_models import refusals_of_state
from tests.engine.checkout import ROOT, OfflineStack

pytestmark = pytest.mark.engine

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP_ARN = "arn:aws:resource-groups:us-east-1:123456789012:group/h100"
RESERVED = {"type": "ODCR", "availability_zone": "us-east-1b", "instance_count": 3}
RESERVATIONS: dict[str, dict[str, Any]] = {
    "open": {},
    "targeted": {"reservation_id": "cr-0123456789abcdef0"},
    "grouped": {"resource_group_arn": GROUP_ARN},
}
BLOCK = {
    "type": "CAPACITY_BLOCK",
    "reservation_id": "cr-0123456789abcdef0",
    "availability_zone": "us-east-1b",
    "starts_at": "2026-11-20T11:30:00Z",
    "ends_at": "2026-12-04T11:30:00Z",
    "instance_count": 2,
    "next_reservation_id": "cr-0123456789abcdef1",
    "next_starts_at": "2026-12-05T11:30:00Z",
    "next_ends_at": "2026-12-19T11:30:00Z",
}


@pytest.fixture
def stack(pulumi_cli: Program, tmp_path: Path) -> OfflineStack:
    return OfflineStack(pulumi_cli, ROOT, tmp_path / "state", "l4-dev").make()


def write(stack: OfflineStack, tiers: dict[str, dict[str, Any]], **changes: Any) -> None:
    """Llama 8B on the first tier of a new cluster."""
    model = {
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "tier": next(iter(tiers)),
        "max_model_len": 8192,
        "replicas": 1,
    }
    config = {
        "aws:region": "us-east-1",
        "berth:environment": "dev",
        "berth:as_of": "2026-11-30",
        "berth:cluster": {"kubernetes_version": "1.35", "endpoint": "private"},
        "berth:tiers": tiers,
        "berth:models": {"chat": model},
    } | {f"berth:{key}": value for key, value in changes.items()}
    text = yaml.safe_dump({"config": config}, sort_keys=False)
    stack.stack_file.write_text(text, encoding="utf-8")


def an_h100(capacity: dict[str, Any], max_nodes: int = 2) -> dict[str, Any]:
    return {"instance_type": "p5.48xlarge", "capacity": capacity, "max_nodes": max_nodes}


def made(stack: OfflineStack, kind: str) -> dict[str, dict[str, Any]]:
    """Properties of everything of a type that exists, by the name in the program."""
    records = [each for each in Cloud(stack.state).records() if each.type == kind]
    return {each.urn.rsplit("::", 1)[-1]: dict(each.properties) for each in records}


def operations(stack: OfflineStack, kind: str) -> dict[str, str]:
    out = stack.run("preview", "--json", "--show-sames")
    steps = json.loads(out[out.index("{") :])["steps"]
    return {
        step["urn"].rsplit("::", 1)[-1]: step["op"]
        for step in steps
        if step["urn"].split("::")[2].endswith(kind)
    }


def test_reservations_are_matched_targeted_or_taken_from_a_group(stack: OfflineStack) -> None:
    tiers = {name: an_h100(RESERVED | how) for name, how in RESERVATIONS.items()}
    write(stack, tiers)
    stack.run("up", "--yes", "--skip-preview")
    templates, groups = made(stack, TEMPLATE), made(stack, NODE_GROUP)
    asked = {name: templates[f"berth-{name}"]["capacityReservationSpecification"] for name in tiers}
    again = stack.change_summary()
    write(stack, {name: each | {"max_nodes": 3} for name, each in tiers.items()})
    more = operations(stack, NODE_GROUP)

    assert refusals_of_state(stack.exported()) == []
    assert asked["open"]["capacityReservationPreference"] == "open"
    assert asked["targeted"]["capacityReservationTarget"] == {
        "capacityReservationId": "cr-0123456789abcdef0"
    }
    assert asked["grouped"]["capacityReservationTarget"] == {
        "capacityReservationResourceGroupArn": GROUP_ARN
    }
    assert {groups[f"berth-{name}"]["capacityType"] for name in tiers} == {"ON_DEMAND"}
    assert {len(groups[f"berth-{name}"]["subnetIds"]) for name in tiers} == {1}
    assert set(again) == {"same"}
    assert {more[f"berth-{name}"] for name in tiers} == {"update"}


def test_a_block_hands_over_to_the_next_by_a_new_template_version(stack: OfflineStack) -> None:
    """From 2026-12-04 11:00, when EC2 takes the instances back, to 2026-12-05 11:30: 24.5 hours."""
    write(stack, {"h100": an_h100(BLOCK)})
    said = stack.run("up", "--yes", "--skip-preview")
    first = made(stack, TEMPLATE)["berth-h100"]["capacityReservationSpecification"]
    start = json.loads(stack.run("stack", "output", "--json"))["start"]
    write(stack, {"h100": an_h100(BLOCK)}, as_of="2026-12-05")
    templates, groups = operations(stack, TEMPLATE), operations(stack, NODE_GROUP)
    stack.run("up", "--yes", "--skip-preview")
    second = made(stack, TEMPLATE)["berth-h100"]["capacityReservationSpecification"]

    assert "CAPACITY_BLOCK" in said
    assert any("after a gap of 24 h 30 min without nodes" in each["problem"] for each in start)
    assert (templates["berth-h100"], groups["berth-h100"]) == ("update", "update")
    assert [
        each["capacityReservationTarget"]["capacityReservationId"] for each in (first, second)
    ] == ["cr-0123456789abcdef0", "cr-0123456789abcdef1"]


def test_a_block_in_another_zone_replaces_the_group(stack: OfflineStack) -> None:
    """Subnets of a node group cannot change."""
    capacity = BLOCK | {"next_availability_zone": "us-east-1c"}
    write(stack, {"h100": an_h100(capacity)})
    stack.run("up", "--yes", "--skip-preview")
    write(stack, {"h100": an_h100(capacity)}, as_of="2026-12-05")

    assert operations(stack, NODE_GROUP)["berth-h100"] == "replace"


def test_destroy_names_the_cluster_that_prod_keeps(stack: OfflineStack) -> None:
    l4 = {"instance_type": "g6.xlarge", "capacity": {"type": "ON_DEMAND"}, "max_nodes": 2}
    write(stack, {"l4": l4}, environment="prod")
    stack.run("up", "--yes", "--skip-preview")
    before = {each.urn for each in Cloud(stack.state).records()}
    said = stack.run("destroy", "--yes", code=1)
    kubeconfig = json.loads(stack.run("stack", "output", "--json"))["kubeconfig"]

    assert "aws:eks/cluster:Cluster::berth" in said
    assert "cannot be deleted" in said
    assert {each.urn for each in Cloud(stack.state).records()} == before
    user = json.loads(kubeconfig)["users"][0]["user"]
    assert set(user) == {"exec"}
