"""A model server has as many GPUs as its parallel sizes multiply to."""

from typing import Any

import pytest

from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import (
    ABSENT,
    container,
    deployment,
    found,
    gpus,
    leader_worker_set,
    not_checked,
    pod_spec,
    release,
    server,
)

KIND = "tp-exceeds-gpus"
LIMIT = "spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]"


@pytest.mark.parametrize(
    ("args", "count", "message", "fix"),
    [
        pytest.param(
            ["--tensor-parallel-size", "2"],
            1,
            "chat: tensor parallel 2 needs 2 GPUs and container server has 1; lower the parallel "
            "size or ask for more GPUs",
            f"set --tensor-parallel-size to 1, or {LIMIT} to 2",
            id="tensor",
        ),
        pytest.param(
            ["-tp", "4", "-pp", "2", "-dp", "2"],
            8,
            "chat: tensor parallel 4 x pipeline parallel 2 x data parallel 2 needs 16 GPUs and "
            "container server has 8; lower the parallel size or ask for more GPUs",
            "set -tp to 2",
            id="no-node-has-16",
        ),
        pytest.param(
            ["-tp", "4", "-pp", "3"],
            8,
            "chat: tensor parallel 4 x pipeline parallel 3 needs 12 GPUs and container server has "
            "8; lower the parallel size or ask for more GPUs",
            "set the parallel sizes so that they multiply to 8 or less",
            id="indivisible",
        ),
    ],
)
def test_the_message_shows_the_product(args: list[str], count: int, message: str, fix: str) -> None:
    (finding,) = found(KIND, server(args=args, resources=gpus(count)))

    assert (finding.message, finding.fix) == (message, fix)
    assert (finding.severity, finding.enforcement_level) == ("high", "mandatory")


@pytest.mark.parametrize(
    ("args", "count", "expected"),
    [
        ([], 1, 0),
        (["-tp", "4"], 4, 0),
        (["-tp", "4"], 3, 1),
        (["-tp=4"], 3, 1),
        (["--tensor-parallel-size=4"], 3, 1),
        (["--tensor_parallel_size", "4"], 3, 1),
        (["-tp", "4", "-tp", "2"], 2, 0),
        (["-dp", "4"], 2, 1),
        (["-dp", "4", "--data-parallel-size-local", "2"], 2, 0),
        (["-dp", "4", "--data-parallel-rank", "1"], 1, 0),
        (["-dp", "4", "--data-parallel-external-lb"], 1, 0),
        (["-tp", "8", "--nnodes", "2"], 4, 0),
        (["-tp", "16", "--nnodes", "2"], 4, 1),
        (["-tp", "auto"], 1, 0),
    ],
)
def test_every_spelling_counts(args: list[str], count: int, expected: int) -> None:
    assert len(found(KIND, server(args=args, resources=gpus(count)))) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"command": ["vllm", "serve", "m", "-tp", "2"], "args": ABSENT},
        {"command": ["python3", "-m", "vllm.entrypoints.openai.api_server"], "args": ["-tp=2"]},
        {"command": ["sh", "-c", "exec vllm serve m --tensor-parallel-size 2"], "args": ABSENT},
        {"command": ["bash", "-c"], "args": ["cd /app && vllm serve m \\\n  -tp 2 2>&1 | tee log"]},
        {
            "command": ["sh", "-c", "vllm serve m -tp $TP"],
            "args": ABSENT,
            "env": [{"name": "TP", "value": "2"}],
        },
        {"args": ["-tp", "$(TP)"], "env": [{"name": "TP", "value": 2}]},
        {"command": ["sh", "-c", "export TP=2\nvllm serve m -tp ${TP}"], "args": ABSENT},
        {"command": ["sh", "-c", "vllm serve m -tp ${TP:-2}"], "args": ABSENT},
        {
            "image": "lmsysorg/sglang:v0.5.2",
            "command": ["python", "-m", "sglang.launch_server"],
            "args": ["--tp", "2"],
        },
    ],
    ids=["serve", "module", "sh", "bash", "shell-env", "reference", "export", "default", "sglang"],
)
def test_arguments_are_found_wherever_they_are(changes: dict[str, Any]) -> None:
    assert len(found(KIND, server(**changes))) == 1
    assert found(KIND, server(resources=gpus(2), **changes)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"resources": ABSENT},
        {"resources": gpus("0.5")},
        {"resources": gpus(1, key="nvidia.com/mig-1g.10gb")},
        {
            "args": ["-tp", "$(TP)"],
            "env": [{"name": "TP", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "tp"}}}],
        },
        {"command": ["sh", "-c", "vllm serve m -tp $(nvidia-smi -L | wc -l)"]},
        {"image": "busybox:1.37", "command": ["sleep"], "args": ["-tp", "8"]},
    ],
    ids=["no-gpus", "fraction", "mig", "from-config-map", "counted-by-script", "no-engine"],
)
def test_it_does_not_apply_without_both_numbers(changes: dict[str, Any]) -> None:
    assert found(KIND, server(**{"args": ["-tp", "2"], **changes})) == []


def test_a_claim_hides_the_count() -> None:
    claimed = container(args=["-tp", "2"], resources={"claims": [{"name": "gpu"}]})

    assert found(KIND, deployment(pod_spec(claimed, resourceClaims=[{"name": "gpu"}]))) == []


@pytest.mark.parametrize(
    ("args", "size", "fix"),
    [
        (["-tp", "8", "-pp", "2"], 2, None),
        (["-tp", "8", "-pp", "2"], "2", None),
        (["-tp", "16"], 2, "set -tp to 8"),
        (["-tp", "8", "-pp", "3"], 2, "set the group to 3 pods of 8 GPUs"),
    ],
    ids=["fits", "size-as-text", "beyond-a-pod", "beyond-the-group"],
)
def test_a_group_shares_its_pipeline(args: list[str], size: Any, fix: str | None) -> None:
    leader = container(args=args, resources=gpus(8))

    findings = found(KIND, leader_worker_set(leader, size=size))

    assert [finding.fix for finding in findings] == ([fix] if fix else [])


def test_the_message_of_a_group_counts_its_pods() -> None:
    leader = container(args=["-tp", "8", "-pp", "3"], resources=gpus(8))

    (finding,) = found(KIND, leader_worker_set(leader))

    assert finding.message == (
        "group: tensor parallel 8 x pipeline parallel 3 needs 24 GPUs and 2 pods of 8 have 16; "
        "lower the parallel size or enlarge the group"
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"requestGPU": 2, "vllmConfig": {"tensorParallelSize": 2}}, 0),
        ({"requestGPU": 2, "vllmConfig": {"tensorParallelSize": 4}}, 1),
        ({"vllmConfig": {"tensorParallelSize": 2}}, 1),
        ({"requestGPU": 1}, 0),
        ({}, 0),
        ({"requestGPUType": "nvidia.com/mig-1g.10gb", "vllmConfig": {"tensorParallelSize": 2}}, 0),
    ],
)
def test_the_vllm_stack_chart_says_it_in_its_values(spec: dict[str, Any], expected: int) -> None:
    values = {"servingEngineSpec": {"modelSpec": [{"name": "chat", **spec}]}}

    assert len(found(KIND, release("vllm-stack", values=values))) == expected
    assert found(KIND, release("another", values=values)) == []


def test_the_message_of_the_chart_names_the_model() -> None:
    spec = {"name": "chat", "requestGPU": 1, "vllmConfig": {"tensorParallelSize": 2}}

    (finding,) = found(
        KIND, release("vllm-stack", values={"servingEngineSpec": {"modelSpec": [spec]}})
    )

    assert finding.message == (
        "vllm-stack: model chat has tensor parallel 2 and requestGPU 1; lower the parallel size or "
        "ask for more GPUs"
    )
    assert finding.fix == (
        "set values.servingEngineSpec.modelSpec[0].requestGPU to 2, or "
        "values.servingEngineSpec.modelSpec[0].vllmConfig.tensorParallelSize to 1"
    )


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"args": ["-tp", UNKNOWN]}, "args"),
        ({"args": ["--model", "m", UNKNOWN]}, "args"),
        ({"args": UNKNOWN}, "args"),
        ({"args": ["-tp", "$(TP)"], "env": [{"name": "TP", "value": UNKNOWN}]}, "args"),
        ({"args": ["-tp", "2"], "resources": {"limits": UNKNOWN}}, "resources.limits"),
        ({"args": ["-tp", "2"], "resources": gpus(UNKNOWN)}, "resources.limits[nvidia.com/gpu]"),
    ],
)
def test_what_is_known_after_apply_is_not_judged(changes: dict[str, Any], field: str) -> None:
    assert not_checked(KIND, server(**changes)) == [
        f"chat: not checked: spec.template.spec.containers[0].{field} is known after apply"
    ]


def test_an_unknown_value_of_another_option_does_not_matter() -> None:
    assert not_checked(KIND, server(args=["--model", UNKNOWN, "-tp", "1"])) == []
    assert len(found(KIND, server(args=["--model", UNKNOWN, "-tp", "2"]))) == 1
