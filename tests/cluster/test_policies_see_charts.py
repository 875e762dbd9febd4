"""The policy pack sees what a chart renders: the real provider renders it in the preview."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from berth.engine.environment import engine_environment
from berth.engine.tools import find_or_make
from berth.offline.environment import offline_environment
from berth.rehearsal.charts import MAP_FILE
from berth.rehearsal.control_plane import ControlPlane
from berth.rehearsal.workspace import write_plugin
from tests.engine.checkout import ROOT

pytestmark = pytest.mark.cluster

PROGRAM = """
import pulumi
import pulumi_kubernetes as kubernetes

config = pulumi.Config()
cluster = kubernetes.Provider("cluster", kubeconfig=config.require("kubeconfig"))
kubernetes.helm.v4.Chart(
    "models", chart="./chart", opts=pulumi.ResourceOptions(provider=cluster)
)
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}-server", namespace: default}
spec:
  selector: {matchLabels: {app: server}}
  template:
    metadata: {labels: {app: server}}
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.32.0
          args:
            - --model=meta-llama/Llama-3.1-8B-Instruct
            - --tensor-parallel-size={{ .Values.ranks }}
          resources: {limits: {nvidia.com/gpu: "2"}}
"""


def test_a_rank_too_many_in_a_chart_is_refused_by_name(
    control_plane: ControlPlane, engine_programs: None, tmp_path: Path
) -> None:
    """Four tensor parallel ranks, set by the chart's values, in a pod with two GPUs."""
    project, state = tmp_path / "project", tmp_path / "state"
    (project / "chart" / "templates").mkdir(parents=True)
    (project / "Pulumi.yaml").write_text(
        f"name: charted\nruntime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"
    )
    (project / "__main__.py").write_text(PROGRAM)
    (project / "chart" / "Chart.yaml").write_text("{apiVersion: v2, name: models, version: 1.0.0}")
    (project / "chart" / "values.yaml").write_text("{ranks: 4}")
    (project / "chart" / "templates" / "deployment.yaml").write_text(DEPLOYMENT)
    program = find_or_make("pulumi")
    environment = {
        **os.environ,
        **engine_environment(program, offline=True),
        **offline_environment(state),
        "TMPDIR": str(tmp_path),  # the plugin leaves a copy of the kubeconfig there
    }
    (state / MAP_FILE).write_text("{}")
    write_plugin(Path(environment["PULUMI_HOME"]), sys.executable, state / MAP_FILE)

    def pulumi(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program.path, "--non-interactive", "--color", "never", *arguments],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert pulumi("stack", "init", "dev").returncode == 0
    kubeconfig = control_plane.kubeconfig.read_text("utf-8")
    assert pulumi("config", "set", "kubeconfig", kubeconfig).returncode == 0
    previewed = pulumi("preview", "--policy-pack", str(ROOT / "policies"))

    assert previewed.returncode == 1, previewed.stderr
    assert "tp-exceeds-gpus" in previewed.stdout
    assert "models-server" in previewed.stdout
