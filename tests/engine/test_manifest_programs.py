"""The policy pack over programs that declare manifests from files, and over a Helm release."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from berth.offline.providers import OfflineProviders
from berth.rules.exceptions import EXCEPTIONS_POLICY
from tests.engine.conftest import MakeProject, Project

pytestmark = pytest.mark.engine

PACK = Path(__file__).parents[2] / "policies"
FILE_PROGRAM = """
import pulumi_kubernetes as k8s

k8s.yaml.ConfigFile("app", file="app.yaml")
"""
GROUP_PROGRAM = """
import pulumi_kubernetes as k8s

k8s.yaml.ConfigGroup("app", files=["app.yaml"])
"""
RELEASE_PROGRAM = """
import pulumi_kubernetes as k8s

k8s.helm.v3.Release(
    "models",
    chart="vllm-stack",
    version="0.1.6",
    repository_opts={"repo": "https://vllm-project.github.io/production-stack"},
    values={
        "servingEngineSpec": {
            "modelSpec": [
                {
                    "name": "chat",
                    "repository": "vllm/vllm-openai",
                    "tag": "v0.18.0",
                    "modelURL": "meta-llama/Llama-3.1-8B-Instruct",
                    "requestGPU": 1,
                    "pvcStorage": "100Gi",
                    "vllmConfig": {"tensorParallelSize": 2},
                }
            ]
        }
    },
)
"""
MANIFESTS = """
apiVersion: v1
kind: Service
metadata: {name: vllm, namespace: serving}
spec: {selector: {app: chat}, ports: [{port: 80, targetPort: 8000}]}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
  namespace: serving
  annotations: {NOTE}
spec:
  replicas: 2
  selector: {matchLabels: {app: chat}}
  strategy: {type: Recreate}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.18.0
          args: [--model, meta-llama/Llama-3.1-8B-Instruct, --tensor-parallel-size, "2"]
          resources:
            limits: {nvidia.com/gpu: 2}
            requests: {nvidia.com/gpu: 1}
          volumeMounts:
            - {name: weights, mountPath: /root/.cache/huggingface}
      volumes:
        - {name: weights, persistentVolumeClaim: {claimName: weights}}
"""
BROKEN = {
    "gpu-request-limit-mismatch": "mandatory",
    "service-env-collision": "mandatory",
    "shm-too-small": "mandatory",
}
"""What the manifests break, one resource or two at a time, and at which level."""


@dataclass(frozen=True)
class Seen:
    """How a run ended, what it printed, and its events of policies."""

    exit_code: int
    output: str
    violations: list[dict[str, Any]]
    remediations: list[dict[str, Any]]

    @property
    def levels(self) -> Mapping[str, str]:
        return {event["policyName"]: event["enforcementLevel"] for event in self.violations}


@pytest.fixture
def attach(tmp_path: Path) -> Iterator[Any]:
    with OfflineProviders(tmp_path / "cloud") as running:

        def attached(project: Project) -> Project:
            added = {
                "PULUMI_DEBUG_PROVIDERS": running.debug_providers,
                "PULUMI_DEBUG_COMMANDS": "true",
            }
            return replace(project, environment={**project.environment, **added})

        yield attached


def make(make_project: MakeProject, attach: Any, program: str, note: str = "{}") -> Project:
    yaml = f"name: team\nruntime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"
    manifests = MANIFESTS.replace("{NOTE}", note)
    files = {"Pulumi.yaml": yaml, "__main__.py": program, "app.yaml": manifests}
    project: Project = attach(make_project(files))
    return project


def run(project: Project, settings: Mapping[str, Any], command: str = "preview") -> Seen:
    log, config = project.folder / "events.json", project.folder / "policies.json"
    log.unlink(missing_ok=True)
    config.write_text(json.dumps(settings), "utf-8")
    arguments = ["--policy-pack", str(PACK), "--policy-pack-config", str(config)]
    arguments += ["--event-log", str(log), *(["--yes"] if command == "up" else [])]
    exit_code, output = project.pulumi(command, *arguments)
    events = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return Seen(
        exit_code,
        output,
        [event["policyEvent"] for event in events if "policyEvent" in event],
        [e["policyRemediationEvent"] for e in events if "policyRemediationEvent" in e],
    )


def entry(kind: str, target: str) -> dict[str, Any]:
    match = {"policies": [kind], "targets": [target]}
    return {"reason": "a bench", "owner": "serving", "match": [match]}


@pytest.mark.parametrize("program", [FILE_PROGRAM, GROUP_PROGRAM], ids=["file", "group"])
def test_what_a_manifest_file_breaks_is_refused(
    program: str, make_project: MakeProject, attach: Any
) -> None:
    seen = run(make(make_project, attach, program), {})

    assert seen.exit_code != 0
    assert seen.levels == BROKEN, seen.output
    for event in seen.violations:
        assert event["resourceUrn"].endswith("kubernetes:apps/v1:Deployment::serving/chat")
    assert "fix: set spec.template.spec.containers[0].resources.requests[nvidia.com/gpu] to 2" in (
        " ".join(seen.output.split())
    )


def test_exceptions_cover_what_a_manifest_file_breaks(
    make_project: MakeProject, attach: Any
) -> None:
    """One by annotation in the manifest, two by configuration, one of them stale."""
    note = "{berth.dev/except-shm-too-small: hostIPC comes with the next image}"
    project = make(make_project, attach, FILE_PROGRAM, note)
    stated = [
        entry("gpu-request-limit-mismatch", "*::serving/chat"),
        entry("service-env-collision", "serving/chat"),
        entry("tp-exceeds-gpus", "*::serving/chat"),
    ]

    seen = run(project, {EXCEPTIONS_POLICY: {"exceptions": stated}})

    (event,) = seen.violations
    assert seen.exit_code == 0, seen.output
    assert event["policyName"] == EXCEPTIONS_POLICY
    assert "for tp-exceeds-gpus: nothing is left that it covers" in event["message"]


def test_an_annotation_without_a_reason_covers_nothing_and_is_named(
    make_project: MakeProject, attach: Any
) -> None:
    project = make(make_project, attach, FILE_PROGRAM, '{berth.dev/except-shm-too-small: ""}')

    seen = run(project, {})

    assert seen.exit_code != 0
    assert seen.levels == {**BROKEN, EXCEPTIONS_POLICY: "advisory"}, seen.output
    assert "berth.dev/except-shm-too-small: no reason, so it covers nothing" in (
        " ".join(seen.output.split())
    )


def test_what_a_manifest_file_breaks_is_mended_where_asked(
    make_project: MakeProject, attach: Any
) -> None:
    project = make(make_project, attach, FILE_PROGRAM)
    settings = dict.fromkeys(BROKEN, "remediate")

    seen = run(project, settings)
    assert seen.exit_code == 0, seen.output
    assert {event["policyName"] for event in seen.remediations} == set(BROKEN)

    assert run(project, settings, "up").exit_code == 0
    code, exported = project.pulumi("stack", "export")
    assert code == 0
    (server,) = [
        resource["inputs"]
        for resource in json.loads(exported)["deployment"]["resources"]
        if resource["type"] == "kubernetes:apps/v1:Deployment"
    ]
    pod = server["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["requests"] == {"nvidia.com/gpu": 2}
    assert pod["enableServiceLinks"] is False
    assert {"name": "dshm", "mountPath": "/dev/shm"} in pod["containers"][0]["volumeMounts"]


def test_the_values_of_a_model_chart_are_judged_and_excepted(
    make_project: MakeProject, attach: Any
) -> None:
    """Two ranks on one GPU in the values of the production stack's chart."""
    project = make(make_project, attach, RELEASE_PROGRAM)

    (event,) = run(project, {}).violations
    assert (event["policyName"], event["enforcementLevel"]) == ("tp-exceeds-gpus", "mandatory")
    assert event["resourceUrn"].endswith("kubernetes:helm.sh/v3:Release::models")
    assert "requestGPU to 2" in event["message"]

    stated = {EXCEPTIONS_POLICY: {"exceptions": [entry("tp-exceeds-gpus", "models")]}}
    seen = run(project, stated)
    assert (seen.exit_code, seen.violations) == (0, []), seen.output
