"""Hand-made plans; a test names only what it is about."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from berth.config.stack import (
    CapacityBlock,
    ExistingCluster,
    NewCluster,
    OnDemandCapacity,
    PublicEndpoint,
)
from berth.planner.plan import (
    GpuSoftware,
    MemoryPlan,
    NetworkPlan,
    Plan,
    PoolPlan,
    ServerPlan,
    SystemPool,
)

AS_OF = date(2026, 11, 30)

BLOCK = CapacityBlock(
    type="CAPACITY_BLOCK",
    reservation_id="cr-0123456789abcdef0",
    availability_zone="us-east-1b",
    starts_at=datetime(2026, 11, 20, 11, 30, tzinfo=UTC),
    ends_at=datetime(2027, 1, 29, 11, 30, tzinfo=UTC),
    instance_count=2,
)

ON_DEMAND = OnDemandCapacity(type="ON_DEMAND")

MEMORY = MemoryPlan(
    visible_gib=79.18,
    requested_gib=72.85,
    weights_gib=33.9,
    non_torch_gib=0.6,
    activation_peak_gib=2.4,
    cuda_graphs_gib=0.8,
    kv_cache_gib=35.1,
    kv_cache_tokens=230_000,
    max_concurrency=14.0,
    needed_kv_gib=2.5,
    error_gib=1.6,
    cold_start_extra_gib=1.0,
)


def a_server(**changes: Any) -> ServerPlan:
    """Llama 70B in FP8 on two H100s."""
    server = ServerPlan(
        name="chat",
        model="meta-llama/Llama-3.3-70B-Instruct",
        tier="h100",
        gpu="H100-SXM-80GB",
        instance_type="p5.48xlarge",
        quantization="fp8",
        kv_cache_dtype="auto",
        tensor_parallel_size=2,
        pipeline_parallel_size=1,
        gpus_per_replica=2,
        replicas=2,
        nodes=1,
        fits=True,
        reasons=(),
        memory=MEMORY,
        vllm_args=(
            "--model",
            "meta-llama/Llama-3.3-70B-Instruct",
            "--tensor-parallel-size",
            "2",
            "--shutdown-timeout",
            "60",
        ),
        vllm_version="0.32.0",
        image="vllm/vllm-openai:v0.32.0",
        gpu_resource="nvidia.com/gpu",
        max_model_len=16384,
        max_num_seqs=256,
        weights_bytes=72_700_000_000,
        cpu_request_cores=32,
        host_memory_request_gib=128,
        shm_gib=16,
        model_cache_gib=100,
        startup_budget_s=1795,
        rollout="surge",
    )
    return replace(server, **changes)


def a_pool(**changes: Any) -> PoolPlan:
    """One or two p5.48xlarge of a Capacity Block."""
    pool = PoolPlan(
        tier="h100",
        source="eks",
        gpu="H100-SXM-80GB",
        gpu_vendor="nvidia",
        gpu_resource="nvidia.com/gpu",
        gpus_per_node=8,
        instance_type="p5.48xlarge",
        accelerator="nvidia-h100",
        capacity=BLOCK,
        ami_type="AL2023_x86_64_NVIDIA",
        root_disk_gib=200,
        local_nvme=True,
        min_nodes=1,
        planned_nodes=1,
        max_nodes=2,
        gpus_requested=4,
        cpu_arch="x86_64",
    )
    return replace(pool, **changes)


def an_l4_pool(**changes: Any) -> PoolPlan:
    """Up to four g6.xlarge on demand."""
    l4 = {
        "tier": "l4",
        "gpu": "L4",
        "gpus_per_node": 1,
        "instance_type": "g6.xlarge",
        "accelerator": "nvidia-l4",
        "capacity": ON_DEMAND,
        "min_nodes": 0,
        "planned_nodes": 1,
        "max_nodes": 4,
        "gpus_requested": 1,
    }
    return a_pool(**(l4 | changes))


def an_existing_pool(**changes: Any) -> PoolPlan:
    """Two hosts of eight MI300X that somebody else runs."""
    mi300x = {
        "tier": "mi300x",
        "source": "existing",
        "gpu": "MI300X",
        "gpu_vendor": "amd",
        "gpu_resource": "amd.com/gpu",
        "instance_type": None,
        "accelerator": None,
        "capacity": None,
        "ami_type": None,
        "root_disk_gib": None,
        "local_nvme": False,
        "min_nodes": 2,
        "planned_nodes": 2,
    }
    return a_pool(**(mi300x | changes))


def a_plan(**changes: Any) -> Plan:
    """A new cluster in two zones with one tier and one server."""
    plan = Plan(
        environment="prod",
        region="us-east-1",
        as_of=AS_OF,
        cluster=NewCluster(
            kubernetes_version="1.35",
            endpoint=PublicEndpoint(public_cidrs=("203.0.113.0/24",)),
            admin_role_arns=("arn:aws:iam::111122223333:role/team/PlatformAdmin",),
        ),
        network=NetworkPlan(
            cidr="10.40.0.0/16",
            zones=("us-east-1a", "us-east-1b"),
            nat_gateways=1,
            interface_endpoints=("ecr.api", "ecr.dkr"),
        ),
        system_pool=SystemPool(instance_type="m7i.large", nodes=2),
        gpu_software=GpuSoftware(gpu_operator_version="v26.3.3"),
        pools={"h100": a_pool()},
        servers={"chat": a_server()},
        usd_per_gpu_hour={},
        budget=None,
    )
    return replace(plan, **changes)


def an_existing_plan(**changes: Any) -> Plan:
    """One server on MI300X in a cluster that exists."""
    existing = {
        "region": None,
        "cluster": ExistingCluster(kubeconfig="~/.kube/config", context="mi300x"),
        "network": None,
        "system_pool": None,
        "gpu_software": None,
        "pools": {"mi300x": an_existing_pool()},
        "servers": {
            "chat": a_server(
                tier="mi300x",
                gpu="MI300X",
                instance_type=None,
                gpu_resource="amd.com/gpu",
                image="vllm/vllm-openai-rocm:v0.31.0",
            )
        },
    }
    return a_plan(**(existing | changes))
