"""Any stack that can be read is planned or refused in words; nothing else is ever raised."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from berth.catalog.load import load_catalog
from berth.config.stack import StackConfig
from berth.costs.document import estimate_document
from berth.costs.from_plan import estimate
from berth.costs.render import estimate_lines
from berth.planner.account import Account
from berth.planner.errors import PlanError
from berth.planner.make_plan import make_plan
from berth.planner.plan import Plan
from tests.unit.planner.stacks import EXISTING_CLUSTER, LLAMA_8B, LLAMA_70B, NEW_CLUSTER

CATALOG = load_catalog()
NAMES = st.sampled_from(["a", "b", "c"])
WORDS = st.text("abcXYZ019.-", min_size=1)
COUNTS = st.one_of(st.integers(0, 9), st.integers(0, 1000))
MOMENTS = st.datetimes(
    datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)
) | st.integers(-400, 400).map(lambda days: datetime(2026, 11, 30, tzinfo=UTC) + timedelta(days))

BLOCKS = st.fixed_dictionaries(
    {
        "type": st.just("CAPACITY_BLOCK"),
        "reservation_id": st.sampled_from(["cr-0123456789abcdef0", "cr-0123456789abcdef1"]),
        "availability_zone": st.sampled_from(["us-east-1b", "eu-west-1a", "xx-north-1z"]),
        "starts_at": MOMENTS,
        "ends_at": MOMENTS,
        "instance_count": st.integers(1, 64),
    },
    optional={"fee_usd": st.decimals("0.01", 1_000_000, places=2)},
)
EKS_TIERS = st.fixed_dictionaries(
    {
        "instance_type": st.sampled_from(sorted(CATALOG.instances)) | WORDS,
        "capacity": st.just({"type": "ON_DEMAND"}) | BLOCKS,
        "max_nodes": st.integers(1, 1000),
    },
    optional={"min_nodes": COUNTS},
)
EXISTING_TIERS = st.fixed_dictionaries(
    {
        "source": st.just("existing"),
        "gpu": st.sampled_from([*sorted(CATALOG.gpus), "H100", "TPU"]) | WORDS,
        "gpus_per_node": st.integers(1, 16),
        "nodes": st.integers(1, 1000),
    },
    optional={"usd_per_gpu_hour": st.decimals("0.01", 1_000, places=4)},
)
MODELS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(sorted(CATALOG.models)) | st.sampled_from([LLAMA_8B, LLAMA_70B]),
        "tier": NAMES,
    },
    optional={
        "quantization": st.sampled_from(["auto", "none", "fp8"]),
        "kv_cache_dtype": st.sampled_from(["auto", "fp8"]),
        "max_model_len": st.integers(1, 200_000),
        "max_num_seqs": st.integers(1, 100_000),
        "max_num_batched_tokens": st.integers(1, 1_000_000),
        "gpu_memory_utilization": st.floats(0.01, 1),
        "tensor_parallel_size": st.integers(1, 16),
        "replicas": COUNTS,
    },
)
ANY_STACKS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "region": st.sampled_from([None, "us-east-1", "eu-west-1", "us-west-2", "xx-north-1"]),
        "environment": st.sampled_from(["dev", "prod"]),
        "as_of": st.dates(date(2026, 1, 1), date(2027, 12, 31)) | st.dates(),
        "cluster": st.sampled_from([NEW_CLUSTER, EXISTING_CLUSTER]),
        "tiers": st.dictionaries(NAMES, EKS_TIERS | EXISTING_TIERS, min_size=1),
        "models": st.dictionaries(NAMES, MODELS, min_size=1, max_size=2),
    }
)


@st.composite
def sound_stacks(draw: st.DrawFn) -> dict[str, Any]:
    """Stacks whose parts go together, so that what is refused is refused for its numbers."""
    makes_cluster = draw(st.booleans())
    gpu_types = [name for name, each in sorted(CATALOG.instances.items()) if each.gpu]
    eks_tiers = st.fixed_dictionaries(
        {
            "instance_type": st.sampled_from(gpu_types),
            "capacity": st.just({"type": "ON_DEMAND"}),
            "min_nodes": st.integers(0, 3),
            "max_nodes": st.integers(3, 1000),
        }
    )
    existing_tiers = st.fixed_dictionaries(
        {
            "source": st.just("existing"),
            "gpu": st.sampled_from(["H100", "H200", "B200", "MI300X", "MI355X", "L40S"]),
            "gpus_per_node": st.integers(1, 16),
            "nodes": st.integers(1, 1000),
        }
    )
    tiers = st.dictionaries(NAMES, eks_tiers if makes_cluster else existing_tiers, min_size=1)
    servers = st.fixed_dictionaries(
        {
            "model": st.sampled_from(sorted(CATALOG.models)),
            "tier": st.sampled_from(sorted(drawn := draw(tiers))),
            "max_model_len": st.integers(1, 8192),
            "replicas": st.integers(0, 9),
        },
        optional={
            "quantization": st.sampled_from(["none", "fp8"]),
            "kv_cache_dtype": st.just("fp8"),
            "max_num_seqs": st.integers(1, 256),
            "gpu_memory_utilization": st.floats(0.8, 0.95),
            "tensor_parallel_size": st.sampled_from([1, 2, 3, 4, 8]),
        },
    )
    return {
        "region": "us-east-1" if makes_cluster else None,
        "environment": draw(st.sampled_from(["dev", "prod"])),
        "as_of": date(2026, 11, 30),
        "cluster": NEW_CLUSTER if makes_cluster else EXISTING_CLUSTER,
        "tiers": drawn,
        "models": draw(st.dictionaries(NAMES, servers, min_size=1)),
    }


STACKS = sound_stacks() | ANY_STACKS


def plan_or_lines(config: StackConfig) -> tuple[Plan | None, tuple[str, ...]]:
    """The plan, or the lines of the refusal."""
    try:
        return make_plan(config, CATALOG, Account.assumed(config.region, CATALOG)), ()
    except PlanError as error:
        return None, error.lines


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STACKS)
def test_a_stack_is_planned_and_priced_or_refused_in_words(stack: dict[str, Any]) -> None:
    config = StackConfig.model_validate(stack)

    plan, lines = plan_or_lines(config)

    assert (plan is None) == bool(lines)
    assert all(line.startswith(("aws:", "berth:")) for line in lines)
    if plan is None:
        return
    assert set(plan.servers) == set(config.models)
    assert all(server.fits for server in plan.servers.values())
    assert all(pool.planned_nodes <= pool.max_nodes for pool in plan.pools.values())
    priced = estimate(plan, CATALOG)
    assert priced.floor.usd_per_hour <= priced.plan.usd_per_hour <= priced.ceiling.usd_per_hour
    assert estimate_document(priced)["total"]
    assert estimate_lines(priced)
