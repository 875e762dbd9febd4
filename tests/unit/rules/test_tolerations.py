"""Taints that stay, and what a toleration lets past."""

from typing import Any

import pytest

from berth.rules.stack_view.field import Field
from berth.rules.stack_view.tolerations import Taint, not_tolerated, read_taints
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError
from tests.unit.rules.stacks import ABSENT

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
