"""From what a stack says to a complete plan, or to every reason why there is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from berth.catalog.load import Catalog
from berth.catalog.model import find_model
from berth.config.stack import ExistingTier, HybridTier, ModelConfig, NewCluster, StackConfig
from berth.planner.account import Account, kubernetes_version
from berth.planner.errors import PlanError, problem
from berth.planner.host import HostNeeds, host_needs, least_memory_gib, node_share
from berth.planner.images import chart_images, mirrored
from berth.planner.network import plan_existing_network, plan_network, plan_system_pool
from berth.planner.own_prices import own_book, unknown_items
from berth.planner.placement import Placement, place
from berth.planner.plan import Plan, ServerPlan, SpeedPlan
from berth.planner.pool_plan import pool_plan
from berth.planner.pools import (
    Demand,
    FilledNodes,
    check_disk,
    check_nodes,
    gpu_words,
    pack,
    rollout,
)
from berth.planner.preference import check_lists, priorities, shared_out
from berth.planner.slices import with_slices
from berth.planner.software import (
    amd_gpu_software,
    autoscaler,
    efa_plugin_version,
    group_controller_version,
    nvidia_gpu_software,
)
from berth.planner.spanning import fabric_problems, group_problems, nodes_of_replica
from berth.planner.speed.forecast import Calibration
from berth.planner.tier_choice import AUTO, TierChoice, choose_tiers, with_choices
from berth.planner.tiers import Tier, resolve_tiers
from berth.planner.vllm_args import ServerOptions, vllm_args


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """A model server whose place on its tier is known."""

    name: str
    config: ModelConfig
    weights_bytes: int
    tier: Tier
    placement: Placement
    replicas: int
    speed: SpeedPlan | None
    needs: HostNeeds

    @property
    def nodes_per_replica(self) -> int:
        return nodes_of_replica(self.placement.gpus, self.tier)

    @property
    def demand(self) -> Demand:
        return Demand(
            server=self.name,
            gpus_per_replica=self.placement.gpus,
            replicas=self.replicas,
            nodes_per_replica=self.nodes_per_replica,
            model_cache_gib=self.needs.model_cache_gib,
        )


def make_plan(
    config: StackConfig,
    catalog: Catalog,
    account: Account,
    calibrations: Mapping[str, Calibration] | None = None,
) -> Plan:
    """The plan of one stack; nothing is looked up but what the arguments hold.

    Raises:
        PlanError: if the stack cannot be planned as written; its lines name every problem, in the
            stack author's own keys.
    """
    problems: list[str] = [
        problem(f"berth:prices.{item}", "is nothing that has a price", fix)
        for item, fix in unknown_items(config.prices, catalog).items()
    ]
    own = own_book(catalog.prices, config.prices, config.region, config.as_of)
    catalog = replace(catalog, prices=own)
    network = plan_network(config, account, problems)
    existing_network = plan_existing_network(config, account, problems)
    _check_kubernetes(config, catalog, problems)
    tiers = resolve_tiers(config, catalog, account, problems)
    slices = {tier.gpu_key: tier.gpu for tier in tiers.values() if tier.mig_profile}
    choices = choose_tiers(
        config, with_slices(catalog, slices), tiers, calibrations or {}, problems
    )
    config = with_choices(config, choices)
    check_lists(config, tiers, problems)
    order = priorities(config, problems)
    servers = [
        server
        for name in config.models
        if (server := _place_server(name, config, catalog, tiers, choices, problems)) is not None
    ]
    asked = shared_out({server.name: server.demand for server in servers}, config, tiers)
    filled = {name: _fill_tier(tier, asked[name], config, problems) for name, tier in tiers.items()}
    if problems:
        raise PlanError(sorted(problems, key=_section))
    version = kubernetes_version(config, account)
    pools = {
        name: replace(
            pool_plan(tier, config, catalog, asked[name], filled[name], version),
            autoscaler_priority=order.get(name, 0),
        )
        for name, tier in tiers.items()
    }
    return Plan(
        environment=config.environment,
        region=config.region,
        as_of=config.as_of,
        cluster=config.cluster,
        network=network,
        existing_network=existing_network,
        eks_cluster=account.eks_cluster,
        system_pool=plan_system_pool(config, catalog),
        gpu_software=nvidia_gpu_software(config, pools, catalog),
        amd_gpu_software=amd_gpu_software(config, pools, catalog),
        autoscaler=autoscaler(config, pools, catalog, version),
        efa_plugin_version=efa_plugin_version(pools, catalog),
        group_controller_version=group_controller_version(config, pools, catalog),
        chart_images=chart_images(config, catalog),
        pools=pools,
        servers={
            server.name: replace(
                _server_plan(server, config, catalog, filled[server.tier.name]),
                tier_replicas=_tier_replicas(server, asked),
            )
            for server in servers
        },
        usd_per_gpu_hour=_own_prices(config),
        prices=config.prices,
        budget=config.budget,
    )


_SECTIONS = ("aws:", "berth:cluster", "berth:tiers", "berth:models")


def _section(line: str) -> int:
    """Where in a stack file the key of a problem stands."""
    return next((i for i, each in enumerate(_SECTIONS) if line.startswith(each)), len(_SECTIONS))


def _check_kubernetes(config: StackConfig, catalog: Catalog, problems: list[str]) -> None:
    if not isinstance(config.cluster, NewCluster):
        return
    version, known = config.cluster.kubernetes_version, catalog.software.kubernetes.versions
    if version not in known:
        problems.append(
            problem(
                "berth:cluster.kubernetes_version",
                f"EKS builds no GPU nodes for {version}",
                f"use one of {', '.join(known)}",
            )
        )


def _place_server(
    name: str,
    config: StackConfig,
    catalog: Catalog,
    tiers: Mapping[str, Tier],
    choices: Mapping[str, TierChoice | None],
    problems: list[str],
) -> _Server | None:
    """The server called `name` on its tier; None with a line in `problems`."""
    wanted = config.models[name]
    key = f"berth:models.{name}"
    for tier_name in wanted.tiers:
        if tier_name not in (*config.tiers, AUTO):
            names = ", ".join(config.tiers)
            what = f"no tier {tier_name} in this stack"
            problems.append(problem(f"{key}.tier", what, f"the tiers are {names}"))
    if wanted.model not in catalog.models:
        problems.append(f"{key}.model: {_unknown_model(wanted.model, catalog)}")
        return None
    tier = tiers.get(wanted.tiers[0])
    if tier is None:
        return None
    model = catalog.models[wanted.model]
    choice = choices.get(name)
    if name in choices:
        placement = choice.placement if choice is not None else None
    else:
        version = catalog.software.vllm[tier.gpu.vendor].version
        placement = place(name, wanted, model, tier, version, problems)
    if placement is None:
        return None
    nodes = nodes_of_replica(placement.gpus, tier)
    problems.extend(group_problems(name, wanted, nodes, config.models))
    problems.extend(fabric_problems(tier, config.tiers[tier.name], nodes, catalog.instances))
    needs = _host_needs(name, model.weights_bytes, tier, placement, problems)
    if needs is None:
        return None
    return _Server(
        name=name,
        config=wanted,
        weights_bytes=model.weights_bytes,
        tier=tier,
        placement=placement,
        replicas=1 if wanted.replicas is None else wanted.replicas,
        speed=None if choice is None else choice.speed,
        needs=needs,
    )


def _unknown_model(name: str, catalog: Catalog) -> str:
    """What to write instead; a stack names the owner too, since mirrors share short names."""
    try:
        return f"no model is called {name}; the nearest is {find_model(catalog.models, name)}"
    except LookupError as error:
        return str(error)


def _host_needs(
    name: str, weights_bytes: int, tier: Tier, placement: Placement, problems: list[str]
) -> HostNeeds | None:
    """What each pod takes of its host; None with a line in `problems` if that is too much."""
    gpus = placement.gpus // nodes_of_replica(placement.gpus, tier)
    share = node_share(tier.instance, gpus, tier.gpus_per_node) if tier.instance else None
    if share is not None and share.memory_gib < least_memory_gib(gpus):
        problems.append(
            problem(
                f"berth:tiers.{tier.name}.instance_type",
                f"{name} needs {least_memory_gib(gpus)} GiB of host memory with {gpu_words(gpus)}, "
                f"and one {tier.instance_type} has {share.memory_gib} GiB for it",
                "name an instance type with more memory per GPU",
            )
        )
        return None
    return host_needs(weights_bytes, gpus, share)


def _fill_tier(
    tier: Tier, demands: Sequence[Demand], config: StackConfig, problems: list[str]
) -> Sequence[FilledNodes]:
    tier_config = config.tiers[tier.name]
    filled = pack(demands, tier.gpus_per_node, tier.min_nodes)
    check_nodes(tier, tier_config, demands, filled, problems)
    check_disk(tier, tier_config, filled, problems)
    return filled


def _own_prices(config: StackConfig) -> Mapping[str, Decimal]:
    return {
        name: tier.usd_per_gpu_hour
        for name, tier in config.tiers.items()
        if isinstance(tier, ExistingTier | HybridTier) and tier.usd_per_gpu_hour is not None
    }


def _tier_replicas(server: _Server, asked: Mapping[str, Sequence[Demand]]) -> Mapping[str, int]:
    """How many replicas each of its tiers is planned for."""
    return {
        tier: sum(demand.replicas for demand in asked[tier] if demand.server == server.name)
        for tier in server.config.tiers
        if tier in asked
    }


def _server_plan(
    server: _Server, config: StackConfig, catalog: Catalog, filled: Sequence[FilledNodes]
) -> ServerPlan:
    tier, placement, needs = server.tier, server.placement, server.needs
    verdict, gpus, nodes = placement.verdict, placement.gpus, server.nodes_per_replica
    engine = catalog.software.vllm[tier.gpu.vendor]
    return ServerPlan(
        name=server.name,
        model=server.config.model,
        tier=tier.name,
        gpu=tier.gpu_key,
        instance_type=tier.instance_type,
        quantization=placement.quantization,
        kv_cache_dtype=server.config.kv_cache_dtype,
        tensor_parallel_size=placement.tensor_parallel_size,
        pipeline_parallel_size=placement.pipeline_parallel_size,
        gpus_per_replica=gpus,
        replicas=server.replicas,
        nodes_per_replica=nodes,
        nodes=(
            server.replicas * nodes
            if nodes > 1
            else -(-server.replicas // (tier.gpus_per_node // gpus))
        ),
        fits=verdict.fits,
        reasons=verdict.reasons,
        memory=verdict.memory,
        speed=server.speed,
        load=server.config.load,
        vllm_args=vllm_args(_options(server)),
        vllm_version=engine.version,
        image=server.config.image
        or mirrored(engine.image, config.images.registry if config.images else None),
        pull_secret=config.images.pull_secret if config.images else None,
        tiers=server.config.tiers,
        gpu_resource=tier.gpu.resource,
        max_model_len=verdict.max_model_len,
        max_num_seqs=verdict.max_num_seqs,
        weights_bytes=server.weights_bytes,
        cpu_request_cores=needs.cpu_request_cores,
        host_memory_request_gib=needs.host_memory_request_gib,
        shm_gib=needs.shm_gib,
        model_cache_gib=needs.model_cache_gib,
        startup_budget_s=needs.startup_budget_s,
        rollout=rollout(server.demand, filled),
    )


def _options(server: _Server) -> ServerOptions:
    placement, verdict = server.placement, server.placement.verdict
    return ServerOptions(
        model=server.config.model,
        tensor_parallel_size=placement.tensor_parallel_size,
        pipeline_parallel_size=placement.pipeline_parallel_size,
        data_parallel_size=placement.data_parallel_size,
        expert_parallel=placement.expert_parallel,
        nodes=server.nodes_per_replica,
        max_model_len=verdict.max_model_len,
        max_num_seqs=verdict.max_num_seqs,
        max_num_batched_tokens=verdict.max_num_batched_tokens,
        gpu_memory_utilization=placement.gpu_memory_utilization,
        quantization=verdict.quantization_argument,
        kv_cache_dtype=server.config.kv_cache_dtype,
    )
