"""Which nodes hold the replicas of a server at the least price."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from berth.catalog.instance import Instance
from berth.catalog.load import Catalog
from berth.catalog.price import UnknownPriceError
from berth.planner.host import least_memory_gib, node_share

GPUS_PER_OWN_NODE = 8
"""Of nodes that no instance type of the catalog describes."""
HOURS_TO_SECONDS = 3600
TOKENS_PER_PRICE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOffer:
    """One kind of node with a GPU model, and what it costs."""

    gpu: str
    instance_type: str | None
    """None: nodes that the owner has."""
    tier: str | None
    gpus: int
    usd_per_hour: Decimal | None
    """Per node; None: no price is known."""
    no_price: str
    """Why there is none."""
    max_nodes: int | None = None
    instance: Instance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """Nodes for all replicas."""

    offer: NodeOffer
    nodes: int

    @property
    def usd_per_hour(self) -> Decimal | None:
        """Of all nodes; None: no price is known."""
        price = self.offer.usd_per_hour
        return None if price is None else price * self.nodes


def catalog_offers(
    catalog: Catalog,
    region: str,
    day: date,
    own_usd_per_gpu_hour: Mapping[str, Decimal],
    instance_type: str | None = None,
) -> dict[str, list[NodeOffer]]:
    """What can be had in `region` on `day`, by GPU; the owner's price replaces that of the list."""
    offers: dict[str, list[NodeOffer]] = {}
    for name, instance in catalog.instances.items():
        if instance.gpu is None or instance_type not in (None, name):
            continue
        if region not in instance.regions and region not in instance.capacity_block_regions:
            continue
        price, reason = _price(name, instance, region, day, catalog, own_usd_per_gpu_hour)
        offers.setdefault(instance.gpu, []).append(
            NodeOffer(
                gpu=instance.gpu,
                instance_type=name,
                tier=None,
                gpus=instance.gpu_count,
                usd_per_hour=price,
                no_price=reason,
                instance=instance,
            )
        )
    sold = {instance.gpu for instance in catalog.instances.values()}
    for key, gpu in catalog.gpus.items():
        listed = key in own_usd_per_gpu_hour or (gpu.tier and key not in sold)
        if key not in offers and listed and instance_type is None:
            offers[key] = [own_offer(key, own_usd_per_gpu_hour.get(key))]
    return offers


def own_offer(gpu: str, usd_per_gpu_hour: Decimal | None) -> NodeOffer:
    """Nodes of eight GPUs that the owner has."""
    price = None if usd_per_gpu_hour is None else usd_per_gpu_hour * GPUS_PER_OWN_NODE
    return NodeOffer(
        gpu=gpu,
        instance_type=None,
        tier=None,
        gpus=GPUS_PER_OWN_NODE,
        usd_per_hour=price,
        no_price=f"no price of {gpu} is known; give --usd-per-gpu-hour {gpu}=USD",
    )


def _price(
    name: str,
    instance: Instance,
    region: str,
    day: date,
    catalog: Catalog,
    own: Mapping[str, Decimal],
) -> tuple[Decimal | None, str]:
    if instance.gpu is not None and instance.gpu in own:
        return own[instance.gpu] * instance.gpu_count, ""
    try:
        return catalog.prices.on(name, region, "on_demand", day).usd, ""
    except UnknownPriceError as error:
        return None, str(error)


def cheapest_nodes(
    offers: Sequence[NodeOffer], gpus_per_replica: int, gpus_per_stage: int, replicas: int
) -> NodePlan | None:
    """The offer that holds all replicas for the least money, unpriced ones last.

    A pipeline stage is never divided between nodes.
    """
    plans = [
        plan
        for offer in offers
        if offer.gpus >= gpus_per_stage
        and (plan := _nodes_of(offer, gpus_per_replica, replicas)) is not None
    ]
    return min(plans, key=_money, default=None)


def _money(plan: NodePlan) -> tuple[bool, Decimal, int, str]:
    usd = plan.usd_per_hour
    name = plan.offer.instance_type or ""
    return usd is None, usd or Decimal(0), plan.nodes * plan.offer.gpus, name


def _nodes_of(offer: NodeOffer, gpus: int, replicas: int) -> NodePlan | None:
    per_node = offer.gpus // gpus
    if per_node:
        nodes = -(-replicas // per_node)
    elif gpus % offer.gpus == 0:
        nodes = replicas * (gpus // offer.gpus)
    else:
        return None
    if offer.max_nodes is not None and nodes > offer.max_nodes:
        return None
    here = min(gpus, offer.gpus)
    if offer.instance is not None:
        share = node_share(offer.instance, here, offer.gpus)
        if share.memory_gib < least_memory_gib(here):
            return None
    return NodePlan(offer=offer, nodes=nodes)


def usd_per_1m_output_tokens(usd_per_hour: Decimal, output_tokens_per_s: float) -> Decimal | None:
    """Price of a million output tokens; None without any."""
    if output_tokens_per_s <= 0:
        return None
    per_hour = Decimal(str(output_tokens_per_s)) * HOURS_TO_SECONDS
    return usd_per_hour * TOKENS_PER_PRICE / per_hour
