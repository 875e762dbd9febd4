"""On which nodes a pod may run, and what they have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from berth.catalog.gpu import Gpu
from berth.rules.stack_view.accelerators import Accelerator, vendor_of_key
from berth.rules.stack_view.instances import Accelerators
from berth.rules.stack_view.placement import candidate_pools, named_instance_types
from berth.rules.stack_view.pod import Pod
from berth.rules.stack_view.pool import Pool
from berth.rules.stack_view.tolerations import not_tolerated
from berth.rules.unknown import KnownAfterApplyError

INSTANCE_TYPE_OPTION = {
    "instanceType": {
        "type": "string",
        "description": "EC2 type of the nodes of pods for which the stack does not show any.",
    }
}
"""Setting of rules that judge by what nodes have."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """One group of nodes that a pod may be put on."""

    pool: Pool | None
    kinds: tuple[tuple[str, Accelerator], ...]
    """Instance types with what each has; a pod may get any of them."""

    @property
    def gpus(self) -> tuple[tuple[str, Gpu], ...]:
        """Instance types whose GPU model is known."""
        return tuple((name, node.gpu) for name, node in self.kinds if node.gpu)


def nodes_of(
    pod: Pod, pools: Sequence[Pool], accelerators: Accelerators, options: Mapping[str, Any]
) -> tuple[Nodes, ...]:
    """The groups of nodes that a pod may be put on; empty: nobody can say from the stack.

    Args:
        pod: the pod template.
        pools: all pools of the stack.
        accelerators: what instance types have.
        options: settings of the rule that asks.

    Raises:
        KnownAfterApplyError: if that rests on what is known after apply.
    """
    wanted = _wanted(pod)
    stated = named_instance_types(pod.spec)
    if stated:
        kinds = [(name, accelerators[name]) for name in stated if name in accelerators]
        pool = next(iter(pools_for(pod, pools)), None)
        return (Nodes(pool, _that_hold(kinds, wanted)),) if len(kinds) == len(stated) else ()
    found = [
        Nodes(pool, _that_hold([(n, accelerators[n]) for n in pool.gpu_types], wanted))
        if pool.kind == "node pool"
        else Nodes(pool, tuple((n, accelerators[n]) for n in pool.gpu_types))
        for pool in pools_for(pod, pools)
    ]
    if found:
        is_known = all(nodes.pool is not None and nodes.pool.names_its_gpus for nodes in found)
        return tuple(nodes for nodes in found if nodes.kinds) if is_known else ()
    configured = options.get("instanceType")
    if isinstance(configured, str) and configured in accelerators:
        return (Nodes(None, ((configured, accelerators[configured]),)),)
    return ()


def pools_for(pod: Pod, pools: Sequence[Pool]) -> tuple[Pool, ...]:
    """The GPU pools that a pod is sure to fit by labels and taints; empty if there is doubt.

    Raises:
        KnownAfterApplyError: if that rests on what is known after apply.
    """
    vendors = frozenset(vendor_of_key(key) for c in pod.containers for key in c.asked_keys)
    candidates = candidate_pools(pod.spec, pools, vendors)
    tolerations = pod.spec.at("tolerations")
    entered = [
        pool
        for pool in candidates.certain
        if not (pool.taints and not_tolerated(pool.taints, tolerations))
    ]
    if candidates.possible:
        for pool in candidates.possible:
            _require_known_types(pool)
        return ()
    return tuple(entered) or candidates.certain


def _require_known_types(pool: Pool) -> None:
    if pool.kind == "node group" and pool.body.at("launchTemplate", "id").is_unknown:
        raise KnownAfterApplyError(f"instance type of pool {pool.name}")


def _wanted(pod: Pod) -> int:
    asked = pod.gpus_by_key or {}
    return max((n for key, n in asked.items() if not key.startswith("nvidia.com/mig-")), default=0)


def _that_hold(
    kinds: Sequence[tuple[str, Accelerator]], wanted: int
) -> tuple[tuple[str, Accelerator], ...]:
    """The nodes large enough for a pod, where the scheduler chooses the size; else all."""
    return tuple(kind for kind in kinds if kind[1].count >= wanted) or tuple(kinds)
