"""Which pools a pod may be put on, by the rules of the scheduler."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view import view_stack
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.instances import load_accelerators
from berth.rules.stack_view.placement import (
    candidate_pools,
    named_instance_types,
    names_cpu_nodes,
    read_terms,
)
from berth.rules.stack_view.pool import read_pools
from berth.rules.stack_view.tolerations import Taint, not_tolerated, read_taints
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


def affinity(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    """Required affinity; each term is a list of expressions."""
    selected = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selected}}
    }


def where(key: Any, operator: str, *values: Any) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def fit(placement: Any, *resources: Resource, vendors: Any = ()) -> tuple[list[str], list[str]]:
    """Names of pools that are certain and possible."""
    pools = read_pools(resources, load_accelerators())
    found = candidate_pools(Field(placement), pools, frozenset(vendors))
    assert found.all == found.certain + found.possible
    return [p.name for p in found.certain], [p.name for p in found.possible]


SURE: tuple[list[str], list[str]] = (["pool"], [])
MAYBE: tuple[list[str], list[str]] = ([], ["pool"])
NEVER: tuple[list[str], list[str]] = ([], [])
SPOT = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        ({}, SURE),
        ({"nodeSelector": {"pool": "pool"}}, SURE),
        ({"nodeSelector": {"pool": "other"}}, NEVER),
        ({"nodeSelector": {"team": "ml"}}, NEVER),
        ({"nodeSelector": {"open": UNKNOWN}}, MAYBE),
        ({"nodeSelector": {"open": "x"}}, MAYBE),
        ({"nodeSelector": {"flag": True}}, SURE),
        ({"nodeSelector": {"flag": False}}, NEVER),
        ({"nodeSelector": {"pool": "pool", "team": "ml"}}, NEVER),
        ({"nodeSelector": {"nvidia.com/gpu.present": "true"}}, SURE),
        ({"nodeSelector": {TYPE: "g6.xlarge"}}, SURE),
        ({"nodeSelector": {TYPE: "p5.48xlarge"}}, NEVER),
        ({"nodeSelector": {"beta.kubernetes.io/instance-type": "g6.xlarge"}}, SURE),
        (affinity([where("pool", "In", "a", "pool")]), SURE),
        (affinity([where("pool", "In", "a")]), NEVER),
        (affinity([where("pool", "In")]), NEVER),
        (affinity([where("pool", "NotIn", "a")]), SURE),
        (affinity([where("pool", "NotIn", "pool")]), NEVER),
        (affinity([where("team", "NotIn", "a")]), SURE),
        (affinity([where("pool", "Exists")]), SURE),
        (affinity([where("team", "Exists")]), NEVER),
        (affinity([where("team", "DoesNotExist")]), SURE),
        (affinity([where("pool", "DoesNotExist")]), NEVER),
        (affinity([where("nvidia.com/gpu.count", "Gt", "1")]), MAYBE),
        (affinity([where("pool", "Gt", "1")]), MAYBE),
        (affinity([where("nvidia.com/gpu.count", "Exists")]), SURE),
        (affinity([where("nvidia.com/gpu.count", "NotIn", "1")]), MAYBE),
        (affinity([where("nvidia.com/gpu.count", "DoesNotExist")]), MAYBE),
        (affinity([where(TYPE, "NotIn", "g6.xlarge")]), NEVER),
        (affinity([where(TYPE, "NotIn", "p5.48xlarge")]), SURE),
        (affinity([where(TYPE, "Exists")]), MAYBE),
        (affinity([where(UNKNOWN, "Exists")]), MAYBE),
        (affinity([where("pool", "In", UNKNOWN)]), MAYBE),
        (affinity([where("pool", "In", "a")], [where("pool", "In", "pool")]), SURE),
        (affinity([where("pool", "In", "a")], [where("open", "In", "b")]), MAYBE),
        (affinity([where("pool", "In", "pool"), where("team", "Exists")]), NEVER),
        (affinity([where("pool", "In", "pool"), where("open", "In", "b")]), MAYBE),
        ({"nodeSelector": {"team": "ml"}, **affinity([where("pool", "In", "pool")])}, NEVER),
    ],
)
def test_a_node_group_by_its_labels(placement: Any, expected: tuple[list[str], list[str]]) -> None:
    labels = {"pool": "pool", "open": UNKNOWN, "flag": "true"}

    assert fit(placement, node_group(labels=labels)) == expected


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        ({"nodeSelector": {"karpenter.sh/nodepool": "pool"}}, SURE),
        ({"nodeSelector": {"karpenter.sh/nodepool": "other"}}, NEVER),
        ({"nodeSelector": {"karpenter.sh/capacity-type": "spot"}}, SURE),
        ({"nodeSelector": {"karpenter.sh/capacity-type": "on-demand"}}, NEVER),
        (affinity([where("karpenter.sh/capacity-type", "NotIn", "spot")]), NEVER),
        (affinity([where("karpenter.sh/capacity-type", "NotIn", "on-demand")]), SURE),
        (affinity([where("karpenter.sh/capacity-type", "Exists")]), SURE),
        (affinity([where(TYPE, "NotIn", "g6.xlarge")]), SURE),
        (affinity([where(TYPE, "NotIn", "g6.xlarge", "g6.12xlarge")]), NEVER),
        (affinity([where(TYPE, "In", "g6.12xlarge", "p5.48xlarge")]), SURE),
        ({"nodeSelector": {"karpenter.k8s.aws/instance-gpu-name": "l4"}}, SURE),
        ({"nodeSelector": {"topology.kubernetes.io/zone": "us-east-1a"}}, SURE),
    ],
)
def test_a_node_pool_by_its_requirements(
    placement: Any, expected: tuple[list[str], list[str]]
) -> None:
    types = {"key": TYPE, "operator": "In", "values": ["g6.xlarge", "g6.12xlarge"]}

    assert fit(placement, node_pool(requirements=[SPOT, types])) == expected


@pytest.mark.parametrize(
    ("pool", "vendors", "expected"),
    [
        (node_group(), ["nvidia"], SURE),
        (node_group(), ["amd"], NEVER),
        (node_group(), ["amd", "nvidia"], SURE),
        (node_group(instanceTypes=["m7i.large"]), [], NEVER),
        (node_group(instanceTypes=UNKNOWN, amiType=ABSENT), ["nvidia"], MAYBE),
        (node_group(instanceTypes=UNKNOWN), ["nvidia"], SURE),
        (auto_scaling_group("pool"), [], NEVER),
    ],
)
def test_a_pool_by_the_maker_of_its_accelerators(
    pool: Resource, vendors: list[str], expected: tuple[list[str], list[str]]
) -> None:
    assert fit({}, pool, vendors=vendors) == expected


def test_types_that_are_known_after_apply_may_be_the_wanted_ones() -> None:
    selector = {"nodeSelector": {TYPE: "g6.xlarge"}}

    assert fit(selector, node_group(instanceTypes=UNKNOWN)) == MAYBE


def test_a_selector_that_is_known_after_apply_is_not_guessed() -> None:
    with pytest.raises(KnownAfterApplyError):
        fit({"nodeSelector": UNKNOWN}, node_group())


@pytest.mark.parametrize(
    ("placement", "text"),
    [
        ({"nodeSelector": {"a": "b"}}, "a=b"),
        ({"nodeSelector": {"a": 5}}, "a=..."),
        (affinity([where("a", "In", "b", "c")]), "a=b,c"),
        (affinity([where("a", "NotIn", "b")]), "a!=b"),
        (affinity([where("a", "Gt", "1")]), "a Gt 1"),
    ],
)
def test_a_condition_reads_as_kubectl_writes_it(placement: Any, text: str) -> None:
    assert [str(demand) for term in read_terms(Field(placement)) for demand in term] == [text]


@pytest.mark.parametrize(
    ("placement", "types"),
    [
        ({}, ()),
        ({"nodeSelector": {TYPE: "g6.xlarge"}}, ("g6.xlarge",)),
        ({"nodeSelector": {"pool": "a"}}, ()),
        (affinity([where(TYPE, "In", "g6.xlarge", "g6.12xlarge")]), ("g6.xlarge", "g6.12xlarge")),
        (affinity([where(TYPE, "NotIn", "g6.xlarge")]), ()),
        (affinity([where(TYPE, "In", "g6.xlarge")], [where("pool", "In", "a")]), ()),
        (
            affinity(
                [where(TYPE, "In", "g6.xlarge")], [where(TYPE, "In", "g6.xlarge", "p5.48xlarge")]
            ),
            ("g6.xlarge", "p5.48xlarge"),
        ),
    ],
)
def test_instance_types_that_a_pod_is_bound_to(placement: Any, types: tuple[str, ...]) -> None:
    assert named_instance_types(Field(placement)) == types


FAMILY = "karpenter.k8s.aws/instance-family"


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        ({}, False),
        ({"nodeSelector": {TYPE: "m7i.large"}}, True),
        ({"nodeSelector": {TYPE: "g6.xlarge"}}, False),
        ({"nodeSelector": {FAMILY: "c7i"}}, True),
        ({"nodeSelector": {"eks.amazonaws.com/instance-family": "r7i"}}, True),
        ({"nodeSelector": {"team": "m7i"}}, False),
        ({"nodeSelector": {TYPE: UNKNOWN}}, False),
        (affinity([where(FAMILY, "In", "m7i", "c7i")]), True),
        (affinity([where(FAMILY, "In", "m7i", "g6")]), False),
        (affinity([where(FAMILY, "In")]), False),
        (affinity([where(FAMILY, "NotIn", "m7i")]), False),
        (affinity([where(FAMILY, "In", "m7i")], [where("team", "Exists")]), False),
        (affinity([where(FAMILY, "In", "m7i")], [where(TYPE, "In", "c7i.large")]), True),
        (affinity([where("team", "Exists"), where(FAMILY, "In", "m7i")]), True),
    ],
)
def test_a_pod_that_names_nodes_without_accelerators(placement: Any, expected: bool) -> None:
    assert names_cpu_nodes(Field(placement)) is expected


GPU = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("listed", "taints"),
    [
        ([GPU], ["nvidia.com/gpu=present:NoSchedule"]),
        ([{**GPU, "effect": "NO_SCHEDULE"}], ["nvidia.com/gpu=present:NoSchedule"]),
        ([{**GPU, "effect": "NO_EXECUTE"}], ["nvidia.com/gpu=present:NoExecute"]),
        ([{"key": "gpu", "effect": "NoExecute"}], ["gpu:NoExecute"]),
        ([{**GPU, "effect": "PREFER_NO_SCHEDULE"}], []),
        ([{**GPU, "effect": "PreferNoSchedule"}], []),
        ([{**GPU, "effect": ""}], []),
        ([{"effect": "NoSchedule"}], [":NoSchedule"]),
        ([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}], []),
        ([{"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"}], []),
        (None, []),
    ],
)
def test_taints_that_stay(listed: Any, taints: list[str]) -> None:
    assert [str(taint) for taint in read_taints(Field(listed))] == taints


@pytest.mark.parametrize(
    ("toleration", "is_tolerated"),
    [
        ({"key": "nvidia.com/gpu", "operator": "Exists"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "gpu", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
        ({"key": "", "operator": "Exists"}, True),
        ({"key": "nvidia.com/gpu", "value": "present"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "other"}, False),
        ({"key": "nvidia.com/gpu"}, False),
        ({"key": "gpu", "value": "present"}, False),
        ({"key": "nvidia.com/gpu", "value": "present", "effect": ""}, True),
    ],
)
def test_what_a_toleration_lets_past(toleration: dict[str, Any], is_tolerated: bool) -> None:
    taint = Taint("nvidia.com/gpu", "present", "NoSchedule")

    assert not_tolerated([taint], Field([toleration])) == ([] if is_tolerated else [taint])


@pytest.mark.parametrize(
    ("value", "is_tolerated"), [(ABSENT, True), ("", True), ("x", False), (None, True)]
)
def test_a_taint_without_a_value_equals_no_value(value: Any, is_tolerated: bool) -> None:
    stated = {} if value is ABSENT else {"value": value}
    taint = Taint("gpu", "", "NoSchedule")

    left = not_tolerated([taint], Field([{"key": "gpu", "operator": "Equal", **stated}]))
    assert left == ([] if is_tolerated else [taint])


@pytest.mark.parametrize(
    "toleration",
    [UNKNOWN, {"key": UNKNOWN}, {"key": "nvidia.com/gpu", "value": UNKNOWN}, {"operator": UNKNOWN},
     {"operator": "Exists", "effect": UNKNOWN}],
)  # fmt: skip
def test_an_unknown_toleration_might_let_past(toleration: Any) -> None:
    taint = Taint("nvidia.com/gpu", "present", "NoSchedule")
    known = {"key": "nvidia.com/gpu", "operator": "Exists"}

    with pytest.raises(KnownAfterApplyError):
        not_tolerated([taint], Field([toleration]))
    assert not_tolerated([taint], Field([toleration, known])) == []


def test_without_taints_nothing_needs_to_be_known() -> None:
    assert not_tolerated([], Field(UNKNOWN)) == []


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
    return affinity([where(TYPE, "In", *types)])


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
