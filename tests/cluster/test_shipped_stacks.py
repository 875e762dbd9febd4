"""The shipped stacks go up on a real control plane, run where they should, and leave nothing."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.rehearsal.api import Api
from tests.engine.checkout import ROOT

pytestmark = pytest.mark.cluster

PATIENCE_S = 60
HYBRID = """
config:
  aws:region: us-east-1
  berth:environment: dev
  berth:as_of: 2026-11-30
  berth:cluster:
    kubernetes_version: "1.35"
    endpoint: private
    hybrid: {node_cidrs: [10.80.0.0/16], pod_cidrs: [10.85.0.0/16]}
  berth:tiers:
    mi300x:
      source: hybrid
      hosts: own
      gpu: MI300X
      gpus_per_node: 8
      vcpus_per_node: 384
      nodes: 1
  berth:models:
    chat:
      model: meta-llama/Llama-3.3-70B-Instruct
      tier: mi300x
      quantization: fp8
      max_model_len: 16384
      replicas: 2
"""


OVER_NODES = """
config:
  aws:region: us-east-1
  berth:environment: dev
  berth:as_of: 2026-11-30
  berth:cluster: {kubernetes_version: "1.35", endpoint: private}
  berth:tiers:
    l4: {instance_type: g6.8xlarge, capacity: {type: ON_DEMAND}, max_nodes: 4}
  berth:models:
    chat:
      model: meta-llama/Llama-3.1-8B-Instruct
      tier: l4
      tensor_parallel_size: 1
      pipeline_parallel_size: 2
      max_model_len: 8192
      replicas: 2
"""
"""Two replicas of two nodes each; a g6.8xlarge has one GPU and one EFA interface."""


def rehearse(stack: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "berth", "rehearse", "--stack", stack, "--json", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.fixture(scope="module")
def h100(engine_programs: None) -> dict[str, Any]:
    ended = rehearse("h100-prod")
    assert ended.returncode == 0, ended.stderr
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


@pytest.fixture(scope="module")
def mi300x(engine_programs: None) -> dict[str, Any]:
    ended = rehearse("mi300x-prod")
    assert ended.returncode == 0, ended.stderr
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


@dataclass(frozen=True)
class Kept:
    """A stack that is up."""

    document: dict[str, Any]
    api: Api
    gpu_nodes: frozenset[str]


@pytest.fixture(scope="module")
def l4(engine_programs: None) -> Iterator[Kept]:
    ended = rehearse("l4-dev", "--keep")
    assert ended.returncode == 0, ended.stderr
    keeper = int(ended.stderr.rsplit("kill ", 1)[1])
    try:
        kubeconfig = Path(ended.stderr.split("KUBECONFIG=", 1)[1].splitlines()[0])
        config = yaml.safe_load(kubeconfig.read_text("utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        certificate = base64.b64decode(cluster["certificate-authority-data"])
        api = Api(cluster["server"], certificate, user["token"])
        document = json.loads(ended.stdout)
        gpu_nodes = frozenset(n["name"] for n in document["nodes"] if n["gpus"])
        yield Kept(document, api, gpu_nodes)
        api.close()
    finally:
        os.kill(keeper, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE_S
        while kubeconfig.parent.exists():
            assert time.monotonic() < deadline, "the kept cluster did not end"
            time.sleep(0.1)


def placed(document: dict[str, Any], server: str) -> list[str]:
    """Tiers of a server's replicas that answer."""
    return [
        pod["tier"]
        for pod in document["pods"]
        if pod["server"] == server and pod["phase"] == "Running"
    ]


def test_h100_prod_runs_four_replicas_on_its_tier(h100: dict[str, Any]) -> None:
    """4 replicas of 2 GPUs fill one p5.48xlarge with its 8."""
    assert h100["settled"] is True
    assert placed(h100, "chat") == ["h100"] * 4
    (node,) = [node for node in h100["nodes"] if node["tier"] == "h100"]
    assert (node["gpus"], node["gpus_free"]) == (8, 0)


def test_mi300x_prod_fills_both_hosts(mi300x: dict[str, Any]) -> None:
    """16 replicas of 1 GPU on 2 hosts of 8, which the stack only finds."""
    assert placed(mi300x, "chat") == ["mi300x"] * 16
    hosts = [node for node in mi300x["nodes"] if node["tier"] == "mi300x"]
    assert [(node["gpus"], node["gpus_free"]) for node in hosts] == [(8, 0), (8, 0)]


@pytest.mark.parametrize("stack", ["h100", "mi300x"])
def test_a_second_up_changes_nothing_and_destroy_leaves_nothing(
    stack: str, request: pytest.FixtureRequest
) -> None:
    events = {each["event"]: each for each in request.getfixturevalue(stack)["events"]}

    assert list(events) == ["up", "second-up", "destroy"]
    assert all(each["ok"] for each in events.values())
    assert all(part.endswith("unchanged") for part in events["second-up"]["lines"])
    assert events["destroy"]["lines"][-1] == "nothing left"


def test_owned_hosts_join_as_hybrid_nodes(engine_programs: None, tmp_path: Path) -> None:
    """Neither the VPC CNI nor the EBS driver comes onto a host that is not in AWS."""
    stack_file = tmp_path / "Pulumi.owned.yaml"
    stack_file.write_text(HYBRID, "utf-8")

    ended = rehearse(str(stack_file))

    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert placed(document, "chat") == ["mi300x"] * 2
    (host,) = [node["name"] for node in document["nodes"] if node["tier"] == "mi300x"]
    daemons = {pod["name"].rpartition("-")[0] for pod in document["pods"] if pod["node"] == host}
    assert "default-device-plugin" in daemons
    assert not {"aws-node", "ebs-csi-node"} & daemons


def test_each_replica_over_two_nodes_is_on_nodes_of_its_own(
    engine_programs: None, tmp_path: Path
) -> None:
    """The scheduler finds GPUs and interfaces, and Pulumi waits until both groups answer."""
    stack_file = tmp_path / "Pulumi.over-nodes.yaml"
    stack_file.write_text(OVER_NODES, "utf-8")

    ended = rehearse(str(stack_file))

    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    pods = {pod["name"]: pod for pod in document["pods"] if pod["server"] == "chat"}
    assert set(pods) == {"chat-group-0", "chat-group-0-0", "chat-group-1", "chat-group-1-0"}
    assert {pod["phase"] for pod in pods.values()} == {"Running"}
    assert len({pod["node"] for pod in pods.values()}) == 4


def test_a_protected_cluster_is_named_before_it_is_destroyed(h100: dict[str, Any]) -> None:
    destroy = h100["events"][-1]

    assert destroy["lines"][0] == ("protection lifted first, which a real destroy keeps: berth")


def test_loading_takes_as_long_as_the_plan_says(h100: dict[str, Any]) -> None:
    """141.1 GB at 0.2 GB/s, 60 s of image and 120 s of compiling: 886 s; a 60th on the clock."""
    (server,) = h100["events"][0]["servers"]
    times = {moment["text"]: moment["at_s"] for moment in h100["time_line"]}
    names = [pod["name"] for pod in h100["pods"] if pod["server"] == "chat"]
    waits = [
        times[f"pod inference/{name} is ready"] - start
        for name in names
        for text, start in times.items()
        if text.startswith(f"pod inference/{name} is placed")
    ]

    assert server["seconds_to_full"] == 886
    assert len(waits) == 4
    assert all(886 / 60 - 1 < wait < 886 / 60 + 8 for wait in waits)


def test_l4_dev_runs_on_its_tier(l4: Kept) -> None:
    assert placed(l4.document, "chat") == ["l4"]


def test_charts_that_cannot_be_downloaded_are_said_to_be_stand_ins(l4: Kept) -> None:
    charts = {chart["name"]: chart["origin"] for chart in l4.document["charts"]}

    assert set(charts) == {"gpu-operator", "cluster-autoscaler"}
    assert set(charts.values()) <= {"stand-in", "repository"}


def test_only_daemons_of_the_system_are_on_gpu_nodes(l4: Kept) -> None:
    """Deployments such as coredns, metrics-server and the operator itself stay off them."""
    for pod in l4.api.items("/api/v1/pods"):
        if pod["spec"].get("nodeName") not in l4.gpu_nodes:
            continue
        owners = [owner["kind"] for owner in pod["metadata"]["ownerReferences"]]
        asked = str(pod["spec"]["containers"][0]["resources"])
        assert owners == ["DaemonSet"] or "nvidia.com/gpu" in asked, pod["metadata"]["name"]


def test_the_gpu_agents_are_on_every_gpu_node(l4: Kept) -> None:
    names = {"nvidia-device-plugin-daemonset", "gpu-feature-discovery", "nvidia-dcgm-exporter"}
    for name in names:
        path = f"/apis/apps/v1/namespaces/gpu-operator/daemonsets/{name}"
        status = l4.api.get(path)["status"]
        assert status["numberReady"] == len(l4.gpu_nodes) == 1


def test_a_pod_without_toleration_never_lands_on_a_gpu_node(l4: Kept) -> None:
    """More than the plain nodes take, so that some would have to."""
    space = "/api/v1/namespaces/default/pods"
    for number in range(40):
        resources = {"requests": {"cpu": "100m"}}
        container = {"name": "c", "image": "x", "resources": resources}
        body = {"metadata": {"name": f"plain-{number}"}, "spec": {"containers": [container]}}
        l4.api.create(space, body)

    deadline = time.monotonic() + PATIENCE_S
    while True:
        pods = l4.api.items(space)
        settled = [p for p in pods if p["spec"].get("nodeName") or p["status"].get("conditions")]
        if len(settled) == 40:
            break
        assert time.monotonic() < deadline
        time.sleep(0.2)

    nodes = {pod["spec"].get("nodeName") for pod in pods}
    assert None in nodes, "some of them wait"
    assert len(nodes) > 1, "some of them run"
    assert not nodes & l4.gpu_nodes
