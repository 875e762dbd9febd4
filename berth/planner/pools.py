"""How replicas share the nodes of a tier, how many nodes that takes, and what a rollout finds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from berth.config.capacity import CapacityBlock, ReservedCapacity
from berth.config.stack import EksTier, TierConfig
from berth.planner.errors import problem
from berth.planner.host import ROOT_DISK_TAKEN_GIB, disk_gib, root_disk_gib
from berth.planner.tiers import Tier

Rollout = Literal["surge", "one_by_one", "recreate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one model server asks of its tier."""

    server: str
    gpus_per_replica: int
    replicas: int
    model_cache_gib: int
    """Of each node that a replica is on."""
    nodes_per_replica: int = 1
    """Above 1, a replica takes all GPUs of so many nodes."""

    @property
    def gpus_per_pod(self) -> int:
        """GPUs of a replica on one node."""
        return self.gpus_per_replica // self.nodes_per_replica

    @property
    def pods(self) -> int:
        """Of all replicas: one on each node that a replica takes."""
        return self.replicas * self.nodes_per_replica

    @property
    def words(self) -> str:
        """Such as `chat 4 x 2 GPUs`."""
        return f"{self.server} {self.replicas} x {gpu_words(self.gpus_per_replica)}"

    def with_replicas(self, replicas: int) -> Self:
        """The same with another number of replicas."""
        return self if replicas == self.replicas else replace(self, replicas=replicas)


def gpu_words(count: int) -> str:
    """A number of GPUs in words."""
    return f"{count} GPU" if count == 1 else f"{count} GPUs"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledNodes:
    """Nodes with the same replicas on them."""

    nodes: int
    free_gpus: int
    """Per node, asked for by no replica."""
    pods: tuple[tuple[Demand, int], ...] = ()
    """Servers on each of these nodes, with the pods of each."""

    def with_pods(self, nodes: int, demand: Demand, pods: int) -> Self:
        """`nodes` of these, with so many pods more on each."""
        return replace(
            self,
            nodes=nodes,
            free_gpus=self.free_gpus - pods * demand.gpus_per_pod,
            pods=(*self.pods, (demand, pods)),
        )


def pack(demands: Sequence[Demand], gpus_per_node: int, at_least_nodes: int) -> list[FilledNodes]:
    """Put every pod on the first node with enough free GPUs, the largest first.

    A pod never spans nodes. This needs no more nodes than any other way while the sizes are powers
    of two.
    """
    filled = [FilledNodes(nodes=at_least_nodes, free_gpus=gpus_per_node)] if at_least_nodes else []
    for demand in sorted(demands, key=lambda each: (-each.gpus_per_pod, each.server)):
        left = demand.pods
        next_filled: list[FilledNodes] = []
        for group in filled:
            parts = _fill(group, demand, left)
            left -= sum(part.nodes * _pods_of(part, demand) for part in parts)
            next_filled.extend(parts)
        if left:
            per_node = gpus_per_node // demand.gpus_per_pod
            empty = FilledNodes(nodes=-(-left // per_node), free_gpus=gpus_per_node)
            next_filled.extend(_fill(empty, demand, left))
        filled = next_filled
    return filled


def _fill(group: FilledNodes, demand: Demand, pods: int) -> list[FilledNodes]:
    """`group` after taking as many of `pods` as it can, its full nodes first."""
    per_node = group.free_gpus // demand.gpus_per_pod
    if per_node == 0 or pods == 0:
        return [group]
    full = min(group.nodes, pods // per_node)
    rest = (pods - full * per_node) if full < group.nodes else 0
    empty = group.nodes - full - (1 if rest else 0)
    parts = []
    if full:
        parts.append(group.with_pods(full, demand, per_node))
    if rest:
        parts.append(group.with_pods(1, demand, rest))
    if empty:
        parts.append(replace(group, nodes=empty))
    return parts


def _pods_of(group: FilledNodes, demand: Demand) -> int:
    return sum(count for each, count in group.pods if each is demand)


def node_count(filled: Sequence[FilledNodes]) -> int:
    """All nodes, with replicas and without."""
    return sum(group.nodes for group in filled)


def rollout(demand: Demand, filled: Sequence[FilledNodes]) -> Rollout:
    """How a new version comes up where nothing adds nodes by itself.

    With enough nodes that have enough free GPUs the new replica starts first; without, the old one
    ends first, and a single replica leaves a gap.
    """
    spare = sum(group.nodes for group in filled if group.free_gpus >= demand.gpus_per_pod)
    if spare >= demand.nodes_per_replica:
        return "surge"
    return "one_by_one" if demand.replicas >= 2 else "recreate"


def needed_cache_gib(filled: Sequence[FilledNodes]) -> int:
    """Downloaded weights of the fullest node."""
    return max(
        (sum(demand.model_cache_gib * count for demand, count in group.pods) for group in filled),
        default=0,
    )


def check_disk(
    tier: Tier, config: TierConfig, filled: Sequence[FilledNodes], problems: list[str]
) -> None:
    """Add a line if the weights that the replicas of one node download do not fit on its disk."""
    if tier.instance is None or not isinstance(config, EksTier):
        return
    needed = needed_cache_gib(filled)
    disk = disk_gib(tier.instance, config.root_disk_gib or root_disk_gib(tier.instance, needed))
    if needed <= disk:
        return
    fix = "name an instance type with larger local disks"
    if not tier.instance.local_nvme_gb:
        fix = f"raise root_disk_gib to {needed + ROOT_DISK_TAKEN_GIB}, or leave it out"
    problems.append(
        problem(
            f"berth:tiers.{tier.name}.instance_type",
            f"the servers of one {tier.instance_type} download {needed} GiB of weights, two "
            f"revisions each, and its disks have {disk} GiB for them",
            fix,
        )
    )


def check_nodes(
    tier: Tier,
    config: TierConfig,
    demands: Sequence[Demand],
    filled: Sequence[FilledNodes],
    problems: list[str],
) -> None:
    """Add a line if the replicas need more nodes than the tier may have, or half of one runs."""
    _check_halves(tier, config, demands, problems)
    needed = node_count(filled)
    if needed <= max(tier.max_nodes, tier.min_nodes):
        return
    words = ", ".join(each.words for each in demands if each.replicas)
    limit = "max_nodes" if isinstance(config, EksTier) else "nodes"
    fix = f"raise {limit} to {needed} or lower the replicas"
    bought = config.capacity if isinstance(config, EksTier) else None
    if isinstance(bought, CapacityBlock | ReservedCapacity) and needed > bought.instance_count:
        owner = "block" if isinstance(bought, CapacityBlock) else "reservation"
        fix = f"lower the replicas or name a {owner} of {needed} instances"
    problems.append(
        problem(
            f"berth:tiers.{tier.name}.{limit}",
            f"{words} need {needed} nodes of {gpu_words(tier.gpus_per_node)}, "
            f"but {limit} is {tier.max_nodes}",
            fix,
        )
    )


def _check_halves(
    tier: Tier, config: TierConfig, demands: Sequence[Demand], problems: list[str]
) -> None:
    """Add a line if nodes stay up that are too few for any replica on the tier."""
    fewest = min((each.nodes_per_replica for each in demands if each.replicas), default=1)
    if isinstance(config, EksTier) and 0 < tier.min_nodes < fewest:
        problems.append(
            problem(
                f"berth:tiers.{tier.name}.min_nodes",
                f"{tier.min_nodes} keeps a part of a replica running, which takes {fewest} nodes",
                f"set it to 0, or to {fewest} or more",
            )
        )
