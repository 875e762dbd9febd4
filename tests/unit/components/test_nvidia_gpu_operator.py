"""The GPU Operator's release and the values that keep it off what the AMI brings."""

from typing import Any

import pytest

from berth.planner.plan import GpuSoftware
from components.nvidia_gpu_operator import NvidiaGpuOperator, NvidiaGpuOperatorArgs, chart_values
from tests.unit.components.engine import RecordingEngine, declare

RELEASE = "kubernetes:helm.sh/v3:Release"


@pytest.fixture(scope="module")
def engine() -> RecordingEngine:
    args = NvidiaGpuOperatorArgs(plan=GpuSoftware(gpu_operator_version="v26.3.3"))
    return declare(lambda: NvidiaGpuOperator("berth-gpu-operator", args))


def test_the_release_is_pinned_by_name_and_version(engine: RecordingEngine) -> None:
    release = engine.one(RELEASE)

    assert (release["name"], release["chart"], release["version"]) == (
        "gpu-operator",
        "gpu-operator",
        "v26.3.3",
    )


def test_its_namespace_admits_privileged_agents(engine: RecordingEngine) -> None:
    metadata = engine.one("kubernetes:core/v1:Namespace")["metadata"]

    assert metadata["name"] == engine.one(RELEASE)["namespace"]
    assert metadata["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


def test_pulumi_waits_longer_than_its_default(engine: RecordingEngine) -> None:
    assert engine.one(RELEASE)["timeout"] > 300


@pytest.mark.parametrize("part", ["driver", "toolkit", "dcgm", "migManager"])
def test_what_the_ami_brings_or_nobody_uses_is_off(part: str) -> None:
    assert chart_values()[part] == {"enabled": False}


@pytest.mark.parametrize("part", ["devicePlugin", "gfd", "nfd", "dcgmExporter"])
def test_what_makes_gpus_usable_and_visible_is_on(part: str) -> None:
    values: dict[str, Any] = chart_values()[part]

    assert values["enabled"] is True


def test_slices_are_cut_by_a_restart_and_counted_as_gpus() -> None:
    """Virtual machines may not reset a GPU, so NVIDIA has nodes of clouds restart instead."""
    values = chart_values(cuts_slices=True)

    assert values["mig"] == {"strategy": "single"}
    assert values["migManager"] == {
        "enabled": True,
        "env": [{"name": "WITH_REBOOT", "value": "true"}],
    }


def test_no_service_monitor_before_there_is_prometheus() -> None:
    assert chart_values()["dcgmExporter"]["serviceMonitor"] == {"enabled": False}
