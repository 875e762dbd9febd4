"""Replicas that take several nodes: how a model is divided over them, and what cannot be."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from berth.catalog.instance import Instance
from berth.catalog.model import Model
from berth.config.capacity import SpotCapacity
from berth.config.stack import EksTier, ModelConfig, TierConfig
from berth.planner.errors import problem
from berth.planner.tiers import Tier

MOST_NODES = 4
"""Of one replica that the planner itself divides; a stack may ask for more stages."""
GROUP_SUFFIX = "-group"
"""In the name of what keeps the pods of such a server together."""
SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")


def nodes_of_replica(gpus: int, tier: Tier) -> int:
    """Nodes that a replica on `gpus` GPUs takes, in part or whole."""
    return max(1, -(-gpus // tier.gpus_per_node))


def splits_over_nodes(config: ModelConfig, model: Model, tier: Tier) -> Sequence[tuple[int, int]]:
    """Tensor parallel sizes and stages to try: a stage on all GPUs of each node, the fewest first.

    Tensor parallel ranks wait for each other in every layer, stages once per step, so only stages
    go over the network; and only where the GPUs of a node are linked.

    Source:
        https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html
    """
    size = tier.most_gpus
    if config.tensor_parallel_size is not None or (config.data_parallel_size or 1) > 1:
        return ()
    if size == 1 or tier.gpu.fabric.kind == "pcie" or model.attention_heads % size:
        return ()
    most = min(MOST_NODES, tier.max_nodes, len(model.layers))
    wanted = config.pipeline_parallel_size
    return [(size, nodes) for nodes in range(2, most + 1) if wanted in (None, nodes)]


def group_problems(
    name: str, config: ModelConfig, nodes: int, others: Collection[str]
) -> Iterator[str]:
    """What cannot be of a server whose replicas take several nodes.

    Args:
        name: its key.
        config: what the stack says of it.
        nodes: of one replica.
        others: keys of all servers.
    """
    if nodes == 1:
        return
    if len(config.tiers) > 1:
        yield problem(
            f"berth:models.{name}.tier",
            f"a replica takes {nodes} nodes, and pods of one could start on different tiers",
            f"name one tier, such as {config.tiers[0]}",
        )
    if f"{name}{GROUP_SUFFIX}" in others:
        yield problem(
            f"berth:models.{name}{GROUP_SUFFIX}",
            f"the pods of {name} over {nodes} nodes are kept together under this name",
            "give this server another name",
        )


def fabric_problems(
    tier: Tier, config: TierConfig, nodes: int, instances: Mapping[str, Instance]
) -> Iterator[str]:
    """Spot types on which the launch template's network interfaces would be too many or too few.

    Args:
        tier: with the type that the interfaces are laid out for.
        config: what the stack says of it.
        nodes: of one replica.
        instances: of the catalog.
    """
    if nodes == 1 or tier.instance is None or not isinstance(config, EksTier):
        return
    if not isinstance(config.capacity, SpotCapacity):
        return
    own = (tier.instance.efa_interfaces, tier.instance.efa_on_first_card)
    for index, name in enumerate(config.capacity.instance_types):
        other = instances.get(name)
        if other is not None and (other.efa_interfaces, other.efa_on_first_card) != own:
            yield problem(
                f"berth:tiers.{tier.name}.capacity.instance_types[{index}]",
                f"{name} has {other.efa_interfaces} EFA interfaces and {tier.instance_type} has "
                f"{own[0]}, and a replica takes {nodes} nodes",
                "remove it, because all nodes have one launch template",
            )


def over_nodes(key: str, config: ModelConfig, tier: Tier) -> str | None:
    """A line where what is asked for cannot be laid out on nodes of `tier`."""
    tensor, stages, copies = (getattr(config, each) or 1 for each in SIZES)
    gpus = tensor * stages * copies
    if gpus <= tier.most_gpus:
        return None
    if tier.mig_profile:
        size = next(each for each in SIZES if (getattr(config, each) or 1) > 1)
        return problem(
            f"{key}.{size}",
            f"{getattr(config, size)}, and tier {tier.name} has MIG slices of {tier.card_key}, "
            "which have no peer access to each other",
            "set it to 1, or name a tier without mig_profile",
        )
    if tensor > tier.gpus_per_node:
        return problem(
            f"{key}.tensor_parallel_size",
            f"{tensor} is more than one {tier.node_words} has",
            f"lower it to {tier.gpus_per_node} or less, and divide the model over nodes by "
            "pipeline_parallel_size",
        )
    if copies > 1:
        return problem(
            f"{key}.data_parallel_size",
            f"one replica takes {gpus} GPUs, more than one {tier.node_words} has, and copies are "
            "not spread over nodes",
            f"keep tensor, pipeline and data parallel sizes together at {tier.gpus_per_node} or "
            "less",
        )
    if gpus % tier.gpus_per_node or tier.gpus_per_node % tensor:
        return problem(
            f"{key}.pipeline_parallel_size",
            f"one replica takes {gpus} GPUs in stages of {tensor}, which are not all GPUs of some "
            f"{tier.node_words}",
            f"let tensor times pipeline parallel size be a multiple of {tier.gpus_per_node}",
        )
    return None
