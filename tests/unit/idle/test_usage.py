"""Idle is a GPU that was seen all the time and did nothing; anything less is not known."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from berth.idle.prometheus import Recorded, Window
from berth.idle.usage import GpuUse, gpu_queries, gpu_uses, token_query
from tests.unit.idle.server import gpu, matrix, series

WINDOW = Window(end_s=1200, step_s=300, steps=4)
ALL = {300: 0.0, 600: 0.0, 900: 0.0, 1200: 0.0}
POD = {"exported_namespace": "inference", "exported_pod": "chat-5c9-x2"}


def uses(
    util: Sequence[Any] = (), engine: Sequence[Any] = (), tokens: Sequence[Any] = ()
) -> list[GpuUse]:
    first, second = gpu_queries(WINDOW)
    answers = {
        first: matrix(util),
        second: matrix(engine),
        token_query(WINDOW): matrix(tokens),
    }
    return gpu_uses(Recorded(where="r.json", answers=answers), WINDOW)


def use(*util: Any, **others: Any) -> GpuUse:
    (found,) = uses(util, **others)
    return found


def tokens(values: Mapping[int, float], pod: str = "chat-5c9-x2") -> list[Any]:
    return [series({"namespace": "inference", "pod": pod}, values)]


def test_the_window_ends_with_its_last_step() -> None:
    assert (WINDOW.start_s, list(WINDOW.times_s), WINDOW.hours) == (0, [300, 600, 900, 1200], 1 / 3)


def test_no_use_in_every_step_is_idle() -> None:
    assert use(gpu("GPU-1", ALL)).state == "idle"


@pytest.mark.parametrize(("percent", "state"), [(1.0, "idle"), (2.0, "used"), (100.0, "used")])
def test_one_busy_step_is_use(percent: float, state: str) -> None:
    assert use(gpu("GPU-1", ALL | {600: percent})).state == state


@pytest.mark.parametrize("gap", [300, 600, 1200])
def test_a_gap_is_not_idleness(gap: int) -> None:
    found = use(gpu("GPU-1", {at: value for at, value in ALL.items() if at != gap}))

    assert (found.state, found.steps_seen) == ("not seen", 3)


def test_a_busy_step_is_use_in_spite_of_a_gap() -> None:
    assert use(gpu("GPU-1", {300: 50.0})).state == "used"


@pytest.mark.parametrize("text", ["NaN", "+Inf", "", "x"])
def test_a_value_that_is_no_number_is_a_gap(text: str) -> None:
    found = gpu("GPU-1", ALL)
    found["values"][1][1] = text

    assert use(found).state == "not seen"


def test_a_gpu_is_one_although_its_pods_change() -> None:
    """Prometheus has a series for each pod that held it."""
    first = gpu("GPU-1", {300: 0.0, 600: 0.0}, **POD)
    second = gpu("GPU-1", {900: 0.0, 1200: 0.0})

    found = use(first, second)

    assert (found.state, found.pod) == ("idle", None)


def test_a_mig_slice_is_counted_by_its_engine() -> None:
    """A share of 1, in place of per cent; the whole GPU has no series of its own."""
    slices = [
        gpu("GPU-1", ALL, GPU_I_ID="7"),
        gpu("GPU-1", ALL | {300: 0.5}, GPU_I_ID="8"),
    ]

    assert [(each.slice, each.state) for each in uses(engine=slices)] == [
        ("7", "idle"),
        ("8", "used"),
    ]


def test_the_engine_counts_only_where_there_is_no_utilisation() -> None:
    found = use(gpu("GPU-1", ALL), engine=[gpu("GPU-1", ALL | {300: 0.5})])

    assert found.state == "idle"


def test_a_server_that_answered_a_token_is_used() -> None:
    """A short answer between two samples of the exporter."""
    found = use(gpu("GPU-1", ALL, **POD), tokens=tokens(ALL | {900: 12.0}))

    assert (found.state, found.served_tokens) == ("used", 12.0)


def test_a_loaded_server_without_a_token_is_idle() -> None:
    found = use(gpu("GPU-1", ALL, **POD), tokens=tokens(ALL))

    assert (found.state, found.served_tokens) == ("idle", 0.0)


def test_a_server_whose_tokens_were_not_always_seen_is_not_known() -> None:
    assert use(gpu("GPU-1", ALL, **POD), tokens=tokens({300: 0.0})).state == "not seen"


def test_another_pods_tokens_are_not_its_own() -> None:
    found = use(gpu("GPU-1", ALL, **POD), tokens=tokens({900: 5.0}, pod="other-1-2"))

    assert (found.state, found.served_tokens) == ("idle", None)


@pytest.mark.parametrize(
    ("labels", "pod"),
    [
        ({"exported_pod": "", "exported_namespace": "", "pod": "nvidia-dcgm-exporter-x"}, None),
        ({"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-x"}, None),
        ({"namespace": "inference", "pod": "chat-1-2"}, "chat-1-2"),
        (POD | {"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-x"}, "chat-5c9-x2"),
        ({}, None),
    ],
)
def test_the_pod_of_the_exporter_holds_no_gpu(labels: dict[str, str], pod: str | None) -> None:
    found = use(gpu("GPU-1", ALL, **labels))

    assert (found.pod and found.pod.name) == pod


def test_gpus_without_a_uuid_are_told_apart_by_host_and_number() -> None:
    labels = [{"UUID": "", "gpu": "0"}, {"UUID": "", "gpu": "1"}]

    assert len(uses([gpu("", ALL, **each) for each in labels])) == 2


def test_points_outside_the_window_are_not_counted() -> None:
    assert use(gpu("GPU-1", {0: 90.0, **ALL, 1500: 90.0})).state == "idle"


def test_the_peak_of_every_step_is_asked_for() -> None:
    """A sample every 15 seconds lies between points of 300."""
    assert gpu_queries(WINDOW)[0] == "max_over_time(DCGM_FI_DEV_GPU_UTIL[300s])"
    assert msgspec.json.encode(token_query(WINDOW)).count(b"vllm:") == 2
