"""The pack in another repository: its folder copied there, its rules from a wheel."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from berth.offline.providers import OfflineProviders
from tests.engine.conftest import MakeProject
from tests.engine.packaged import ROOT, build_wheel, make_environment

pytestmark = pytest.mark.engine

PROGRAM = """
import pulumi_kubernetes as k8s

k8s.core.v1.Pod(
    "chat",
    metadata={"name": "chat"},
    spec={"containers": [{"name": "server", "image": "vllm/vllm-openai:v0.32.0"}]},
)
"""


def test_the_pack_runs_without_a_checkout(make_project: MakeProject, tmp_path: Path) -> None:
    pack = tmp_path / "team" / "gpu-policies"
    shutil.copytree(ROOT / "policies", pack, ignore=shutil.ignore_patterns("__pycache__"))
    settings = pack / "PulumiPolicy.yaml"
    text = settings.read_text("utf-8")
    assert text.count("../.venv") == 1
    settings.write_text(text.replace("../.venv", "venv"), "utf-8")
    make_environment(pack / "venv", build_wheel(tmp_path))
    yaml = f"name: team\nruntime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"
    project = make_project({"Pulumi.yaml": yaml, "__main__.py": PROGRAM})
    with OfflineProviders(tmp_path / "cloud") as running:
        attached = {
            **{k: v for k, v in project.environment.items() if k != "PYTHONPATH"},
            "PULUMI_DEBUG_PROVIDERS": running.debug_providers,
            "PULUMI_DEBUG_COMMANDS": "true",
        }
        project = replace(project, environment=attached)

        code, output = project.pulumi("preview", "--policy-pack", str(pack))

    assert code != 0
    assert "gpu-request-missing" in output, output
    assert "berth@v0.1.0 (local: " in output
    assert "fix: set spec.containers[0].resources.limits[nvidia.com/gpu] to 1" in output
