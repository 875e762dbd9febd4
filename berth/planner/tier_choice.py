"""On which tier a model server of a stack goes, and with how many replicas."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

from berth.catalog.load import Catalog
from berth.catalog.model_shape import Model
from berth.catalog.price import PurchaseOption, UnknownPriceError
from berth.config.capacity import CapacityBlock, SpotCapacity
from berth.config.stack import EksTier, ModelConfig, StackConfig
from berth.planner.cheapest import Comparison, compare_options
from berth.planner.errors import problem
from berth.planner.node_choice import NodeOffer
from berth.planner.option import Option, split_words
from berth.planner.placement import Placement, engine_options, wrong_format
from berth.planner.plan import SpeedPlan
from berth.planner.search_space import Fixed
from berth.planner.sizing import Goals
from berth.planner.spanning import over_nodes
from berth.planner.speed.forecast import Calibration
from berth.planner.speed.serving import Traffic
from berth.planner.tiers import Tier

AUTO = "auto"
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TierChoice:
    """Where a server goes."""

    tier: Tier
    placement: Placement
    replicas: int
    speed: SpeedPlan | None
    """None where the stack states no load."""


def choose_tiers(
    stack: StackConfig,
    catalog: Catalog,
    tiers: Mapping[str, Tier],
    calibrations: Mapping[str, Calibration],
    problems: list[str],
) -> Mapping[str, TierChoice | None]:
    """The choice for every server with a load; None where a line in `problems` says why not."""
    choices: dict[str, TierChoice | None] = {}
    for name, config in stack.models.items():
        automatic = _is_automatic(config, tiers)
        if config.load is None and automatic:
            what = "auto needs a load to choose by, and there is none"
            problems.append(problem(f"berth:models.{name}.tier", what, "add load or name a tier"))
            choices[name] = None
        candidates = list(tiers.values()) if automatic else _listed(config, tiers)
        if config.load is None or not candidates or config.model not in catalog.models:
            continue
        traffic = Traffic(
            input_tokens=config.load.input_tokens,
            output_tokens=config.load.output_tokens,
            concurrency=config.load.concurrency,
            requests_per_s=config.load.requests_per_s,
            cached_share=config.load.prefix_cache_share,
        )
        model = catalog.models[config.model]
        key = f"berth:models.{name}"
        widest = max(candidates, key=lambda tier: tier.most_gpus)
        wrong = wrong_format(key, config, model) or over_nodes(key, config, widest)
        if wrong is not None:
            problems.append(wrong)
            choices[name] = None
            continue
        offers = _offers(candidates, stack, catalog)
        if not automatic:
            offers = _together(offers)
        found = _compare(config, model, offers, catalog, traffic, calibrations.get(name), widest)
        choices[name] = None
        if found.chosen is None:
            problems.append(_why_not(name, config, found))
        else:
            choices[name] = _chosen(config, model, found.chosen, tiers)
    return choices


def with_choices(stack: StackConfig, choices: Mapping[str, TierChoice | None]) -> StackConfig:
    """The stack with the tiers and replicas that were chosen, as if its author had given them."""
    models = dict(stack.models)
    for name, choice in choices.items():
        if choice is not None:
            tier = choice.tier.name if models[name].tiers == (AUTO,) else models[name].tier
            models[name] = models[name].model_copy(
                update={"tier": tier, "replicas": choice.replicas}
            )
    return stack.model_copy(update={"models": models})


def _is_automatic(config: ModelConfig, tiers: Mapping[str, Tier]) -> bool:
    return config.tiers == (AUTO,) and AUTO not in tiers


def _listed(config: ModelConfig, tiers: Mapping[str, Tier]) -> list[Tier]:
    """The tiers of a server's list, the preferred first; lists of unlike tiers are refused."""
    first = tiers.get(config.tiers[0])
    if first is None:
        return []
    listed = [tiers[name] for name in config.tiers if name in tiers]
    return [tier for tier in listed if tier.gpu_key == first.gpu_key]


def _together(offers: Mapping[str, Sequence[NodeOffer]]) -> Mapping[str, Sequence[NodeOffer]]:
    """The tiers of a list as one: the nodes of all, at the price of the preferred."""
    return {
        gpu: [replace(each[0], max_nodes=sum(offer.max_nodes or 0 for offer in each))]
        for gpu, each in offers.items()
    }


def _compare(
    config: ModelConfig,
    model: Model,
    offers: Mapping[str, Sequence[NodeOffer]],
    catalog: Catalog,
    traffic: Traffic,
    calibration: Calibration | None,
    widest: Tier,
) -> Comparison:
    """What is cheapest within a node; over several only where that holds nothing, or is asked."""
    copies = config.data_parallel_size or 1
    fixed = Fixed(
        options=engine_options(config, "auto", 1, ""),
        formats=None if config.quantization == "auto" else (config.quantization,),
        tensor_parallel_size=config.tensor_parallel_size,
        pipeline_parallel_size=config.pipeline_parallel_size
        or (1 if config.tensor_parallel_size or copies > 1 else None),
        in_one_node=True,
        replicas=config.replicas,
    )
    wanted = config.goals
    goals = Goals(
        ttft_ms=None if wanted is None else wanted.ttft_ms,
        itl_ms=None if wanted is None else wanted.itl_ms,
    )
    asked = copies * (config.tensor_parallel_size or 1) * (config.pipeline_parallel_size or 1)
    over = replace(fixed, in_one_node=False)
    if asked > widest.most_gpus:
        return compare_options(model, over, traffic, goals, offers, catalog, calibration)
    found = compare_options(model, fixed, traffic, goals, offers, catalog, calibration)
    if found.chosen is not None or copies > 1 or config.tensor_parallel_size is not None:
        return found
    wider = compare_options(model, over, traffic, goals, offers, catalog, calibration)
    return found if wider.chosen is None else wider


def _chosen(
    config: ModelConfig, model: Model, option: Option, tiers: Mapping[str, Tier]
) -> TierChoice | None:
    if option.nodes is None or option.sizing is None or option.nodes.offer.tier is None:
        return None
    asked, memory = option.options.quantization, option.verdict.memory
    share = config.gpu_memory_utilization or round(memory.requested_gib / memory.visible_gib, 4)
    return TierChoice(
        tier=tiers[option.nodes.offer.tier],
        placement=Placement(
            quantization=model.quantization if asked == "auto" else asked,
            tensor_parallel_size=option.options.tensor_parallel_size,
            pipeline_parallel_size=option.options.pipeline_parallel_size,
            data_parallel_size=option.options.data_parallel_size,
            expert_parallel=option.options.expert_parallel,
            gpu_memory_utilization=share,
            verdict=option.verdict,
        ),
        replicas=option.sizing.replicas,
        speed=option.plan(),
    )


def _why_not(name: str, config: ModelConfig, found: Comparison) -> str:
    """The nearest try, what it misses, and what to change."""
    nearest = found.nearest
    where = f"{split_words(nearest)} on {nearest.gpu}"
    key = f"berth:models.{name}"
    if nearest.miss is not None:
        what = f"the nearest, {where}, misses: {nearest.miss.words()}"
        part = "load" if nearest.miss.goal == "capacity" else "goals"
        return problem(f"{key}.{part}", what, "relax it, lower the load or name another tier")
    part, _, text = nearest.reason.partition(": ")
    if part == "load":
        what = f"the nearest, {where}: {text}"
        return problem(f"{key}.load", what, "raise max_nodes or name another tier")
    return problem(key, f"the nearest, {where}: {nearest.reason}", "name another tier")


def _offers(
    tiers: Sequence[Tier], stack: StackConfig, catalog: Catalog
) -> Mapping[str, Sequence[NodeOffer]]:
    """The nodes of the tiers, by GPU."""
    offers: dict[str, list[NodeOffer]] = {}
    for tier in tiers:
        offers.setdefault(tier.gpu_key, []).append(_offer(tier, stack, catalog))
    return offers


def _offer(tier: Tier, stack: StackConfig, catalog: Catalog) -> NodeOffer:
    usd = _usd_per_hour(tier, stack, catalog)
    return NodeOffer(
        gpu=tier.gpu_key,
        instance_type=tier.instance_type,
        tier=tier.name,
        gpus=tier.gpus_per_node,
        usd_per_hour=usd,
        no_price=f"tier {tier.name} has no price",
        max_nodes=tier.max_nodes,
        instance=tier.instance,
    )


def _usd_per_hour(tier: Tier, stack: StackConfig, catalog: Catalog) -> Decimal | None:
    """Of one node: the owner's price, the block's fee per hour, or the list; None: not known."""
    config = stack.tiers[tier.name]
    if not isinstance(config, EksTier):
        own = config.usd_per_gpu_hour
        return None if own is None else own * tier.gpus_per_node
    if isinstance(config.capacity, SpotCapacity):
        return None  # a spot price is a reading, not a price
    option: PurchaseOption = "on_demand"
    if isinstance(config.capacity, CapacityBlock):
        block = config.capacity
        if block.fee_usd is not None:
            hours = Decimal((block.ends_at - block.starts_at) / HOUR)
            return block.fee_usd / hours / block.instance_count
        option = "capacity_block"
    try:
        price = catalog.prices.on(config.instance_type, stack.region or "", option, stack.as_of)
    except UnknownPriceError:
        return None
    return price.usd
