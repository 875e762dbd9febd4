"""The policy pack under the real engine, over a program of a team that does not know Berth."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import analyzer_pb2_grpc

from berth.costs.guardrails import BUDGET_EXCEEDED
from berth.offline.providers import OfflineProviders
from berth.rules.exceptions import EXCEPTIONS_POLICY
from berth.rules.finding import split_message
from berth.rules.registry import RULES
from tests.engine.conftest import MakeProject, Project

pytestmark = pytest.mark.engine

PACK = Path(__file__).parents[2] / "policies"
TITLES = {rule.id: rule.title for rule in RULES}

PROGRAM = """
import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

template = aws.ec2.LaunchTemplate(
    "gpu",
    instance_type="p5.48xlarge",
    block_device_mappings=[{"device_name": "/dev/xvda", "ebs": {"volume_size": 200}}],
)
k8s.helm.v3.Release(
    "gpu-operator",
    chart="gpu-operator",
    version="v26.3.3",
    namespace="gpu-operator",
    repository_opts={"repo": "https://helm.ngc.nvidia.com/nvidia"},
    value_yaml_files=FILES,
    values={
        "driver": {"enabled": DRIVER},
        "toolkit": {"enabled": False},
        "daemonsets": {"tolerations": [{"operator": "Exists"}]},
    },
)
aws.eks.NodeGroup(
    "pool",
    cluster_name="shared",
    node_role_arn="arn:aws:iam::111122223333:role/node",
    subnet_ids=["subnet-0123456789abcdef0"],
    ami_type="AL2023_x86_64_NVIDIA",
    release_version="1.34.3-20260714",
    launch_template={"id": template.id, "version": "1"},
    labels={"pool": "gpu"},
    scaling_config={"min_size": 0, "desired_size": 0, "max_size": 2},
    taints=[{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}][:TAINTS],
)
k8s.apps.v1.Deployment(
    "chat",
    metadata={"name": "chat"},
    spec={
        "selector": {"matchLabels": {"app": "chat"}},
        "strategy": {"type": "Recreate"},
        "template": {
            "metadata": {"labels": {"app": "chat"}},
            "spec": {
                "nodeSelector": {"pool": "gpu"},
                "tolerations": TOLERATIONS,
                "volumes": [
                    {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
                    {"name": "cache", "persistentVolumeClaim": {"claimName": "cache"}},
                ],
                "containers": [
                    {
                        "name": "server",
                        "image": "vllm/vllm-openai:TAG",
                        "volumeMounts": [
                            {"name": "shm", "mountPath": "/dev/shm"},
                            {"name": "cache", "mountPath": "/root/.cache/huggingface"},
                        ],
                        "args": ["--model", "m", "--tensor-parallel-size", "8"],
                        "env": [{"name": "KEY", "value": pulumi.Output.secret("never-shown")}],
                        "resources": {
                            "limits": {"nvidia.com/gpu": "8"},
                            "requests": {"nvidia.com/gpu": "8"},
                        },
                    }
                ],
            },
        },
    },
)
"""
RIGHT = {
    "FILES": "[]",
    "DRIVER": "False",
    "TAINTS": "1",
    "TOLERATIONS": '[{"key": "nvidia.com/gpu", "operator": "Exists"}]',
    "TAG": "v1",
}


def program(**changes: str) -> str:
    text = PROGRAM
    for name, value in {**RIGHT, **changes}.items():
        text = text.replace(name, value)
    return text


@pytest.fixture
def providers(tmp_path: Path) -> Iterator[OfflineProviders]:
    with OfflineProviders(tmp_path / "cloud") as running:
        yield running


@pytest.fixture
def make_stack(make_project: MakeProject, providers: OfflineProviders, tmp_path: Path) -> Any:
    """Writes the program with changes; its preview runs under the pack."""
    pulumi_yaml = f"name: team\nruntime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"

    def make(**changes: str) -> Project:
        project = make_project({"Pulumi.yaml": pulumi_yaml, "__main__.py": program(**changes)})
        attached = {
            **project.environment,
            "PULUMI_DEBUG_PROVIDERS": providers.debug_providers,
            "PULUMI_DEBUG_COMMANDS": "true",
        }
        project = replace(project, environment=attached)
        assert project.pulumi("config", "set", "aws:region", "us-east-1")[0] == 0
        return project

    return make


@dataclass(frozen=True)
class Preview:
    """One preview under the pack: how it ended, what it printed, and its policy events."""

    exit_code: int
    output: str
    violations: list[dict[str, Any]]


def preview(project: Project, *more: str) -> Preview:
    log = project.folder / "events.json"
    exit_code, output = project.pulumi(
        "preview", "--policy-pack", str(PACK), "--event-log", str(log), *more
    )
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    events = [json.loads(line) for line in lines]
    return Preview(exit_code, output, [e["policyEvent"] for e in events if "policyEvent" in e])


def test_a_right_stack_passes(make_stack: Any) -> None:
    seen = preview(make_stack())

    assert (seen.exit_code, seen.violations) == (0, []), seen.output
    assert "berth@v0.1.0" in seen.output


def test_a_stack_that_cannot_schedule_is_refused_with_the_fix(make_stack: Any) -> None:
    seen = preview(make_stack(TOLERATIONS="[]"))

    assert seen.exit_code != 0
    assert "missing-toleration" in seen.output
    assert (
        "fix: add tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}] to "
        "spec.template.spec" in seen.output
    )
    assert "never-shown" not in seen.output


def test_the_values_of_a_helm_release_are_judged(make_stack: Any) -> None:
    """An image that has a driver, and an operator that brings another one."""
    (event,) = preview(make_stack(DRIVER="True")).violations

    assert event["policyName"] == "driver-double-install"
    assert event["resourceUrn"].endswith("kubernetes:helm.sh/v3:Release::gpu-operator")


@pytest.mark.parametrize(("is_enabled", "findings"), [("true", 1), ("false", 0)])
def test_values_in_a_text_asset_of_a_release_are_judged(
    make_stack: Any, is_enabled: str, findings: int
) -> None:
    files = f"[pulumi.StringAsset('driver: {{enabled: {is_enabled}}}')]"

    seen = preview(make_stack(DRIVER="None", FILES=files))

    names = [event["policyName"] for event in seen.violations]
    assert names == ["driver-double-install"] * findings, seen.output


def test_the_event_carries_what_a_report_needs(make_stack: Any) -> None:
    (event,) = preview(make_stack(TOLERATIONS="[]")).violations

    message, fix = split_message(event["message"].replace("<{%reset%}>", ""))
    assert event["policyName"] == "missing-toleration"
    assert event["enforcementLevel"] == "mandatory"
    assert event["resourceUrn"].endswith("kubernetes:apps/v1:Deployment::chat")
    assert message.startswith("chat: ")
    assert TITLES["missing-toleration"] not in message
    assert fix.startswith("add tolerations: ")


@pytest.mark.parametrize(
    ("environment", "level", "refused"), [("dev", "advisory", False), ("prod", "mandatory", True)]
)
def test_production_is_stricter(
    make_stack: Any, environment: str, level: str, refused: bool
) -> None:
    project = make_stack(TAINTS="0", TAG="latest")
    project.pulumi("config", "set", "berth:environment", environment)

    seen = preview(project)

    levels = {event["policyName"]: event["enforcementLevel"] for event in seen.violations}
    assert levels == {"image-unpinned": level, "gpu-pool-untainted": level}
    assert (seen.exit_code != 0) is refused, seen.output


def test_the_pack_is_configured_as_any_other(make_stack: Any, tmp_path: Path) -> None:
    settings = {
        "image-unpinned": "disabled",
        "gpu-pool-untainted": {"dedicatedCluster": True},
        "missing-toleration": "advisory",
    }

    seen = preview(
        make_stack(TAINTS="1", TOLERATIONS="[]", TAG="latest"), *config_file(tmp_path, settings)
    )

    levels = {event["policyName"]: event["enforcementLevel"] for event in seen.violations}
    assert levels == {"missing-toleration": "advisory"}
    assert seen.exit_code == 0, seen.output


def test_a_setting_that_no_rule_knows_is_refused(make_stack: Any, tmp_path: Path) -> None:
    settings = {"gpu-pool-untainted": {"environment": "staging"}}

    seen = preview(make_stack(), *config_file(tmp_path, settings))

    assert seen.exit_code != 0
    assert "gpu-pool-untainted" in seen.output
    assert "environment" in seen.output


def test_an_exception_lets_a_finding_pass_and_an_unused_one_is_named(
    make_stack: Any, tmp_path: Path
) -> None:
    def entry(kind: str) -> dict[str, Any]:
        match = {"policies": [kind], "targets": ["*::chat"]}
        return {"reason": "a bench", "owner": "serving", "match": [match]}

    stated = [entry("missing-toleration"), entry("tp-exceeds-gpus")]
    settings = {EXCEPTIONS_POLICY: {"exceptions": stated}}

    seen = preview(make_stack(TOLERATIONS="[]"), *config_file(tmp_path, settings))

    (event,) = seen.violations
    assert seen.exit_code == 0, seen.output
    assert (event["policyName"], event["enforcementLevel"]) == (EXCEPTIONS_POLICY, "advisory")
    assert "for tp-exceeds-gpus: nothing is left that it covers" in event["message"]


def test_any_stack_may_have_a_budget(make_stack: Any, tmp_path: Path) -> None:
    """Two p5.48xlarge at the most: 2 x 55.04 x 730 = 80,358.40 USD a month, and 32 of disks."""
    settings = {BUDGET_EXCEEDED: {"ceiling_monthly_usd": 80_000, "region": "us-east-1"}}

    seen = preview(make_stack(), *config_file(tmp_path, settings))

    (event,) = seen.violations
    assert seen.exit_code != 0
    assert (event["policyName"], event["enforcementLevel"]) == (BUDGET_EXCEEDED, "mandatory")
    assert "with every tier at max_nodes a month costs 80,390.40 USD" in event["message"]


def config_file(folder: Path, settings: dict[str, Any]) -> tuple[str, str]:
    path = folder / "policies.json"
    path.write_text(json.dumps(settings), "utf-8")
    return "--policy-pack-config", str(path)


def test_the_pack_starts_as_the_engine_starts_it() -> None:
    started = subprocess.Popen(
        [sys.executable, "-u", "-m", "pulumi.policy", "127.0.0.1:1", str(PACK)],
        cwd=PACK,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert started.stdout
        port = int(started.stdout.readline())
        names = listed_rules(port)
    finally:
        started.terminate()
        started.communicate(timeout=30)

    assert names == [*(rule.id for rule in RULES), BUDGET_EXCEEDED, EXCEPTIONS_POLICY]


def listed_rules(port: int) -> list[str]:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        info = analyzer_pb2_grpc.AnalyzerStub(channel).GetAnalyzerInfo(Empty())
    return [policy.name for policy in info.policies]
