"""Hybrid hosts, an EKS cluster that exists, and servers with several tiers, on the real engine."""

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

NEW = {"kubernetes_version": "1.35", "endpoint": "private"}
L4 = {"instance_type": "g6.xlarge", "capacity": {"type": "ON_DEMAND"}, "max_nodes": 2}
CHAT = {"model": "meta-llama/Llama-3.1-8B-Instruct", "max_model_len": 8192}
MI300X = {
    "source": "hybrid",
    "hosts": "own",
    "gpu": "MI300X",
    "gpus_per_node": 8,
    "vcpus_per_node": 384,
    "nodes": 2,
    "usd_per_gpu_hour": "1.85",
}


@pytest.fixture
def stack(pulumi_cli: Program, tmp_path: Path) -> OfflineStack:
    return OfflineStack(pulumi_cli, ROOT, tmp_path / "state", "l4-dev").make()


def write(
    stack: OfflineStack,
    cluster: dict[str, Any],
    tiers: dict[str, Any],
    tier: Any,
    **changes: Any,
) -> None:
    config = {
        "aws:region": "us-east-1",
        "berth:environment": "dev",
        "berth:as_of": "2026-11-30",
        "berth:cluster": cluster,
        "berth:tiers": tiers,
        "berth:models": {"chat": CHAT | {"tier": tier} | changes},
    }
    text = yaml.safe_dump({"config": config}, sort_keys=False)
    stack.stack_file.write_text(text, encoding="utf-8")


def up_twice(stack: OfflineStack) -> tuple[str, dict[str, int]]:
    said = stack.run("up", "--yes", "--skip-preview")
    assert refusals_of_state(stack.exported()) == []
    return said, stack.change_summary()


def test_hybrid_hosts_get_a_secret_file_each(stack: OfflineStack) -> None:
    hybrid = {"node_cidrs": ["10.80.0.0/16"], "pod_cidrs": ["10.81.0.0/16"]}
    write(stack, NEW | {"hybrid": hybrid}, {"mi300x": MI300X}, "mi300x")
    said, again = up_twice(stack)
    shown = json.loads(stack.run("stack", "output", "--json", "--show-secrets"))["node_configs"]
    types = {record.type for record in Cloud(stack.state).records()}
    code = json.loads(shown["mi300x"]["mi300x-1"])["spec"]["hybrid"]["ssm"]["activationCode"]

    assert set(again) == {"same"}
    assert set(shown["mi300x"]) == {"mi300x-1", "mi300x-2"}
    assert code not in said
    assert code not in stack.run("stack", "export")
    assert {"aws:ssm/activation:Activation", "aws:eks/accessEntry:AccessEntry"} <= types


def test_a_tier_of_slices_comes_up_without_a_finding(stack: OfflineStack) -> None:
    """Two slices of each of eight GPUs, from no node on."""
    sliced = {
        "instance_type": "p5.48xlarge",
        "capacity": {"type": "ON_DEMAND"},
        "mig_profile": "3g.40gb",
        "max_nodes": 2,
    }
    write(stack, NEW, {"h100": sliced}, "h100")
    previewed = berth(ROOT, "preview", "--offline", "--json", "--stack", str(stack.stack_file))
    _, again = up_twice(stack)
    records = Cloud(stack.state).records()
    tags = {
        each.properties["tag"]["key"]: each.properties["tag"]["value"]
        for each in records
        if each.type == "aws:autoscaling/tag:Tag"
    }

    assert {each["kind"] for each in json.loads(previewed.stdout)["policies"]} == {"ami-unpinned"}
    assert set(again) == {"same"}
    template = "k8s.io/cluster-autoscaler/node-template"
    assert tags[f"{template}/label/nvidia.com/mig.config"] == "all-3g.40gb"
    assert tags[f"{template}/resources/nvidia.com/gpu"] == "16"


def test_a_server_over_two_nodes_comes_up_without_a_finding(stack: OfflineStack) -> None:
    """DeepSeek V3 on sixteen H100, with all their network interfaces."""
    h100 = {"instance_type": "p5.48xlarge", "capacity": {"type": "ON_DEMAND"}, "max_nodes": 2}
    write(stack, NEW, {"h100": h100}, "h100", model="deepseek-ai/DeepSeek-V3")
    previewed = berth(ROOT, "preview", "--offline", "--json", "--stack", str(stack.stack_file))
    said, again = up_twice(stack)
    records = Cloud(stack.state).records()
    (template,) = [
        each.properties
        for each in records
        if each.type.endswith("LaunchTemplate") and each.properties.get("networkInterfaces")
    ]
    (group,) = [each for each in records if each.urn.endswith("NodeGroup::berth-h100")]

    document = json.loads(previewed.stdout)
    assert document["plan"]["servers"]["chat"]["nodes_per_replica"] == 2
    assert {each["kind"] for each in document["policies"]} == {"ami-unpinned"}
    assert set(again) == {"same"}
    assert len(group.properties["subnetIds"]) == 1
    assert [each["interfaceType"] for each in template["networkInterfaces"]] == [
        "interface",
        *["efa-only"] * 32,
    ]
    assert {
        "aws:ec2/placementGroup:PlacementGroup",
        "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet",
    } <= {each.type for each in records}
    assert "must hold libfabric and aws-ofi-nccl" in said


def test_node_groups_on_an_eks_cluster_that_exists(stack: OfflineStack) -> None:
    subnets = {"us-east-1a": "subnet-0123456789abcdef0", "us-east-1b": "subnet-0123456789abcdef1"}
    cluster = {
        "eks_cluster": {"name": "shared", "subnet_ids": subnets},
        "install": ["nvidia-gpu-operator"],
    }
    write(stack, cluster, {"l4": L4}, "l4")
    _, again = up_twice(stack)
    records = Cloud(stack.state).records()
    (group,) = [each for each in records if each.type == "aws:eks/nodeGroup:NodeGroup"]

    assert set(again) == {"same"}
    assert group.properties["clusterName"] == "shared"
    assert sorted(group.properties["subnetIds"]) == sorted(subnets.values())
    assert not [each for each in records if each.type == "aws:ec2/vpc:Vpc"]


def test_the_autoscaler_grows_the_preferred_tier_first(stack: OfflineStack) -> None:
    tiers = {"l4": L4, "l4-spot": L4 | {"capacity": {"type": "SPOT"}}}
    write(stack, NEW, tiers, ["l4-spot", "l4"])
    _, again = up_twice(stack)
    (deployment,) = [
        each for each in Cloud(stack.state).records() if each.type.endswith(":Deployment")
    ]
    affinity = deployment.properties["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    preferred = affinity["preferredDuringSchedulingIgnoredDuringExecution"]

    assert set(again) == {"same"}
    assert [
        (each["weight"], each["preference"]["matchExpressions"][0]["values"]) for each in preferred
    ] == [(100, ["l4-spot"]), (50, ["l4"])]


def test_nothing_is_made_in_aws_for_a_cluster_that_exists(stack: OfflineStack) -> None:
    tiers = {"mi300x": {"source": "existing", "gpu": "MI300X", "gpus_per_node": 8, "nodes": 2}}
    write(stack, {"kubeconfig": "~/.kube/config", "context": "lab"}, tiers, "mi300x")
    _, again = up_twice(stack)
    types = {each.type for each in Cloud(stack.state).records()}

    assert set(again) == {"same"}
    assert "kubernetes:apps/v1:Deployment" in types
    assert not [each for each in types if each.startswith("aws:")]
