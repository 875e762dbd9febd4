"""A pool of GPU nodes has a taint that keeps other pods off."""

from dataclasses import replace
from typing import Any

import pytest

from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import (
    ABSENT,
    GPU_TAINT,
    auto_scaling_group,
    found,
    launch_template,
    node_group,
    node_pool,
    not_checked,
)

KIND = "gpu-pool-untainted"


@pytest.mark.parametrize(
    ("pool", "message", "fix"),
    [
        pytest.param(
            node_group(taints=ABSENT),
            "pool: node group of g6.xlarge has GPUs and no NoSchedule or NoExecute taint, so any "
            "pod may fill it; taint it with nvidia.com/gpu",
            "add taints: [{key: nvidia.com/gpu, value: present, effect: NO_SCHEDULE}]",
            id="node-group",
        ),
        pytest.param(
            node_pool(),
            "pool: node pool of g6.xlarge has GPUs and no NoSchedule or NoExecute taint, so any "
            "pod may fill it; taint it with nvidia.com/gpu",
            "add taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}] to "
            "spec.template.spec",
            id="node-pool",
        ),
    ],
)
def test_the_fix_is_the_taint(pool: Any, message: str, fix: str) -> None:
    (finding,) = found(KIND, pool)

    assert (finding.message, finding.fix) == (message, fix)
    assert (finding.severity, finding.enforcement_level) == ("medium", "advisory")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 0),
        ({"taints": []}, 1),
        ({"taints": [{**GPU_TAINT, "effect": "NO_EXECUTE"}]}, 0),
        ({"taints": [{**GPU_TAINT, "effect": "PREFER_NO_SCHEDULE"}]}, 1),
        ({"taints": [{**GPU_TAINT, "key": "dedicated"}]}, 0),
        ({"taints": [], "instanceTypes": ["m7i.large"]}, 0),
        ({"taints": [], "instanceTypes": ["z9.new"]}, 0),
        ({"taints": [], "instanceTypes": ["m7i.large", "p5.48xlarge"]}, 1),
        ({"taints": [], "instanceTypes": ["p3.2xlarge"]}, 1),
    ],
)
def test_gpu_node_groups_need_one(changes: dict[str, Any], expected: int) -> None:
    assert len(found(KIND, node_group(**changes))) == expected


@pytest.mark.parametrize(
    ("instance_type", "key"),
    [("g4ad.xlarge", "amd.com/gpu"), ("inf2.xlarge", "aws.amazon.com/neuron")],
)
def test_the_taint_is_called_as_the_vendor_calls_it(instance_type: str, key: str) -> None:
    (finding,) = found(KIND, node_group(instanceTypes=[instance_type], taints=[]))

    assert f"key: {key}," in finding.fix


@pytest.mark.parametrize(
    ("reference", "template"),
    [
        ({"name": "lt"}, {"name": "lt"}),
        ({"id": "lt-0123"}, {"id": "lt-0123"}),
    ],
)
def test_the_instance_type_may_be_in_the_launch_template(
    reference: dict[str, str], template: dict[str, str]
) -> None:
    pool = node_group(instanceTypes=ABSENT, launchTemplate=reference, taints=[])
    gpu = launch_template(**template, instanceType="p5.48xlarge")
    cpu = launch_template(**template, instanceType="m7i.large")

    assert len(found(KIND, pool, gpu)) == 1
    assert found(KIND, pool, cpu) == []
    assert len(found(KIND, pool)) == 1  # its image says so


def test_the_engine_says_which_template_it_is_before_the_id_is_known() -> None:
    pool = replace(
        node_group(
            instanceTypes=ABSENT, amiType="CUSTOM", launchTemplate={"id": UNKNOWN}, taints=[]
        ),
        property_dependencies={"launchTemplate": ("urn:gpu",)},
    )
    templates = (
        launch_template("cpu", instanceType="m7i.large"),
        launch_template("gpu", instanceType="p5.48xlarge"),
    )

    (finding,) = found(KIND, pool, *templates)

    assert "p5.48xlarge" in finding.message


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ({"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["p5"]}, 1),
        ({"key": "eks.amazonaws.com/instance-family", "operator": "In", "values": ["g6e"]}, 1),
        ({"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["m7i"]}, 0),
        (
            {
                "key": "node.kubernetes.io/instance-type",
                "operator": "NotIn",
                "values": ["p5.48xlarge"],
            },
            0,
        ),
    ],
)
def test_a_node_pool_names_types_or_families(requirement: dict[str, Any], expected: int) -> None:
    assert len(found(KIND, node_pool(requirements=[requirement]))) == expected


def test_pools_whose_taints_are_not_ours_to_see_are_left_alone() -> None:
    template = launch_template("lt", name="lt", instanceType="p5.48xlarge")

    assert found(KIND, template, auto_scaling_group(launchTemplate={"name": "lt"})) == []
    assert found(KIND, node_pool("system")) == []


def test_a_dedicated_cluster_needs_none() -> None:
    assert found(KIND, node_group(taints=[]), options={"dedicatedCluster": True}) == []


def test_it_is_mandatory_in_production() -> None:
    by_stack = found(KIND, node_group(taints=[]), environment="prod")
    by_tag = found(KIND, node_group(taints=[], tags={"stage": "prod"}), environment=None)

    assert [f.enforcement_level for f in (*by_stack, *by_tag)] == ["mandatory", "mandatory"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"taints": UNKNOWN}, "taints"),
        ({"taints": [{**GPU_TAINT, "effect": UNKNOWN}]}, "taints[0].effect"),
        ({"instanceTypes": UNKNOWN, "amiType": "CUSTOM"}, "instanceTypes"),
        ({"instanceTypes": [UNKNOWN], "amiType": "CUSTOM"}, "instanceTypes[0]"),
        (
            {"instanceTypes": ABSENT, "amiType": "CUSTOM", "launchTemplate": {"id": UNKNOWN}},
            "launchTemplate.id",
        ),
    ],
)
def test_what_is_known_after_apply_is_not_judged(changes: dict[str, Any], field: str) -> None:
    assert not_checked(KIND, node_group(**changes)) == [
        f"pool: not checked: {field} is known after apply"
    ]


def test_the_image_gives_the_gpus_away_where_the_type_is_unknown() -> None:
    (finding,) = found(KIND, node_group(instanceTypes=UNKNOWN, taints=[]))

    assert finding.message.startswith("pool: node group of AL2023_x86_64_NVIDIA has GPUs and no")
