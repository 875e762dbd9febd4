"""Idle GPUs of a stack: what each costs, whose it is, and the line of the stack that frees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from berth.catalog.load import Catalog
from berth.costs.estimate import Estimate
from berth.costs.kinds import GPU_NODES, HYBRID_FEE
from berth.costs.money import cents, per_hour, with_commas
from berth.idle.prometheus import Window
from berth.idle.usage import GpuUse
from berth.planner.plan import Ownership, Plan, PoolPlan

MODEL_NAMESPACE: Final = "inference"
"""Where a stack puts its model servers (`components/naming.py`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPrice:
    """Of one GPU, or of one slice, by the hour."""

    usd_per_hour: Decimal
    is_paid_once: bool
    """Of a Capacity Block: freeing the GPU saves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleGpu:
    """A GPU that served nothing in the whole window."""

    use: GpuUse
    tier: str | None
    """None: it is not known of which tier it is."""
    server: str | None
    """The model server that holds it; None: no pod of the stack does."""
    price: GpuPrice | None
    ownership: Ownership
    key: str
    """The stack's key that frees it; empty where none does."""
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleReport:
    """What the GPUs of a stack did in a window."""

    stack: str
    window: Window
    idle: Sequence[IdleGpu]
    used: int
    not_seen: Sequence[GpuUse]
    """Seen now and then: not known to be idle."""
    missing: Mapping[str, int]
    """By tier, planned GPUs beyond those that were seen: nobody scrapes them, or they are off."""

    @property
    def usd_per_hour(self) -> Decimal:
        """Of all idle GPUs; of blocks their fee by the hour."""
        prices = (each.price.usd_per_hour for each in self.idle if each.price is not None)
        return sum(prices, Decimal(0))

    @property
    def usd(self) -> Decimal:
        """What they cost in the window."""
        return self.usd_per_hour * Decimal(self.window.step_s * self.window.steps) / 3600

    @property
    def unpriced(self) -> int:
        """Idle GPUs without a price: the sum is at least."""
        return sum(each.price is None for each in self.idle)


def idle_report(
    stack: str,
    window: Window,
    uses: Sequence[GpuUse],
    plan: Plan,
    estimate: Estimate,
    catalog: Catalog,
) -> IdleReport:
    """Join what was seen with what was planned and what it costs."""
    prices = gpu_prices(plan, estimate)
    tiers = {(use.uuid, use.slice): _tier(use, plan, catalog) for use in uses}
    of_stack = [use for use in uses if _belongs(use, tiers[use.uuid, use.slice], plan)]
    return IdleReport(
        stack=stack,
        window=window,
        idle=[
            _idle(use, tiers[use.uuid, use.slice], plan, prices)
            for use in of_stack
            if use.state == "idle"
        ],
        used=sum(use.state == "used" for use in of_stack),
        not_seen=[use for use in of_stack if use.state == "not seen"],
        missing=_missing(plan, [tiers[use.uuid, use.slice] for use in of_stack]),
    )


def gpu_prices(plan: Plan, estimate: Estimate) -> dict[str, GpuPrice]:
    """By tier; a tier whose nodes have no price is left out.

    The price of a node over its GPUs, with the fee that EKS takes of a hybrid host; of a Capacity
    Block the fee over its hours, instances and GPUs.
    """
    fees = {each.tier: each for each in estimate.one_off if each.tier and each.instance_hours}
    found: dict[str, GpuPrice] = {}
    for tier, pool in plan.pools.items():
        fee = fees.get(tier)
        if fee is not None and fee.instance_hours:
            usd = fee.usd / fee.instance_hours / pool.gpus_per_node
            found[tier] = GpuPrice(usd_per_hour=usd, is_paid_once=True)
            continue
        usd = Decimal(0)
        has_nodes = False
        for line in estimate.lines:
            if line.tier != tier:
                continue
            if line.name == GPU_NODES:
                has_nodes = True
                per_gpu = line.unit.startswith("GPU")
                usd += line.usd_per_unit / (1 if per_gpu else pool.gpus_per_node)
            elif line.name == HYBRID_FEE and pool.vcpus_per_node:
                usd += line.usd_per_unit * pool.vcpus_per_node / pool.gpus_per_node
        if has_nodes:
            found[tier] = GpuPrice(usd_per_hour=usd, is_paid_once=False)
    return found


def _server(use: GpuUse, plan: Plan) -> str | None:
    """The model server whose Deployment made the pod: `NAME-HASH-SUFFIX`."""
    if use.pod is None or use.pod.namespace != MODEL_NAMESPACE:
        return None
    name = use.pod.name.rpartition("-")[0].rpartition("-")[0]
    return name if name in plan.servers else None


def _tier(use: GpuUse, plan: Plan, catalog: Catalog) -> str | None:
    """Of the server that holds it, else the only tier that has such GPUs."""
    server = _server(use, plan)
    if server is not None and len(plan.servers[server].tiers) < 2:
        return plan.servers[server].tier
    product = use.product.replace(" ", "-")
    alike = [
        tier
        for tier, pool in plan.pools.items()
        if (gpu := catalog.gpus.get(pool.gpu)) is not None and gpu.product_label == product
    ]
    return alike[0] if len(alike) == 1 else None


def _belongs(use: GpuUse, tier: str | None, plan: Plan) -> bool:
    """Another team's GPUs in the same Prometheus are not the stack's."""
    return tier is not None or _server(use, plan) is not None


def _idle(use: GpuUse, tier: str | None, plan: Plan, prices: Mapping[str, GpuPrice]) -> IdleGpu:
    server = _server(use, plan)
    pool = plan.pools.get(tier) if tier is not None else None
    key, fix = _freed_by(use, server, pool, plan)
    return IdleGpu(
        use=use,
        tier=tier,
        server=server,
        price=prices.get(tier) if tier is not None else None,
        ownership=pool.ownership if pool is not None else plan.ownership,
        key=key,
        fix=fix,
    )


def _freed_by(
    use: GpuUse, server: str | None, pool: PoolPlan | None, plan: Plan
) -> tuple[str, str]:
    """The key to lower, and what to do in words."""
    if server is not None:
        replicas = plan.servers[server].replicas
        fix = f"lower replicas from {replicas}" if replicas > 1 else f"remove {server}"
        return f"berth:models.{server}.replicas", fix
    if use.pod is not None:
        return "", f"stop pod {use.pod.name} in {use.pod.namespace}, which is not the stack's"
    if pool is None:
        return "", "see which node it is on"
    if pool.source != "eks":
        return f"berth:tiers.{pool.tier}.nodes", "place a server there, or give a host back"
    if pool.min_nodes > 0:
        return f"berth:tiers.{pool.tier}.min_nodes", f"lower it from {pool.min_nodes}"
    return f"berth:tiers.{pool.tier}.max_nodes", "see what keeps the autoscaler from removing it"


def _missing(plan: Plan, seen: Sequence[str | None]) -> dict[str, int]:
    found = {}
    for tier, pool in plan.pools.items():
        short = pool.planned_nodes * pool.gpus_per_node - seen.count(tier)
        if short > 0:
            found[tier] = short
    return found


def report_document(report: IdleReport, places: Mapping[str, str]) -> dict[str, Any]:
    """The report as others read it.

    Args:
        report: to be written.
        places: file and line of each key of the stack.
    """
    return {
        "stack": report.stack,
        "from": report.window.start_s,
        "to": report.window.end_s,
        "hours": report.window.hours,
        "idle": {
            "gpus": len(report.idle),
            "usd_per_hour": per_hour(report.usd_per_hour),
            "usd": cents(report.usd),
            "at_least": bool(report.unpriced),
        },
        "gpus": [
            {
                "uuid": each.use.uuid,
                "slice": each.use.slice,
                "host": each.use.host,
                "product": each.use.product,
                "tier": each.tier,
                "server": each.server,
                "pod": each.use.pod and f"{each.use.pod.namespace}/{each.use.pod.name}",
                "usd_per_hour": None if each.price is None else per_hour(each.price.usd_per_hour),
                "paid_once": each.price is not None and each.price.is_paid_once,
                "owner": each.ownership.owner,
                "cost_center": each.ownership.cost_center,
                "key": each.key,
                "place": places.get(each.key, ""),
                "fix": each.fix,
            }
            for each in report.idle
        ],
        "used": report.used,
        "not_seen": [
            {
                "uuid": use.uuid,
                "slice": use.slice,
                "host": use.host,
                "steps_seen": use.steps_seen,
                "steps": report.window.steps,
            }
            for use in report.not_seen
        ],
        "missing": dict(report.missing),
    }


def report_lines(report: IdleReport, places: Mapping[str, str]) -> list[str]:
    """The report for a person, GPUs of one answer together."""
    count = len(report.idle)
    least = "at least " if report.unpriced else ""
    lines = [
        f"{report.stack}: {_gpus(count)} served nothing for {report.window.hours:g} hours, "
        f"{least}{with_commas(report.usd_per_hour)} USD an hour, {with_commas(report.usd)} USD in "
        f"that time; {_gpus(report.used)} in use"
    ]
    groups: dict[tuple[str, ...], list[IdleGpu]] = {}
    for each in report.idle:
        groups.setdefault((each.tier or "", each.server or "", each.key, each.fix), []).append(each)
    for (tier, server, key, fix), gpus in groups.items():
        who = gpus[0].ownership.owner
        lines.append(
            f"  {tier or 'tier not known'}: {_gpus(len(gpus))}"
            f"{f' of {server}' if server else ''}, {_money(gpus)}"
            f"{f', paid by {who}' if who else ''}"
        )
        lines.append(f"    {places[key] + ': ' if key in places else ''}{key or 'no key'}: {fix}")
        lines.extend(
            f"    {each.use.host} {each.use.uuid} {each.use.slice}".rstrip() for each in gpus
        )
    for use in report.not_seen:
        lines.append(
            f"  {use.host} {use.uuid}: seen in {use.steps_seen} of {report.window.steps} steps, so "
            "not known to be idle"
        )
    for tier, gpus_missing in report.missing.items():
        lines.append(
            f"  {tier}: {_gpus(gpus_missing)} of the plan were not seen at all; scaled down, or "
            "nobody scrapes their exporter"
        )
    return lines


def _money(gpus: Sequence[IdleGpu]) -> str:
    price = gpus[0].price
    if price is None:
        return "price not known"
    once = " of a fee paid once, which freeing does not bring back" if price.is_paid_once else ""
    return f"{with_commas(price.usd_per_hour * len(gpus))} USD an hour{once}"


def _gpus(count: int) -> str:
    return f"{count} GPU{'' if count == 1 else 's'}"
