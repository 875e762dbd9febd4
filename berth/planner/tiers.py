"""What the nodes of each tier hold, and everything that is wrong with a tier as written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from difflib import get_close_matches

from berth.catalog.gpu import Gpu, find_gpu
from berth.catalog.instance import Instance
from berth.catalog.load import Catalog
from berth.config.stack import (
    CapacityBlock,
    EksTier,
    ExistingCluster,
    ExistingTier,
    NewCluster,
    StackConfig,
)
from berth.planner.account import Account
from berth.planner.errors import problem
from berth.planner.moment import moment_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A pool of identical nodes, with the catalog's entries for what they hold."""

    name: str
    gpu_key: str
    gpu: Gpu
    gpus_per_node: int
    instance_type: str | None
    """None on nodes that the stack does not make."""
    instance: Instance | None
    """None on nodes that the stack does not make."""
    min_nodes: int
    max_nodes: int

    @property
    def node_words(self) -> str:
        """One node for a person, such as `p5.48xlarge (8 x H100-SXM-80GB)`."""
        gpus = f"{self.gpus_per_node} x {self.gpu_key}"
        return f"{self.instance_type} ({gpus})" if self.instance_type else f"node with {gpus}"


def resolve_tiers(
    config: StackConfig, catalog: Catalog, account: Account, problems: list[str]
) -> Mapping[str, Tier]:
    """Every tier whose nodes are known, in the order of the stack.

    A tier that is missing from the result, or wrong otherwise, has a line in `problems`.
    """
    tiers: dict[str, Tier] = {}
    for name, tier in config.tiers.items():
        if isinstance(tier, EksTier):
            resolved = _eks_tier(name, tier, config, catalog, problems)
            if isinstance(tier.capacity, CapacityBlock):
                _check_block(name, tier, tier.capacity, config, account, problems)
        else:
            resolved = _existing_tier(name, tier, config, catalog, problems)
        if resolved is not None:
            tiers[name] = resolved
    _check_blocks_are_not_shared(config, problems)
    return tiers


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint for an unknown name: the closest known one, or all of them."""
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"the nearest is {near[0]}" if near else f"known are {', '.join(names)}"


def _eks_tier(
    name: str, tier: EksTier, config: StackConfig, catalog: Catalog, problems: list[str]
) -> Tier | None:
    key = f"berth:tiers.{name}"
    if isinstance(config.cluster, ExistingCluster):
        problems.append(
            problem(
                f"{key}.source",
                "eks nodes need a cluster of the stack, but berth:cluster is one that exists",
                "set source: existing, or give berth:cluster a kubernetes_version",
            )
        )
    if tier.min_nodes > tier.max_nodes:
        problems.append(
            problem(
                f"{key}.min_nodes",
                f"{tier.min_nodes} is above max_nodes {tier.max_nodes}",
                "lower min_nodes or raise max_nodes",
            )
        )
    instance = catalog.instances.get(tier.instance_type)
    refusal = _why_not(tier.instance_type, instance, catalog)
    if refusal is not None:
        problems.append(problem(f"{key}.instance_type", *refusal))
    if instance is None or instance.gpu is None:
        return None
    return Tier(
        name=name,
        gpu_key=instance.gpu,
        gpu=catalog.gpus[instance.gpu],
        gpus_per_node=instance.gpu_count,
        instance_type=tier.instance_type,
        instance=instance,
        min_nodes=tier.min_nodes,
        max_nodes=tier.max_nodes,
    )


def _why_not(
    instance_type: str, instance: Instance | None, catalog: Catalog
) -> tuple[str, str] | None:
    """What is wrong with an instance type as a tier, and what to change."""
    if instance is None:
        gpu_types = (name for name, each in catalog.instances.items() if each.gpu)
        what = f"no instance type {instance_type} in the catalog"
        return what, nearest(instance_type, gpu_types)
    if instance.gpu is None:
        return f"{instance_type} has no GPU", "name an instance type that has one"
    if instance.ami_types[0] == "CUSTOM":
        return (
            f"{instance_type} needs an AMI of one's own, since no EKS AMI has its driver",
            "name another instance type",
        )
    return None


def _existing_tier(
    name: str, tier: ExistingTier, config: StackConfig, catalog: Catalog, problems: list[str]
) -> Tier | None:
    key = f"berth:tiers.{name}"
    if isinstance(config.cluster, NewCluster):
        problems.append(
            problem(
                f"{key}.source",
                "existing nodes are in a cluster that exists, but berth:cluster makes a new one",
                "give berth:cluster a kubeconfig and a context, or name an instance_type",
            )
        )
    try:
        gpu_key = find_gpu(catalog.gpus, tier.gpu)
    except LookupError as error:
        problems.append(f"{key}.gpu: {error}")
        return None
    gpu = catalog.gpus[gpu_key]
    if not gpu.tier:
        problems.append(
            problem(
                f"{key}.gpu",
                f"{gpu_key} is a workstation card, of which no tier is made",
                "name a GPU for servers",
            )
        )
    return Tier(
        name=name,
        gpu_key=gpu_key,
        gpu=gpu,
        gpus_per_node=tier.gpus_per_node,
        instance_type=None,
        instance=None,
        min_nodes=tier.nodes,
        max_nodes=tier.nodes,
    )


def _check_block(
    name: str,
    tier: EksTier,
    block: CapacityBlock,
    config: StackConfig,
    account: Account,
    problems: list[str],
) -> None:
    key = f"berth:tiers.{name}"
    if tier.max_nodes > block.instance_count:
        problems.append(
            problem(
                f"{key}.max_nodes",
                f"{tier.max_nodes} is above the {block.instance_count} instances of the block",
                f"lower max_nodes to {block.instance_count} or less",
            )
        )
    zones = account.availability_zones
    if zones and block.availability_zone not in zones:
        problems.append(
            problem(
                f"{key}.capacity.availability_zone",
                f"{block.availability_zone} is not a zone of {config.region}",
                f"the zones are {', '.join(zones)}",
            )
        )
    _check_block_times(f"{key}.capacity.ends_at", block, config.as_of, problems)


def _check_block_times(key: str, block: CapacityBlock, as_of: date, problems: list[str]) -> None:
    ends = moment_words(block.ends_at)
    if block.ends_at <= block.starts_at:
        problems.append(
            problem(
                key,
                f"{ends} is not after starts_at {moment_words(block.starts_at)}",
                "give the block's own start and end",
            )
        )
    elif block.ends_at < datetime.combine(as_of, time(), tzinfo=UTC):
        problems.append(
            problem(
                key,
                f"the block ended at {ends}, before berth:as_of {as_of}",
                "name a block that has not ended",
            )
        )


def _check_blocks_are_not_shared(config: StackConfig, problems: list[str]) -> None:
    first: dict[str, str] = {}
    for name, tier in config.tiers.items():
        if not isinstance(tier, EksTier) or not isinstance(tier.capacity, CapacityBlock):
            continue
        block_id = tier.capacity.reservation_id
        if block_id in first:
            problems.append(
                problem(
                    f"berth:tiers.{name}.capacity.reservation_id",
                    f"{block_id} is the block of tier {first[block_id]} already",
                    "give each block one tier",
                )
            )
        first.setdefault(block_id, name)
