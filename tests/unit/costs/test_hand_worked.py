"""Ten estimates worked by hand, from the command's own reading to its JSON; sums beside each."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from berth.cli.__main__ import main
from tests.unit.costs.engine_documents import node_group, preview, state, step

STACK = """
config:
  aws:region: us-east-1
  berth:environment: dev
  berth:as_of: 2026-11-30
  berth:cluster: {cluster}
  berth:tiers: {tiers}
  berth:models: {models}
"""
CLUSTER = {"kubernetes_version": "1.35", "endpoint": "private"}
CHAT = {
    "model": "meta-llama/Llama-3.3-70B-Instruct",
    "tier": "gpu",
    "quantization": "fp8",
    "max_model_len": 16384,
    "replicas": 4,
}
SMALL = {"model": "meta-llama/Llama-3.1-8B-Instruct", "tier": "gpu", "max_model_len": 8192}
P5 = {"instance_type": "p5.48xlarge", "min_nodes": 0, "max_nodes": 2}
L4 = {"instance_type": "g6.xlarge", "min_nodes": 0, "max_nodes": 3}
HYBRID = {
    "source": "hybrid",
    "hosts": "own",
    "gpu": "MI300X",
    "gpus_per_node": 8,
    "vcpus_per_node": 384,
    "nodes": 1,
    "usd_per_gpu_hour": "1.85",
}
REMOTE = {"hybrid": {"node_cidrs": ["10.80.0.0/16"], "pod_cidrs": ["10.85.0.0/16"]}}
BLOCK = {
    "type": "CAPACITY_BLOCK",
    "reservation_id": "cr-0123456789abcdef0",
    "availability_zone": "us-east-1b",
    "starts_at": "2026-11-20T11:30:00Z",
    "ends_at": "2027-01-29T11:30:00Z",
    "instance_count": 2,
}
ODCR = {
    "type": "ODCR",
    "reservation_id": "cr-0123456789abcdef0",
    "availability_zone": "us-east-1b",
    "instance_count": 2,
}


@pytest.fixture
def costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """What `berth cost --json` says of a stack of one tier, or of a preview."""

    def run(
        tier: dict[str, Any] | None = None,
        server: dict[str, Any] = CHAT,
        cluster: dict[str, Any] = CLUSTER,
        *,
        states: tuple[dict[str, Any], ...] = (),
    ) -> Any:
        if tier is None:
            file = tmp_path / "preview.json"
            file.write_bytes(preview(*(step("create", each) for each in states)))
            named = [str(file), "--as-of", "2026-11-30"]
        else:
            file = tmp_path / "Pulumi.hand.yaml"
            parts = {"cluster": cluster, "tiers": {"gpu": tier}, "models": {"chat": server}}
            text = STACK.format(**{key: json.dumps(part) for key, part in parts.items()})
            file.write_text(text)
            named = ["--stack", str(file)]
        assert main(["cost", *named, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def nodes_of(document: Any, name: str = "GPU nodes") -> tuple[str, str, str]:
    """USD per hour of a kind of line at floor, plan and ceiling."""
    (line,) = (each for each in document["lines"] if each["name"] == name)
    return tuple(line[f"{total}_usd_per_hour"] for total in ("floor", "plan", "ceiling"))


def test_1_a_p5_on_demand(costs: Any) -> None:
    """55.04 an hour; x 730 = 40,179.20 a month."""
    tier = P5 | {"capacity": {"type": "ON_DEMAND"}, "min_nodes": 1}
    hourly = nodes_of(costs(tier))

    assert hourly == ("55.04", "55.04", "110.08")
    assert Decimal(hourly[1]) * 730 == Decimal("40179.20")


def test_2_five_of_eight_gpus_asked_for(costs: Any) -> None:
    """55.04 / 8 = 6.88 for a GPU; 3 x 6.88 = 20.64 idle, x 730 = 15,067.20 a month."""
    server = SMALL | {"replicas": 5, "tensor_parallel_size": 1}
    idle = costs(P5 | {"capacity": {"type": "ON_DEMAND"}}, server)["idle"]

    assert (idle["gpus"], idle["usd_per_hour"]) == (3, "20.64")
    assert Decimal(idle["usd_per_hour"]) * 730 == Decimal("15067.20")


def test_3_a_block_by_the_catalogs_reading(costs: Any) -> None:
    """70 days x 24 x 2 instances x 39.33 = 132,148.80, once; no hour of any total has it."""
    document = costs(P5 | {"capacity": BLOCK, "min_nodes": 1})

    assert [each["usd"] for each in document["one_off"]] == ["132148.80"]
    assert nodes_of(document) == ("0.00", "0.00", "0.00")


def test_4_a_reservation_half_used(costs: Any) -> None:
    """2 x 55.04 = 110.08 at any number of nodes; one node is unused: 55.04 idle."""
    document = costs(P5 | {"capacity": ODCR})

    assert nodes_of(document) == ("110.08", "110.08", "110.08")
    assert document["idle"]["gpus"] == 8
    assert document["idle"]["usd_per_hour"] == "55.04"


def test_5_the_fee_of_hybrid_hosts(costs: Any) -> None:
    """384 vCPUs x 0.02 = 7.68 an hour, 5,606.40 a month; 8 x 1.85 = 14.80 besides."""
    document = costs(HYBRID, SMALL, CLUSTER | REMOTE)

    assert nodes_of(document, "Hybrid node fee") == ("7.68", "7.68", "7.68")
    assert nodes_of(document) == ("14.80", "14.80", "14.80")
    assert Decimal("7.68") * 730 == Decimal("5606.40")


def test_6_spot_as_the_range_that_was_read(costs: Any) -> None:
    """g6.xlarge in us-east-1: 0.4007 to 0.4386; floor 1 x 0.4007, ceiling 3 x 0.4386 = 1.3158."""
    tier = L4 | {"capacity": {"type": "SPOT"}, "min_nodes": 1}

    assert nodes_of(costs(tier, SMALL)) == ("0.4007", "0.4386", "1.3158")


def test_7_scale_to_zero(costs: Any) -> None:
    """Nothing at the floor; 0.8048 planned; 3 x 0.8048 = 2.4144 at the most."""
    tier = L4 | {"capacity": {"type": "ON_DEMAND"}}

    assert nodes_of(costs(tier, SMALL)) == ("0.00", "0.8048", "2.4144")


def test_8_extended_support(costs: Any) -> None:
    """Kubernetes 1.33 left standard support on 2026-07-29: 0.10 + 0.50 = 0.60; 1.35 has not."""
    tier = L4 | {"capacity": {"type": "ON_DEMAND"}}
    old = costs(tier, SMALL, CLUSTER | {"kubernetes_version": "1.33"})

    assert nodes_of(old, "Control plane") == ("0.60", "0.60", "0.60")
    assert nodes_of(costs(tier, SMALL), "Control plane") == ("0.10", "0.10", "0.10")


def test_9_tokens_of_a_server_at_its_load(costs: Any) -> None:
    """0.8048 USD for 0.5 x 100 x 3600 = 180,000 output tokens an hour: 4.4711 for a million."""
    load = {"requests_per_s": 0.5, "input_tokens": 500, "output_tokens": 100}
    document = costs(L4 | {"capacity": {"type": "ON_DEMAND"}}, SMALL | {"load": load})

    assert document["servers"][0]["usd_per_1m_output_tokens"] == "4.4711"


def test_10_any_teams_node_group_with_its_disks(costs: Any) -> None:
    """2 x 55.04 + 2 x 200 x 0.08 / 730 = 110.1238; cluster 0.10; balancer 0.0225."""
    cluster = state("aws:eks/cluster:Cluster", "c", {"version": "1.35"})
    front = state("aws:lb/loadBalancer:LoadBalancer", "f", {"loadBalancerType": "application"})

    total = costs(states=(node_group(), cluster, front))["total"]

    assert Decimal(total["plan"]["usd_per_hour"]).quantize(Decimal("0.0001")) == Decimal("110.2463")
    assert total["floor"]["usd_per_month"] == "89.42"  # (0.10 + 0.0225) x 730 = 89.425


def test_11_a_block_at_what_its_owner_paid(costs: Any) -> None:
    """132,149 / (70 x 24 x 2) = 39.3301 for an instance and hour, in no month."""
    document = costs(P5 | {"capacity": BLOCK | {"fee_usd": 132149}, "min_nodes": 1})

    assert [each["usd"] for each in document["one_off"]] == ["132149.00"]
    assert document["servers"][0]["usd_per_hour"] == "39.3301"


@pytest.mark.parametrize("total", ["floor", "plan", "ceiling"])
def test_every_total_is_the_sum_of_its_lines(costs: Any, total: str) -> None:
    document = costs(P5 | {"capacity": {"type": "ON_DEMAND"}, "min_nodes": 1})

    lines = sum(Decimal(each[f"{total}_usd_per_hour"]) for each in document["lines"])

    assert Decimal(document["total"][total]["usd_per_hour"]) == lines
