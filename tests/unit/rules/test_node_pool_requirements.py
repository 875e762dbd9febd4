"""Instance types that Karpenter may start for a node pool, by the operators of its requirements."""

from typing import Any

import pytest

from berth.rules.stack_view.instances import load_accelerators
from berth.rules.stack_view.pool import Pool, read_pools
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError
from tests.unit.rules.stacks import node_group, node_pool

TYPE = "node.kubernetes.io/instance-type"
CAPACITY = "karpenter.sh/capacity-type"


def wants(what: str, operator: str, *values: Any, of: str = "karpenter.k8s.aws") -> dict[str, Any]:
    """A requirement on a property of instances, or on the instance type."""
    key = TYPE if what == "type" else f"{of}/instance-{what}"
    return {"key": key, "operator": operator, "values": list(values)}


def pool(*requirements: dict[str, Any]) -> Pool:
    return read_pools([node_pool(requirements=list(requirements))], load_accelerators())[0]


def types(*requirements: dict[str, Any]) -> set[str]:
    return set(pool(*requirements).instance_types)


H200 = {"p5e.48xlarge", "p5en.48xlarge"}
BLACKWELL = {"p6-b200.48xlarge", "p6-b300.48xlarge", "p6e-gb200.36xlarge"}
ARM = {"g5g.xlarge", "g5g.2xlarge", "g5g.4xlarge", "g5g.8xlarge", "g5g.16xlarge", "g5g.metal"}
SERIES_P = wants("category", "In", "p")
BOTH = wants("type", "In", "g6.xlarge", "g6.12xlarge")


@pytest.mark.parametrize(
    ("requirements", "expected"),
    [
        ([wants("family", "In", "p5e", "p5en")], H200),
        (
            [wants("family", "In", "g6"), wants("size", "In", "xlarge", "12xlarge")],
            {"g6.xlarge", "g6.12xlarge"},
        ),
        (
            [wants("family", "In", "g6"), wants("gpu-count", "In", "4")],
            {"g6.12xlarge", "g6.24xlarge"},
        ),
        ([wants("gpu-name", "In", "h200")], H200),
        ([wants("gpu-name", "In", "h200", of="eks.amazonaws.com")], H200),
        (
            [
                wants("gpu-name", "In", "t4"),
                wants("family", "In", "g4dn"),
                wants("size", "In", "xlarge"),
            ],
            {"g4dn.xlarge"},
        ),
        ([wants("gpu-name", "In", "t4"), wants("family", "In", "g6")], set()),
        ([wants("family", "In", "g5g", "g4ad"), wants("gpu-manufacturer", "In", "nvidia")], ARM),
        ([SERIES_P, wants("generation", "Gt", "5")], BLACKWELL),
        ([SERIES_P, wants("generation", "NotIn", "3", "4", "5")], BLACKWELL),
        (
            [SERIES_P, wants("generation", "Lt", "4")],
            {"p3.2xlarge", "p3.8xlarge", "p3.16xlarge", "p3dn.24xlarge"},
        ),
        # H200 has 141 GiB, which is more than 140 x 1024 MiB
        ([SERIES_P, wants("gpu-memory", "Gt", "143360")], H200 | BLACKWELL),
        ([SERIES_P, wants("gpu-memory", "Gt", "144384")], BLACKWELL),
        (
            [SERIES_P, wants("gpu-memory", "Lt", "32768")],
            {"p3.2xlarge", "p3.8xlarge", "p3.16xlarge"},
        ),
        ([SERIES_P, wants("generation", "DoesNotExist")], set()),
        ([wants("family", "In", "p5e"), wants("generation", "Exists")], {"p5e.48xlarge"}),
        ([wants("family", "In", "p5e"), wants("generation", "Gt", "x")], {"p5e.48xlarge"}),
        ([wants("family", "In", "p5e"), wants("generation", "Gt", "9", "9")], {"p5e.48xlarge"}),
        ([wants("family", "In", "p5e"), wants("cpu", "Gt", "9999")], {"p5e.48xlarge"}),
        ([wants("category", "In", "m", "g")], set()),
        ([wants("category", "NotIn", "m")], set()),
        ([wants("family", "In", "m7i")], {"m7i.large"}),
        ([wants("family", "In", "m7i"), wants("gpu-count", "In", "1")], {"m7i.large"}),
        ([wants("family", "In", "m7i", "p5e")], {"p5e.48xlarge"}),
        ([wants("family", "In", "q9new")], set()),
        ([wants("type", "In", "g6.xlarge", "m7i.large")], {"g6.xlarge", "m7i.large"}),
        ([wants("type", "In", "m7i.large"), wants("family", "In", "m7i")], {"m7i.large"}),
        ([wants("type", "NotIn", "g6.xlarge")], set()),
        ([wants("type", "In", "odd"), wants("generation", "Gt", "5")], {"odd"}),
        ([BOTH, wants("gpu-count", "In", "1")], {"g6.xlarge"}),
        ([BOTH, wants("type", "NotIn", "g6.xlarge")], {"g6.12xlarge"}),
        ([{"operator": "In", "values": ["g6.xlarge"]}], set()),
        ([{"key": CAPACITY, "operator": "In", "values": ["spot"]}], set()),
    ],
)
def test_types_that_may_be_started(requirements: list[dict[str, Any]], expected: set[str]) -> None:
    assert types(*requirements) == expected


@pytest.mark.parametrize(
    "requirement",
    [
        wants("category", "In", "g", "p"),
        wants("gpu-count", "Gt", "0"),
        wants("gpu-manufacturer", "In", "nvidia"),
        wants("gpu-memory", "Gt", "1"),
    ],
)
def test_a_wide_choice_has_gpus_and_names_none(requirement: dict[str, Any]) -> None:
    wide = pool(requirement)

    assert {"g6.xlarge", "p5.48xlarge"} <= set(wide.instance_types)
    assert wide.vendor == "nvidia"
    assert not wide.names_its_gpus


@pytest.mark.parametrize(
    "requirement",
    [wants("family", "In", "g6"), wants("gpu-name", "In", "l4"), wants("type", "In", "g6.xlarge")],
)
def test_a_narrow_choice_names_its_gpus(requirement: dict[str, Any]) -> None:
    assert pool(requirement).names_its_gpus


def test_a_node_group_names_its_gpus() -> None:
    assert read_pools([node_group()], load_accelerators())[0].names_its_gpus


def test_accelerators_of_aws_have_no_gpu() -> None:
    assert "inf2.xlarge" in load_accelerators()
    assert "inf2.xlarge" not in types(wants("gpu-name", "In", "h200"))


def test_a_requirement_that_is_known_after_apply() -> None:
    with pytest.raises(KnownAfterApplyError):
        types(wants("type", "In", UNKNOWN))


def test_values_that_a_requirement_leaves() -> None:
    spot = pool({"key": CAPACITY, "operator": "In", "values": ["spot"]})

    assert spot.label_choices(CAPACITY) == ("spot",)
    assert spot.label_choices("team") == ()
    assert read_pools([node_group()], load_accelerators())[0].label_choices(CAPACITY) == ()
