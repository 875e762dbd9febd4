"""Nodes that a stack finds instead of making them: hybrid hosts and clusters that exist."""

from berth.catalog.load import Catalog
from berth.planner.plan import Plan, PoolPlan
from berth.rehearsal.addons import COMPUTE_TYPE
from berth.rehearsal.node import (
    ROLE_LABEL,
    TIER_LABEL,
    Node,
    gpu_labels,
    host_size,
    instance_id,
    instance_size,
)

TAINT_VALUE = "present"
PLAIN_NODE_TYPE = "m7i.large"
PLAIN_NODES = 2


def given_nodes(plan: Plan, catalog: Catalog) -> list[Node]:
    """The nodes of tiers whose nodes exist, and plain ones where the stack makes none."""
    pools = [pool for pool in plan.pools.values() if pool.source != "eks"]
    nodes = [_host(pool, number, catalog) for pool in pools for number in range(pool.max_nodes)]
    if plan.system_pool is None:
        nodes += [_plain(number, catalog) for number in range(PLAIN_NODES)]
    return nodes


def _host(pool: PoolPlan, number: int, catalog: Catalog) -> Node:
    """With the labels and the taint that its owner gives it, or that its NodeConfig states."""
    name = f"{pool.tier}-{number + 1}"
    labels = {TIER_LABEL: pool.tier}
    provider_id = ""
    if pool.source == "hybrid":
        labels |= {ROLE_LABEL: "gpu", COMPUTE_TYPE: "hybrid"}
        provider_id = f"eks-hybrid:///{instance_id(name).replace('i-', 'mi-')}"
    return Node(
        name=name,
        size=host_size(pool.gpus_per_node, pool.gpu_resource, pool.vcpus_per_node),
        labels={
            **gpu_labels(catalog.gpus[pool.gpu], pool.gpus_per_node),
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "arm64" if pool.cpu_arch == "arm64" else "amd64",
            **labels,
        },
        taints=[{"key": pool.gpu_resource, "value": TAINT_VALUE, "effect": "NoSchedule"}],
        provider_id=provider_id,
    )


def _plain(number: int, catalog: Catalog) -> Node:
    name = f"plain-{number + 1}"
    return Node(
        name=name,
        size=instance_size(catalog.instances[PLAIN_NODE_TYPE], 20, 0, {}),
        labels={
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        },
    )
