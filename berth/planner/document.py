"""A plan as the JSON that others read; its shape is a contract."""

from dataclasses import asdict
from typing import Any

from berth.planner.plan import MemoryPlan, Plan, PoolPlan, ServerPlan, SpeedPlan, StartupPlan
from berth.planner.startup import plan_startup


def server_document(server: ServerPlan) -> dict[str, Any]:
    """One model server as chosen; sizes in GiB per GPU."""
    return {
        "gpu": server.gpu,
        "instance_type": server.instance_type,
        "tier": server.tier,
        "tier_replicas": dict(server.tier_replicas),
        "quantization": server.quantization,
        "kv_cache_dtype": server.kv_cache_dtype,
        "tensor_parallel_size": server.tensor_parallel_size,
        "pipeline_parallel_size": server.pipeline_parallel_size,
        "gpus_per_replica": server.gpus_per_replica,
        "nodes_per_replica": server.nodes_per_replica,
        "replicas": server.replicas,
        "nodes": server.nodes,
        "fits": server.fits,
        "reasons": list(server.reasons),
        "memory": memory_document(server.memory),
        "speed": None if server.speed is None else speed_document(server.speed),
        "startup": startup_document(plan_startup(server.weights_bytes)),
        "vllm_args": list(server.vllm_args),
    }


def memory_document(memory: MemoryPlan) -> dict[str, Any]:
    """The memory of one GPU, rounded to 0.01 GiB; tokens are whole."""
    return {
        name: round(value, 2) if isinstance(value, float) else value
        for name, value in asdict(memory).items()
    }


def speed_document(speed: SpeedPlan) -> dict[str, Any]:
    """The speed of all replicas, rounded to what the model can know."""
    return {
        name: round(value, 2) if isinstance(value, float) else value
        for name, value in asdict(speed).items()
    }


def startup_document(startup: StartupPlan) -> dict[str, int]:
    """Seconds of one start."""
    return asdict(startup)


def pool_document(pool: PoolPlan) -> dict[str, int]:
    """How many nodes a tier has."""
    return {
        "min_nodes": pool.min_nodes,
        "planned_nodes": pool.planned_nodes,
        "max_nodes": pool.max_nodes,
    }


def plan_document(plan: Plan) -> dict[str, Any]:
    """All servers and pools by their stack keys."""
    return {
        "servers": {name: server_document(server) for name, server in plan.servers.items()},
        "pools": {name: pool_document(pool) for name, pool in plan.pools.items()},
    }
