"""What every rule must say of itself."""

import re

import pytest

from berth.rules.registry import RULES
from berth.rules.rule import Rule

LEVELS = {
    "ami-eol": ("high", "advisory", False),
    "ami-gpu-mismatch": ("high", "mandatory", False),
    "ami-unpinned": ("low", "advisory", False),
    "cpu-arch-mismatch": ("high", "mandatory", False),
    "cuda-driver-mismatch": ("high", "mandatory", False),
    "device-plugin-missing": ("high", "advisory", False),
    "disruption-unprotected": ("medium", "advisory", True),
    "drain-too-short": ("medium", "advisory", False),
    "driver-double-install": ("high", "mandatory", False),
    "dtype-unsupported": ("high", "mandatory", False),
    "efa-missing": ("medium", "advisory", False),
    "ephemeral-model-cache": ("medium", "advisory", False),
    "gpu-agent-on-cpu-nodes": ("medium", "advisory", False),
    "gpu-capacity-exceeded": ("high", "mandatory", False),
    "gpu-isolation-bypass": ("high", "mandatory", False),
    "gpu-pool-unlabelled": ("low", "advisory", False),
    "gpu-pool-untainted": ("medium", "advisory", True),
    "gpu-request-limit-mismatch": ("medium", "mandatory", False),
    "gpu-request-missing": ("high", "mandatory", False),
    "host-memory-too-small": ("medium", "advisory", False),
    "idle-gpus": ("medium", "advisory", False),
    "image-gpu-arch-mismatch": ("high", "mandatory", False),
    "image-unpinned": ("medium", "advisory", True),
    "max-len-exceeds-model": ("high", "mandatory", False),
    "mig-multi-device": ("high", "mandatory", False),
    "mig-resource-mismatch": ("high", "mandatory", False),
    "missing-toleration": ("high", "mandatory", False),
    "model-server-daemonset": ("medium", "advisory", False),
    "model-volume-too-small": ("high", "mandatory", False),
    "no-gpu-metrics": ("medium", "advisory", True),
    "node-disk-too-small": ("high", "advisory", False),
    "placement-unsatisfiable": ("high", "mandatory", False),
    "public-endpoint-no-auth": ("critical", "mandatory", False),
    "rollout-deadlock": ("high", "mandatory", False),
    "runtime-class-missing": ("high", "mandatory", False),
    "rwo-shared-volume": ("medium", "mandatory", False),
    "scale-from-zero-tags": ("medium", "advisory", False),
    "secret-plain-env": ("high", "mandatory", False),
    "service-env-collision": ("high", "mandatory", False),
    "shm-too-small": ("high", "mandatory", False),
    "spot-in-prod": ("high", "advisory", True),
    "startup-oom": ("high", "mandatory", False),
    "startup-probe-too-short": ("high", "advisory", True),
    "time-slicing-misuse": ("medium", "mandatory", False),
    "toolkit-outdated": ("critical", "advisory", False),
    "tp-exceeds-gpus": ("high", "mandatory", False),
    "tp-heads-indivisible": ("high", "mandatory", False),
    "vendor-mismatch": ("high", "mandatory", False),
}
"""Severity, level, and whether production makes it mandatory."""


def test_these_rules_exist_at_these_levels() -> None:
    stated = {rule.id: (rule.severity, rule.level, rule.mandatory_in_prod) for rule in RULES}

    assert stated == LEVELS
    assert [rule.id for rule in RULES] == sorted(LEVELS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_documents_itself(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z].*[^.]\.", rule.title)
    assert rule.source.startswith("https://")
    assert rule.reads
    assert rule.why
    assert "\n" not in rule.title
