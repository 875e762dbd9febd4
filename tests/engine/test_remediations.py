"""Remediations under the real engine: seen as events, made, and not needed the second time."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from berth.offline.providers import OfflineProviders
from tests.engine.conftest import MakeProject, Project

pytestmark = pytest.mark.engine

PACK = Path(__file__).parents[2] / "policies"
PROGRAM = """
import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

role = aws.iam.Role("server", assume_role_policy="{}")
k8s.apps.v1.Deployment(
    "chat",
    metadata={"name": "chat", "annotations": {"role": role.arn}},
    spec={
        "selector": {"matchLabels": {"app": "chat"}},
        "strategy": {"type": "Recreate"},
        "template": {
            "metadata": {"labels": {"app": "chat"}},
            "spec": {
                "containers": [
                    {
                        "name": "server",
                        "image": "vllm/vllm-openai:v0.32.0",
                        "args": ["--model", "m", "--tensor-parallel-size", "2"],
                        "env": [
                            {"name": "ROLE", "value": role.arn},
                            {"name": "KEY", "value": pulumi.Output.secret("never-shown")},
                        ],
                        "resources": {
                            "limits": {"nvidia.com/gpu": "2"},
                            "requests": {"nvidia.com/gpu": "1"},
                        },
                    }
                ],
            },
        },
    },
)
"""
CHOSEN = {
    "gpu-request-limit-mismatch": "remediate",
    "shm-too-small": "remediate",
    "service-env-collision": "remediate",
    "ephemeral-model-cache": "disabled",
}


@pytest.fixture
def project(make_project: MakeProject, tmp_path: Path) -> Iterator[Project]:
    yaml = f"name: team\nruntime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"
    made = make_project(
        {
            "Pulumi.yaml": yaml,
            "__main__.py": PROGRAM,
            "policies.json": json.dumps(CHOSEN),
        }
    )
    with OfflineProviders(tmp_path / "cloud") as running:
        attached = {
            **made.environment,
            "PULUMI_DEBUG_PROVIDERS": running.debug_providers,
            "PULUMI_DEBUG_COMMANDS": "true",
        }
        made = replace(made, environment=attached)
        assert made.pulumi("config", "set", "aws:region", "us-east-1")[0] == 0
        yield made


def run(project: Project, command: str, *more: str) -> tuple[int, str, list[dict[str, Any]]]:
    log = project.folder / "events.json"
    log.unlink(missing_ok=True)
    code, output = project.pulumi(
        command, "--policy-pack", str(PACK), "--event-log", str(log), *more
    )
    return code, output, [json.loads(line) for line in log.read_text("utf-8").splitlines()]


def chosen(project: Project) -> tuple[str, str]:
    return "--policy-pack-config", str(project.folder / "policies.json")


def remediations(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = [
        event["policyRemediationEvent"] for event in events if "policyRemediationEvent" in event
    ]
    return {event["policyName"]: event for event in found}


def test_nothing_is_mended_unless_somebody_asks(project: Project) -> None:
    code, output, events = run(project, "preview")

    assert code != 0
    assert "gpu-request-limit-mismatch" in output
    assert remediations(events) == {}


def test_what_is_asked_for_is_mended_once(project: Project) -> None:
    code, output, events = run(project, "preview", *chosen(project))
    assert code == 0, output
    assert set(remediations(events)) == {name for name, v in CHOSEN.items() if v == "remediate"}

    code, output, _ = run(project, "up", "--yes", *chosen(project))
    assert code == 0, output
    assert "never-shown" not in output
    code, exported = project.pulumi("stack", "export", "--show-secrets")
    assert code == 0
    (server,) = [
        entry["inputs"]
        for entry in json.loads(exported)["deployment"]["resources"]
        if entry["type"] == "kubernetes:apps/v1:Deployment"
    ]
    pod = server["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["resources"]["requests"] == container["resources"]["limits"]
    assert pod["enableServiceLinks"] is False
    assert container["volumeMounts"] == [{"name": "dshm", "mountPath": "/dev/shm"}]
    role, key = container["env"]
    assert role["value"] == server["metadata"]["annotations"]["role"]
    assert role["value"].startswith("arn:")
    assert json.loads(key["value"]["plaintext"]) == "never-shown"

    code, output, _ = run(project, "preview", "--expect-no-changes", *chosen(project))
    assert code == 0, output
