"""Random stacks: what a plan costs and what the resources that it declares cost is one sum."""

import json
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from berth.catalog.load import load_catalog
from berth.costs.bought import PriceList
from berth.costs.document import estimate_document
from berth.costs.estimate import Estimate
from berth.costs.from_plan import estimate
from berth.costs.resources.documents import Side
from berth.costs.resources.estimate_resources import estimate_resources
from berth.costs.resources.resource import Declared
from berth.planner.own_prices import own_book
from berth.planner.plan import Plan
from components.platform import Platform, PlatformArgs
from tests.unit.components.engine import RecordingEngine, declare
from tests.unit.planner.stacks import BLOCK, LLAMA_8B, planned

TYPES = ("g6.xlarge", "g6e.12xlarge", "g5.xlarge", "p4d.24xlarge", "p5.48xlarge", "p5en.48xlarge")
HYBRID = {
    "source": "hybrid",
    "hosts": "own",
    "gpu": "MI300X",
    "gpus_per_node": 8,
    "vcpus_per_node": 384,
    "nodes": 2,
    "usd_per_gpu_hour": "1.85",
}
RESERVED = {"availability_zone": "us-east-1b", "instance_count": 3}


@st.composite
def stacks(draw: st.DrawFn) -> dict[str, Any]:
    """A cluster of a version old or new with one to three tiers, each bought in its own way."""
    tiers: dict[str, Any] = {}
    for number, name in enumerate(("a", "b", "c")[: draw(st.integers(1, 3))]):
        reservation = {"reservation_id": f"cr-{number:017x}"}
        ways = (
            {"type": "ON_DEMAND"},
            {"type": "SPOT"},
            {"type": "ODCR", **RESERVED, **reservation},
            BLOCK | RESERVED | reservation,
            BLOCK | RESERVED | reservation | {"fee_usd": "132149"},
        )
        tiers[name] = {
            "instance_type": draw(st.sampled_from(TYPES)),
            "capacity": draw(st.sampled_from(ways)),
            "min_nodes": draw(st.integers(0, 1)),
            "max_nodes": draw(st.integers(1, 3)),
            "root_disk_gib": draw(st.sampled_from([None, 300, 1000])),
        }
    models = {
        f"m-{name}": {
            "model": LLAMA_8B,
            "tier": name,
            "max_model_len": 2048,
            "replicas": draw(st.integers(0, 1)),
        }
        for name in tiers
    }
    version = draw(st.sampled_from(["1.32", "1.33", "1.34", "1.35"]))
    return {
        "tiers": tiers,
        "models": models,
        "prices": draw(st.sampled_from([{}, {"p5.48xlarge": {"usd": "31.20"}}])),
        "cluster": {
            "kubernetes_version": version,
            "endpoint": "private",
            "network": {"nat_gateways": draw(st.sampled_from(["one", "per_zone"]))},
        },
    }


def declared(engine: RecordingEngine) -> Side:
    """The resources as the engine shows them, without the links that only a name depends on."""
    found = {}
    for each in engine.declared:
        urn = f"urn:pulumi:s::berth::{each.typ}::{each.name}"
        found[urn] = Declared(
            urn=urn,
            type=each.typ,
            id=f"{each.name}-id",
            raw_inputs=msgspec.Raw(json.dumps(each.inputs).encode()),
            raw_outputs=msgspec.Raw(b""),
            raw_links=msgspec.Raw(b""),
        )
    return Side(resources=found)


def in_numbers(found: Estimate) -> dict[str, Any]:
    """What both ways have to agree on: totals, fees, servers, idle GPUs, and what is unknown."""
    document = estimate_document(found)
    unknown = sorted(each["reason"] for each in document["unpriced"])
    return {key: document[key] for key in ("total", "one_off", "servers", "idle", "at_least")} | {
        "unpriced": unknown
    }


def from_resources(plan: Plan) -> Estimate:
    engine = declare(lambda: Platform("berth", PlatformArgs(plan=plan, stack="s", hf_token=None)))
    catalog = load_catalog()
    book = own_book(catalog.prices, plan.prices, plan.region, plan.as_of)
    prices = PriceList(book=book, region=plan.region, day=plan.as_of)
    return estimate_resources(declared(engine), catalog, prices, plan)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stack=stacks())
def test_a_plan_and_its_resources_cost_the_same(stack: dict[str, Any]) -> None:
    plan = planned(**stack)

    assert in_numbers(from_resources(plan)) == in_numbers(estimate(plan, load_catalog()))


def test_so_does_a_stack_with_hosts_of_its_own() -> None:
    plan = planned(
        tiers={"mi300x": HYBRID},
        models={"chat": {"model": LLAMA_8B, "tier": "mi300x", "max_model_len": 2048}},
        cluster={
            "kubernetes_version": "1.35",
            "endpoint": "private",
            "hybrid": {
                "node_cidrs": ["10.80.0.0/16"],
                "pod_cidrs": ["10.85.0.0/16"],
            },
        },
    )

    assert in_numbers(from_resources(plan)) == in_numbers(estimate(plan, load_catalog()))
