"""Servers that may run on several tiers: which fills first, and what the autoscaler is told."""

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from berth.config.stack import StackConfig
from berth.planner.errors import problem
from berth.planner.pools import Demand, node_count, pack
from berth.planner.tiers import Tier


def check_lists(config: StackConfig, tiers: Mapping[str, Tier], problems: list[str]) -> None:
    """Add a line for each tier in a list on which the planned pod would be another one."""
    for name, model in config.models.items():
        first, *others = model.tiers
        if first not in tiers:
            continue
        shape = _shape(tiers[first])
        for index, other in enumerate(others, start=1):
            if other in tiers and _shape(tiers[other]) != shape:
                problems.append(
                    problem(
                        f"berth:models.{name}.tier[{index}]",
                        f"{other} is {tiers[other].node_words}, and {first} is "
                        f"{tiers[first].node_words}",
                        "list tiers with the same GPUs and CPU, on which one pod fits",
                    )
                )


def _shape(tier: Tier) -> tuple[object, ...]:
    arch = tier.instance.cpu_arch if tier.instance else None
    return tier.gpu_key, tier.gpus_per_node, arch


def priorities(config: StackConfig, problems: list[str]) -> Mapping[str, int]:
    """A number for each tier in a list of several; the autoscaler grows the highest first.

    Lists that contradict each other get a line in `problems`.
    """
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for model in config.models.values():
        for better, worse in zip(model.tiers, model.tiers[1:], strict=False):
            sorter.add(better, worse)
    try:
        worst_first = list(sorter.static_order())
    except CycleError as error:
        circle = " before ".join(reversed(error.args[1]))
        what = f"the lists of the servers contradict each other: {circle}"
        problems.append(problem("berth:models", what, "list the tiers in one order everywhere"))
        return {}
    order = {tier: position for position, tier in enumerate(config.tiers)}
    depth: dict[str, int] = {}
    for tier in worst_first:
        below = [
            depth[model.tiers[index + 1]]
            for model in config.models.values()
            for index, each in enumerate(model.tiers[:-1])
            if each == tier
        ]
        depth[tier] = 1 + max(below, default=0)
    return {tier: depth[tier] * 10 for tier in sorted(depth, key=lambda each: order.get(each, 0))}


def shared_out(
    demands: Mapping[str, Demand], config: StackConfig, tiers: Mapping[str, Tier]
) -> Mapping[str, list[Demand]]:
    """What each tier is asked for: of a list, each tier as much as fits, the last one the rest."""
    asked: dict[str, list[Demand]] = {name: [] for name in tiers}
    single = [name for name in demands if len(config.models[name].tiers) == 1]
    several = [name for name in demands if name not in single]
    for name in (*single, *several):
        demand, left = demands[name], demands[name].replicas
        listed = [tier for tier in config.models[name].tiers if tier in tiers]
        for tier in listed:
            last = tier == listed[-1]
            fits = left if last else _most(demand, left, asked[tier], tiers[tier])
            if fits or last:
                asked[tier].append(demand.with_replicas(fits))
            left -= fits
    return asked


def _most(demand: Demand, left: int, others: list[Demand], tier: Tier) -> int:
    """Replicas that still fit into the most nodes that the tier may have."""
    low, high = 0, left
    while low < high:
        middle = (low + high + 1) // 2
        filled = pack([*others, demand.with_replicas(middle)], tier.gpus_per_node, 0)
        if node_count(filled) <= tier.max_nodes:
            low = middle
        else:
            high = middle - 1
    return low
