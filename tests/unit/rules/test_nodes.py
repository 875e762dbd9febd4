"""Nodes that a pod may get: pools and instance types."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view import view_stack
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError
from tests.unit.rules.stacks import (
    ABSENT,
    auto_scaling_group,
    container,
    deployment,
    gpus,
    node_group,
    node_pool,
    pod_spec,
)

TYPE = "node.kubernetes.io/instance-type"
LARGE = [{"key": TYPE, "operator": "In", "values": ["g6.xlarge", "g6.12xlarge"]}]


def nodes(
    *resources: Resource, spec: dict[str, Any] | None = None, gpu_count: Any = 1, option: Any = None
) -> list[tuple[str | None, list[str]]]:
    """Pools and instance types that a pod may get."""
    resources_asked = gpu_count if isinstance(gpu_count, dict) else gpus(gpu_count)
    pod = pod_spec(container(resources=resources_asked), **(spec or {}))
    view = view_stack([deployment(pod), *resources])
    found = view.nodes_of(next(view.pods()), {"instanceType": option})
    return [(n.pool.name if n.pool else None, [name for name, _ in n.kinds]) for n in found]


def selecting(*types: str) -> dict[str, Any]:
    """Required affinity to these instance types."""
    expression = {"key": TYPE, "operator": "In", "values": list(types)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


@pytest.mark.parametrize(
    ("resources", "changes", "expected"),
    [
        ([node_group()], {}, [("pool", ["g6.xlarge"])]),
        ([node_group("a"), node_group("b")], {}, [("a", ["g6.xlarge"]), ("b", ["g6.xlarge"])]),
        ([], {}, []),
        ([], {"option": "p5.48xlarge"}, [(None, ["p5.48xlarge"])]),
        ([], {"option": "m7i.large"}, []),
        ([], {"option": 5}, []),
        ([node_group()], {"option": "p5.48xlarge"}, [("pool", ["g6.xlarge"])]),
        ([], {"spec": selecting("p5.48xlarge")}, [(None, ["p5.48xlarge"])]),
        ([], {"spec": selecting("p5.48xlarge", "q9new.large")}, []),
        ([node_group()], {"spec": selecting("g6.xlarge")}, [("pool", ["g6.xlarge"])]),
        (
            [],
            {"spec": selecting("g6.xlarge", "g6.12xlarge"), "gpu_count": 4},
            [(None, ["g6.12xlarge"])],
        ),
        ([], {"spec": selecting("g6.xlarge"), "gpu_count": 4}, [(None, ["g6.xlarge"])]),
        ([node_pool(requirements=LARGE)], {"gpu_count": 4}, [("pool", ["g6.12xlarge"])]),
        (
            [node_pool(requirements=LARGE)],
            {"gpu_count": 1},
            [("pool", ["g6.xlarge", "g6.12xlarge"])],
        ),
        (
            [node_pool(requirements=LARGE)],
            {"gpu_count": gpus(4, key="nvidia.com/mig-1g.10gb")},
            [("pool", ["g6.xlarge", "g6.12xlarge"])],
        ),
        (
            [node_group(instanceTypes=["g6.xlarge", "g6.12xlarge"])],
            {"gpu_count": 4},
            [("pool", ["g6.xlarge", "g6.12xlarge"])],
        ),
        ([node_group(instanceTypes=ABSENT)], {}, []),
        ([node_group(labels={"a": UNKNOWN})], {"spec": {"nodeSelector": {"a": "b"}}}, []),
        (
            [node_group("a"), node_group("b", labels={"c": UNKNOWN})],
            {"spec": {"nodeSelector": {"c": "d"}}},
            [],
        ),
    ],
)
def test_nodes_that_a_pod_may_get(
    resources: list[Resource], changes: dict[str, Any], expected: list[Any]
) -> None:
    assert nodes(*resources, **changes) == expected


def test_pools_that_a_pod_can_enter_come_before_tainted_ones() -> None:
    closed = node_group("closed", taints=[{"key": "team", "effect": "NO_SCHEDULE"}])

    assert [name for name, _ in nodes(closed, node_group("open", taints=ABSENT))] == ["open"]
    assert [name for name, _ in nodes(closed, node_group("tolerated"))] == ["tolerated"]
    assert [name for name, _ in nodes(closed)] == ["closed"]


def test_an_auto_scaling_group_shows_no_taints_and_counts_as_open() -> None:
    policy = {"launchTemplate": {"overrides": [{"instanceType": "g6.xlarge"}]}}

    group = auto_scaling_group(mixedInstancesPolicy=policy)
    assert [name for name, _ in nodes(group)] == ["asg"]


def test_a_pool_whose_template_is_not_known_yet_is_waited_for() -> None:
    open_pool = node_group(instanceTypes=ABSENT, amiType=ABSENT, launchTemplate={"id": UNKNOWN})

    with pytest.raises(KnownAfterApplyError) as caught:
        nodes(open_pool)
    assert caught.value.field == "instance type of pool pool"


def test_another_pool_that_may_take_the_pod_is_not_waited_for() -> None:
    other = node_group("b", instanceTypes=UNKNOWN, amiType=ABSENT)

    assert nodes(node_group("a"), other) == []


def test_gpu_models_of_nodes() -> None:
    view = view_stack([deployment(), node_group(instanceTypes=["g6.xlarge", "g5g.xlarge"])])

    (found,) = view.nodes_of(next(view.pods()), {})
    assert [name for name, _ in found.gpus] == ["g6.xlarge", "g5g.xlarge"]
