"""A container requests and limits the same whole number of GPUs."""

from typing import Any

import pytest

from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import (
    ABSENT,
    container,
    deployment,
    found,
    gpus,
    not_checked,
    pod_spec,
    server,
)

KIND = "gpu-request-limit-mismatch"
PATH = "spec.template.spec.containers[0].resources"


@pytest.mark.parametrize(
    ("resources", "message", "fix"),
    [
        pytest.param(
            gpus(4, 2),
            "chat: container server requests 2 nvidia.com/gpu with limit 4; make them equal",
            f"set {PATH}.requests[nvidia.com/gpu] to 4",
            id="below",
        ),
        pytest.param(
            gpus(ABSENT, 2),
            "chat: container server requests 2 nvidia.com/gpu and has no limit for it; set the "
            "limit to the request",
            f"set {PATH}.limits[nvidia.com/gpu] to 2",
            id="no-limit",
        ),
        pytest.param(
            gpus("0.5", "0.5"),
            "chat: container server asks for 0.5 nvidia.com/gpu, and GPUs are counted whole; ask "
            "for a whole number",
            f"set {PATH}.limits[nvidia.com/gpu] and {PATH}.requests[nvidia.com/gpu] to 1",
            id="fraction",
        ),
    ],
)
def test_the_message_shows_both_numbers(resources: dict[str, Any], message: str, fix: str) -> None:
    (finding,) = found(KIND, server(resources=resources))

    assert (finding.message, finding.fix) == (message, fix)
    assert (finding.severity, finding.enforcement_level) == ("medium", "mandatory")


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        (gpus(1, 1), 0),
        (gpus(1), 0),
        (gpus("1", 1), 0),
        (gpus(2.0, "2"), 0),
        (gpus("2000m", 2), 0),
        (gpus("1500m", "1500m"), 1),
        (gpus(1, 0), 1),
        (gpus(ABSENT, 0), 0),
        (gpus(-1), 1),
        (gpus("one"), 1),
        (gpus(1, 2, key="amd.com/gpu"), 1),
        (gpus(1, 2, key="nvidia.com/mig-1g.10gb"), 1),
        (gpus(1, 2, key="vpc.amazonaws.com/efa"), 0),
        (gpus(4, 2, key="cpu"), 0),
    ],
)
def test_equal_and_whole_passes(resources: dict[str, Any], expected: int) -> None:
    assert len(found(KIND, server(resources=resources))) == expected


def test_every_container_counts_whatever_it_runs() -> None:
    odd = container(image="busybox:1.37", resources=gpus(2, 1))

    assert len(found(KIND, deployment(pod_spec(odd, odd)))) == 2
    assert len(found(KIND, deployment(pod_spec(initContainers=[odd])))) == 1


@pytest.mark.parametrize(
    ("resources", "field"),
    [
        (UNKNOWN, ""),
        ({"requests": UNKNOWN}, ".requests"),
        (gpus(UNKNOWN, 1), ".limits[nvidia.com/gpu]"),
        (gpus(1, UNKNOWN), ".requests[nvidia.com/gpu]"),
    ],
)
def test_what_is_known_after_apply_is_not_judged(resources: Any, field: str) -> None:
    assert not_checked(KIND, server(resources=resources)) == [
        f"chat: not checked: {PATH}{field} is known after apply"
    ]
