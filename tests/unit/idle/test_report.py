"""What idle GPUs cost, whose they are, and which line of the stack frees them; sums by hand."""

from decimal import Decimal
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.costs.from_plan import estimate
from berth.idle.prometheus import Window
from berth.idle.report import IdleReport, idle_report, report_document, report_lines
from berth.idle.usage import GpuUse, Pod
from tests.unit.planner.stacks import (
    BLOCK,
    EXISTING_CLUSTER,
    a_70b,
    an_8b,
    an_existing_tier,
    an_h100_tier,
    an_l4_tier,
    planned,
)

SIX_HOURS = Window(end_s=6 * 3600, step_s=300, steps=72)
H100 = "NVIDIA H100 80GB HBM3"


def a_gpu(number: int = 0, **changes: Any) -> GpuUse:
    """A whole GPU that did nothing."""
    use: dict[str, Any] = {
        "uuid": f"GPU-{number}",
        "slice": "",
        "host": "node-1",
        "product": "NVIDIA L4",
        "pod": None,
        "state": "idle",
        "most_percent": 0.0,
        "steps_seen": 72,
        "served_tokens": None,
    }
    return GpuUse(**use | changes)


def of(server: str, namespace: str = "inference") -> Pod:
    return Pod(namespace=namespace, name=f"{server}-7c9f6d5b8-x2x4z")


def report(*uses: GpuUse, **stack: Any) -> IdleReport:
    changes = {"tiers": {"l4": an_l4_tier(min_nodes=1)}, "models": {"chat": an_8b()}} | stack
    plan = planned(**changes)
    catalog = load_catalog()
    return idle_report("dev", SIX_HOURS, uses, plan, estimate(plan, catalog), catalog)


def h100(capacity: Any, *uses: GpuUse) -> IdleReport:
    tiers = {"h100": an_h100_tier(capacity=capacity)}
    return report(*uses, tiers=tiers, models={"chat": a_70b(replicas=4)})


def test_an_idle_l4_costs_its_node() -> None:
    """g6.xlarge has one GPU: 0.8048 an hour, six hours 4.8288."""
    found = report(a_gpu())

    assert (found.usd_per_hour, found.usd) == (Decimal("0.8048"), Decimal("4.8288"))


def test_three_of_eight_gpus_cost_three_eighths_of_the_node() -> None:
    """55.04 / 8 x 3 = 20.64."""
    uses = [a_gpu(n, product=H100, state="idle" if n < 3 else "used") for n in range(8)]

    found = h100({"type": "ON_DEMAND"}, *uses)

    assert found.usd_per_hour == Decimal("20.64")
    assert (len(found.idle), found.used) == (3, 5)


def test_a_gpu_of_a_block_costs_its_part_of_the_fee_and_is_not_saved() -> None:
    """134,400 over 70 days of 24 hours, two instances and eight GPUs: 5.00."""
    found = h100(BLOCK | {"fee_usd": 134400}, a_gpu(product=H100))

    assert found.usd_per_hour == 5
    assert "of a fee paid once, which freeing does not bring back" in report_lines(found, {})[1]


def test_owned_gpus_cost_what_their_owner_says() -> None:
    gpu = a_gpu(product="", pod=of("chat"))
    tiers = {"mi300x": an_existing_tier(usd_per_gpu_hour="1.85")}
    models = {"chat": a_70b(tier="mi300x", quantization="none")}

    found = report(gpu, tiers=tiers, models=models, cluster=EXISTING_CLUSTER, region=None)

    assert found.usd_per_hour == Decimal("1.85")


def test_a_gpu_without_a_price_is_not_free() -> None:
    gpu = a_gpu(product="", pod=of("chat"))
    models = {"chat": a_70b(tier="mi300x", quantization="none")}
    tiers = {"mi300x": {**an_existing_tier(), "usd_per_gpu_hour": None}}

    found = report(gpu, tiers=tiers, models=models, cluster=EXISTING_CLUSTER, region=None)

    assert report_document(found, {})["idle"]["at_least"] is True
    assert "at least 0.00 USD an hour" in report_lines(found, {})[0]


@pytest.mark.parametrize(
    ("pod", "tier", "key", "fix"),
    [
        (None, {"min_nodes": 1}, "berth:tiers.l4.min_nodes", "lower it from 1"),
        (
            None,
            {"min_nodes": 0},
            "berth:tiers.l4.max_nodes",
            "see what keeps the autoscaler from removing it",
        ),
        (of("chat"), {}, "berth:models.chat.replicas", "remove chat"),
        (
            of("notebook", "research"),
            {},
            "",
            "stop pod notebook-7c9f6d5b8-x2x4z in research, which is not the stack's",
        ),
    ],
)
def test_the_line_that_frees_a_gpu(
    pod: Pod | None, tier: dict[str, Any], key: str, fix: str
) -> None:
    (found,) = report(a_gpu(pod=pod), tiers={"l4": an_l4_tier(**tier)}).idle

    assert (found.key, found.fix) == (key, fix)


def test_a_server_of_several_replicas_gives_up_one() -> None:
    (found,) = h100(BLOCK, a_gpu(product=H100, pod=of("chat"))).idle

    assert (found.server, found.fix) == ("chat", "lower replicas from 4")


def test_a_tier_is_known_by_its_server_or_by_a_gpu_that_only_it_has() -> None:
    two = {"l4": an_l4_tier(), "other": an_l4_tier()}
    models = {"chat": an_8b()}

    (by_server,) = report(a_gpu(pod=of("chat")), tiers=two, models=models).idle
    assert by_server.tier == "l4"
    assert report(a_gpu(), tiers=two, models=models).idle == []


def test_gpus_of_other_stacks_are_left_out() -> None:
    found = report(a_gpu(product="NVIDIA B200"), a_gpu(1, product=H100, state="used"))

    assert (found.idle, found.used) == ([], 0)


def test_planned_gpus_that_nobody_scrapes_are_missing_and_not_idle() -> None:
    found = report()

    assert (found.missing, found.idle) == ({"l4": 1}, [])
    assert "l4: 1 GPU of the plan were not seen at all" in report_lines(found, {})[1]


def test_a_gpu_with_gaps_is_named_and_costs_nothing_here() -> None:
    found = report(a_gpu(state="not seen", steps_seen=70))

    assert found.usd_per_hour == 0
    assert "seen in 70 of 72 steps, so not known to be idle" in report_lines(found, {})[1]


def test_the_owner_of_the_tier_is_named() -> None:
    found = report(a_gpu(), owner="platform", tiers={"l4": an_l4_tier(owner="search")})

    assert ", paid by search" in report_lines(found, {})[1]
    assert report_document(found, {})["gpus"][0]["owner"] == "search"
