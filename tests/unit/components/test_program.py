"""The program itself: what it reads, says, declares and exports, and how it refuses."""

import json
import logging
import runpy
from pathlib import Path
from typing import Any

import pytest
from pulumi.runtime.mocks import MockCallArgs
from pulumi.runtime.settings import get_root_resource
from pulumi.runtime.stack import Stack

from tests.unit.components.engine import RecordingEngine, declare

PROGRAM = Path(__file__).parents[3] / "__main__.py"
SECRET = "kubernetes:core/v1:Secret"
OFFERINGS = "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings"
QUOTA = "aws:servicequotas/getServiceQuota:getServiceQuota"
ZONES = "aws:index/getAvailabilityZones:getAvailabilityZones"

SHOWN_ALREADY = 32
"""`pulumi-language-python-exec` of github.com/pulumi/pulumi: the user has seen the message."""

CONFIG: dict[str, Any] = {
    "aws:region": "us-east-1",
    "berth:environment": "dev",
    "berth:as_of": "2026-11-30",
    "berth:cluster": {"kubernetes_version": "1.35", "endpoint": "private"},
    "berth:tiers": {
        "l4": {"instance_type": "g6.xlarge", "capacity": {"type": "ON_DEMAND"}, "max_nodes": 2}
    },
    "berth:models": {
        "chat": {
            "model": "meta-llama/Llama-3.1-8B-Instruct",
            "tier": "l4",
            "max_model_len": 8192,
        }
    },
}


class AccountEngine(RecordingEngine):
    """Knows the zones of an account, what they offer and its quotas, and nothing else."""

    def call(self, args: MockCallArgs) -> Any:
        zones = ["us-east-1c", "us-east-1d", "us-east-1f"]
        answers: dict[str, dict[str, Any]] = {
            ZONES: {"names": zones},
            OFFERINGS: {"instanceTypes": ["g6.xlarge"] * 3, "locations": zones},
            QUOTA: {"value": 64.0},
        }
        return answers[args.token]


class Run:
    """One run of the program under the mocks."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, **changes: Any
    ) -> None:
        config = CONFIG | {key.replace("__", ":"): value for key, value in changes.items()}
        texts = {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in config.items()
        }
        monkeypatch.setenv("PULUMI_CONFIG", json.dumps(texts))
        caplog.set_level(logging.INFO)
        self.engine = AccountEngine()
        self.exit_code: object = 0
        declare(self._program, self.engine, stack="l4-dev")
        self.said = [record.message for record in caplog.records if record.name == "root"]

    def _program(self) -> None:
        try:
            runpy.run_path(str(PROGRAM), run_name="__main__")
        except SystemExit as stop:
            self.exit_code = stop.code


def test_a_stack_is_declared_in_the_zones_of_the_account(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run(monkeypatch, caplog)

    zones = {each["availabilityZone"] for each in run.engine.all("aws:ec2/subnet:Subnet").values()}
    assert zones == {"us-east-1c", "us-east-1d"}
    assert list(run.engine.all("kubernetes:apps/v1:Deployment")) == ["berth-chat"]


def test_the_summary_names_servers_tiers_cost_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    said = Run(monkeypatch, caplog).said

    assert [line.partition(":")[0] for line in said] == [
        "server chat",
        "tier l4",
        "cost",
        "Secret inference/hf-token",
    ]


def test_others_read_endpoints_plan_and_cost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Run(monkeypatch, caplog)

    root = get_root_resource()
    assert isinstance(root, Stack)
    assert root.outputs["endpoints"] == {"chat": "http://chat.inference.svc:8000/v1"}
    assert root.outputs["plan"]["pools"] == {
        "l4": {"min_nodes": 0, "planned_nodes": 1, "max_nodes": 2}
    }
    assert set(root.outputs["cost"]["total"]) == {"floor", "plan", "ceiling"}
    assert "kubeconfig" in root.outputs


def test_the_token_of_the_stack_becomes_a_secret_and_is_never_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run(monkeypatch, caplog, berth__hf_token="hf_example")

    assert list(run.engine.all(SECRET)) == ["berth-hf-token"]
    assert "hf_example" not in caplog.text


def test_every_problem_of_the_stack_has_a_line_and_nothing_is_declared(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run(monkeypatch, caplog, berth__environment="test", berth__modles="3")

    where = "stacks/Pulumi.l4-dev.yaml: berth:"
    assert sorted(line.partition(where)[2].partition(":")[0] for line in run.said) == [
        "environment",
        "modles",
    ]
    assert run.exit_code == SHOWN_ALREADY
    assert run.engine.declared == []


def test_what_cannot_be_planned_is_refused_before_anything_is_declared(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    chat = CONFIG["berth:models"]["chat"] | {"replicas": 3}

    run = Run(monkeypatch, caplog, berth__models={"chat": chat})

    (line,) = run.said
    assert line.startswith("berth:tiers.l4.max_nodes: ")
    assert run.exit_code == SHOWN_ALREADY
    assert run.engine.declared == []


@pytest.mark.parametrize(("profile", "expected"), [({"aws__profile": "lab"}, "lab"), ({}, None)])
def test_the_resources_follow_the_profile_that_the_look_ups_follow(
    profile: dict[str, str],
    expected: str | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    provider = Run(monkeypatch, caplog, **profile).engine.one("pulumi:providers:aws")

    assert provider.get("profile") == expected
