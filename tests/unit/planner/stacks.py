"""Stacks by hand; a test names only what it is about."""

from datetime import date
from typing import Any

from berth.catalog.load import Catalog, load_catalog
from berth.config.stack import StackConfig
from berth.planner.account import Account
from berth.planner.errors import PlanError
from berth.planner.make_plan import make_plan
from berth.planner.plan import Plan

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"

NEW_CLUSTER = {"kubernetes_version": "1.35", "endpoint": "private"}
EXISTING_CLUSTER = {"kubeconfig": "~/.kube/config", "context": "lab"}
BLOCK = {
    "type": "CAPACITY_BLOCK",
    "reservation_id": "cr-0123456789abcdef0",
    "availability_zone": "us-east-1b",
    "starts_at": "2026-11-20T11:30:00Z",
    "ends_at": "2027-01-29T11:30:00Z",
    "instance_count": 2,
}


def an_l4_tier(**changes: Any) -> dict[str, Any]:
    """Up to two g6.xlarge on demand."""
    tier = {"instance_type": "g6.xlarge", "capacity": {"type": "ON_DEMAND"}, "max_nodes": 2}
    return tier | changes


def an_h100_tier(**changes: Any) -> dict[str, Any]:
    """Up to two p5.48xlarge of a Capacity Block."""
    tier = {"instance_type": "p5.48xlarge", "capacity": BLOCK, "min_nodes": 1, "max_nodes": 2}
    return tier | changes


def an_existing_tier(**changes: Any) -> dict[str, Any]:
    """Two nodes of eight MI300X that somebody else runs."""
    tier = {"source": "existing", "gpu": "MI300X", "gpus_per_node": 8, "nodes": 2}
    return tier | changes


def an_8b(**changes: Any) -> dict[str, Any]:
    """Llama 8B on the L4 tier."""
    return {"model": LLAMA_8B, "tier": "l4", "max_model_len": 8192} | changes


def a_70b(**changes: Any) -> dict[str, Any]:
    """Llama 70B on the H100 tier, two GPUs per replica in FP8."""
    server = {"model": LLAMA_70B, "tier": "h100", "quantization": "fp8", "max_model_len": 16384}
    return server | changes


def a_stack(**changes: Any) -> StackConfig:
    """One 8B server on one L4 tier of a new cluster in us-east-1, in dev."""
    stack = {
        "region": "us-east-1",
        "environment": "dev",
        "as_of": date(2026, 11, 30),
        "cluster": NEW_CLUSTER,
        "tiers": {"l4": an_l4_tier()},
        "models": {"chat": an_8b()},
    }
    return StackConfig.model_validate(stack | changes)


def planned(catalog: Catalog | None = None, /, **changes: Any) -> Plan:
    """The plan of `a_stack(**changes)`, by the shipped catalog if no other is given."""
    config = a_stack(**changes)
    catalog = catalog or load_catalog()
    return make_plan(config, catalog, Account.assumed(config.region, catalog))


def refusal(catalog: Catalog | None = None, /, **changes: Any) -> tuple[str, ...]:
    """The lines with which `a_stack(**changes)` is refused; none where it is planned."""
    try:
        planned(catalog, **changes)
    except PlanError as error:
        return error.lines
    return ()
