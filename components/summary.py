"""What a preview or an update says first: the plan and its money, in a few lines."""

from collections.abc import Iterator, Sequence

from berth.costs.estimate import Estimate, OneOff, Total
from berth.costs.money import per_hour, with_commas
from berth.planner.plan import Plan, PoolPlan, ServerPlan
from berth.planner.start import StartFinding
from components import naming
from components.capacity import has_nodes


def summary(
    plan: Plan, costs: Estimate, has_token: bool, start: Sequence[StartFinding] = ()
) -> list[str]:
    """One line per server and tier, the recurring money, what is paid once, and what is to do."""
    return [
        *(_server(server) for server in plan.servers.values()),
        *(_pool(pool) for pool in plan.pools.values()),
        _recurring(costs),
        *(_paid_once(each) for each in costs.one_off),
        *(
            f"tier {each.tier} cannot start: {each.problem}; {each.fix}"
            for each in start
            if not each.ok
        ),
        *_to_do(plan, has_token),
    ]


def _server(server: ServerPlan) -> str:
    return (
        f"server {server.name}: {server.model}, {server.quantization}, {server.replicas} x "
        f"{server.gpus_per_replica} GPUs on tier {server.tier}, KV cache for "
        f"{server.memory.kv_cache_tokens:,} tokens"
    )


def _pool(pool: PoolPlan) -> str:
    capacity = f", {pool.capacity.type}" if pool.capacity else ", existing nodes"
    return (
        f"tier {pool.tier}: {pool.instance_type or pool.gpu}{capacity}, nodes {pool.min_nodes} / "
        f"{pool.planned_nodes} / {pool.max_nodes} (min, planned, max)"
    )


def _recurring(costs: Estimate) -> str:
    at_least = "at least " if costs.at_least else ""
    totals = (("floor", costs.floor), ("plan", costs.plan), ("ceiling", costs.ceiling))
    return f"cost: {at_least}" + "; ".join(f"{name} {_money(total)}" for name, total in totals)


def _money(total: Total) -> str:
    hour, month = per_hour(total.usd_per_hour), with_commas(total.usd_per_month)
    return f"{hour} USD an hour, {month} a month"


def _paid_once(one_off: OneOff) -> str:
    refund = "refundable" if one_off.refundable else "no refund"
    return (
        f"paid once: {one_off.name}, {with_commas(one_off.usd)} USD for "
        f"{one_off.starts_at:%Y-%m-%d %H:%M} to {one_off.ends_at:%Y-%m-%d %H:%M} UTC, {refund}"
    )


def _to_do(plan: Plan, has_token: bool) -> Iterator[str]:
    if not has_token:
        yield (
            f"Secret {naming.MODEL_NAMESPACE}/{naming.HF_TOKEN_SECRET}: not made by this stack; "
            "`pulumi config set --secret berth:hf_token` makes it, else create it with the key "
            f"{naming.HF_TOKEN_KEY}"
        )
    over_nodes = [server for server in plan.servers.values() if server.nodes_per_replica > 1]
    if over_nodes and plan.group_controller_version is None:
        yield (
            "LeaderWorkerSet: not installed by this stack; have it in the cluster, or put "
            "leader-worker-set into berth:cluster.install"
        )
    for server in over_nodes:
        if plan.pools[server.tier].efa_interfaces:
            yield (
                f"server {server.name}: {server.image} must hold libfabric and aws-ofi-nccl, else "
                "its pods talk over TCP; vLLM's own image has neither, so give "
                f"berth:models.{server.name}.image"
            )
    for pool in plan.pools.values():
        if pool.mig_profile and plan.gpu_software is None:
            yield (
                f"tier {pool.tier}: the cluster's own GPU Operator cuts its GPUs into "
                f"{pool.mig_profile}; it needs migManager and the strategy single"
            )
        if pool.source == "existing":
            yield (
                f"tier {pool.tier}: pods go to nodes with the label "
                f"{naming.TIER_LABEL}={pool.tier}, which their owner sets"
            )
        elif not has_nodes(pool, plan.as_of):
            yield f"tier {pool.tier}: its block is not open on {plan.as_of}, so no node is started"
