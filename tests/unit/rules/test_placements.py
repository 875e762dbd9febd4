"""Which pools a pod may be put on, by the rules of the scheduler."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.instances import load_accelerators
from berth.rules.stack_view.placement import (
    candidate_pools,
    named_instance_types,
    names_cpu_nodes,
    read_terms,
)
from berth.rules.stack_view.pool import read_pools
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError
from tests.unit.rules.stacks import (
    ABSENT,
    auto_scaling_group,
    node_group,
    node_pool,
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
