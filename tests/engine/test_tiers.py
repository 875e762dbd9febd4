"""Every tier and every kind of capacity on the real engine: made, left alone, changed."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.engine.tools import Program
from berth.offline.cloud import Cloud
from tests.aws_api.service_models import refusals_of_state
from tests.engine.checkout import ROOT, OfflineStack, berth

pytestmark = pytest.mark.engine

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"

TIERS = {
    "l4": ("g6.xlarge", "g6.2xlarge"),
    "a10g": ("g5.xlarge", "g5.2xlarge"),
    "t4": ("g4dn.xlarge", "g4dn.2xlarge"),
    "l40s": ("g6e.xlarge", "g6e.2xlarge"),
    "a100-40": ("p4d.24xlarge", "p4de.24xlarge"),
    "a100-80": ("p4de.24xlarge", "p4d.24xlarge"),
    "rtx-pro-6000": ("g7e.2xlarge", "g7e.4xlarge"),
    "h100x1": ("p5.4xlarge", "p5.48xlarge"),
    "h100": ("p5.48xlarge", "p5e.48xlarge"),
    "h200": ("p5en.48xlarge", "p5e.48xlarge"),
    "b200": ("p6-b200.48xlarge", "p6-b300.48xlarge"),
    "b300": ("p6-b300.48xlarge", "p6-b200.48xlarge"),
}
"""The type of each tier, and another one of the same CPU architecture."""

ARM = {"gb200": ("p6e-gb200.36xlarge", "p6e-gb200.36xlarge")}

FEW = ("l4", "h100")

KINDS: dict[str, dict[str, Any]] = {
    "ON_DEMAND": {"type": "ON_DEMAND"},
    "SPOT": {"type": "SPOT"},
    "ODCR": {"type": "ODCR", "availability_zone": "us-east-1b", "instance_count": 3},
    "CAPACITY_BLOCK": {
        "type": "CAPACITY_BLOCK",
        "availability_zone": "us-east-1b",
        "starts_at": "2026-11-20T11:30:00Z",
        "ends_at": "2027-01-29T11:30:00Z",
        "instance_count": 3,
    },
}


def capacity(kind: str, number: int) -> dict[str, Any]:
    """Each block and each reservation with an id of its own."""
    reserved = {"reservation_id": f"cr-{number:017x}"} if kind in ("ODCR", "CAPACITY_BLOCK") else {}
    return KINDS[kind] | reserved


def stack_text(
    kind: str, max_nodes: int = 2, changed_types: bool = False, only: tuple[str, ...] = ()
) -> str:
    """A stack of every tier, or of some, all bought in one way."""
    tiers = {
        name: {
            "instance_type": types[1 if changed_types else 0],
            "capacity": capacity(kind, number),
            "max_nodes": max_nodes,
        }
        for number, (name, types) in enumerate({**TIERS, **ARM}.items())
        if not only or name in only
    }
    model = {"model": "meta-llama/Llama-3.1-8B-Instruct", "tier": "l4", "max_model_len": 8192}
    config = {
        "aws:region": "us-east-1",
        "berth:environment": "dev",
        "berth:as_of": "2026-11-30",
        "berth:cluster": {"kubernetes_version": "1.35", "endpoint": "private"},
        "berth:tiers": tiers,
        "berth:models": {"chat": model},
    }
    return yaml.safe_dump({"config": config}, sort_keys=False)


def operations(stack: OfflineStack, kind: str) -> dict[str, str]:
    """What a preview would do to the resources of one type, by name."""
    out = stack.run("preview", "--json", "--show-sames")
    steps = json.loads(out[out.index("{") :])["steps"]
    return {
        step["urn"].rsplit("::", 1)[-1].removeprefix("berth-"): step["op"]
        for step in steps
        if step["urn"].split("::")[2].endswith(kind)
    }


@pytest.fixture
def stack(pulumi_cli: Program, tmp_path: Path) -> OfflineStack:
    return OfflineStack(pulumi_cli, ROOT, tmp_path / "state", "l4-dev").make()


@pytest.mark.parametrize("kind", KINDS)
def test_every_tier_is_made_once_and_changed_as_its_kind_allows(
    kind: str, stack: OfflineStack
) -> None:
    tiers = {*TIERS, *ARM}
    stack.stack_file.write_text(stack_text(kind), encoding="utf-8")
    planned = operations(stack, NODE_GROUP)
    stack.run("up", "--yes", "--skip-preview")
    refused = refusals_of_state(stack.exported())
    again = stack.change_summary()
    stack.stack_file.write_text(stack_text(kind, max_nodes=3), encoding="utf-8")
    more_nodes = operations(stack, NODE_GROUP)
    stack.stack_file.write_text(stack_text(kind, changed_types=True), encoding="utf-8")
    groups, templates = operations(stack, NODE_GROUP), operations(stack, TEMPLATE)

    assert planned == dict.fromkeys({*tiers, "system"}, "create")
    assert refused == []
    assert set(again) == {"same"}
    assert more_nodes == dict.fromkeys(tiers, "update") | {"system": "same"}
    assert {tier: groups[tier] for tier in TIERS} == dict.fromkeys(
        TIERS, "update" if kind == "CAPACITY_BLOCK" else "replace"
    )
    if kind == "CAPACITY_BLOCK":
        assert {tier: templates[tier] for tier in TIERS} == dict.fromkeys(TIERS, "update")


def test_a_count_that_somebody_else_changed_stays(stack: OfflineStack) -> None:
    stack.stack_file.write_text(stack_text("ON_DEMAND", max_nodes=5, only=FEW), encoding="utf-8")
    stack.run("up", "--yes", "--skip-preview")
    cloud = Cloud(stack.state)
    groups = {r.urn.rsplit("::", 1)[-1]: r for r in cloud.records() if r.type == NODE_GROUP}
    cloud.change(groups["berth-l4"].id, "scalingConfig.desiredSize", 4)

    stack.run("refresh", "--yes", "--skip-preview")
    stack.stack_file.write_text(stack_text("ON_DEMAND", max_nodes=6, only=FEW), encoding="utf-8")
    stack.run("up", "--yes", "--skip-preview")

    scaling = cloud.get(groups["berth-l4"].id).properties["scalingConfig"]
    assert scaling == {"minSize": 0, "desiredSize": 4, "maxSize": 6}


def test_another_order_of_the_tiers_changes_nothing(stack: OfflineStack) -> None:
    stack.stack_file.write_text(stack_text("ON_DEMAND", only=FEW), encoding="utf-8")
    stack.run("up", "--yes", "--skip-preview")
    document = yaml.safe_load(stack.stack_file.read_text(encoding="utf-8"))
    tiers = document["config"]["berth:tiers"]
    document["config"]["berth:tiers"] = dict(reversed(tiers.items()))
    stack.stack_file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")

    assert set(stack.change_summary()) == {"same"}


def test_a_minimum_above_the_nodes_that_run_is_said_before_eks_refuses_it(
    stack: OfflineStack, tmp_path: Path
) -> None:
    text = stack_text("ON_DEMAND", max_nodes=5, only=("l4",))
    stack.stack_file.write_text(text, encoding="utf-8")
    stack.run("up", "--yes", "--skip-preview")
    changed = tmp_path / "Pulumi.l4-dev.yaml"
    changed.write_text(text.replace("max_nodes: 5", "max_nodes: 5\n      min_nodes: 3"), "utf-8")

    ended = berth(
        ROOT, "preview", "--offline", "--stack", str(changed), "--state", str(stack.state), "--json"
    )

    start = json.loads(ended.stdout)["start"]
    (finding,) = [each for each in start if not each["ok"]]
    assert finding["problem"].startswith("min_nodes 3 is above the 1 node that runs")
    stack.stack_file.write_text(changed.read_text("utf-8"), encoding="utf-8")
    assert "scalingConfig.minSize: 3 is above desiredSize 1" in stack.run(
        "up", "--yes", "--skip-preview", code=1
    )
