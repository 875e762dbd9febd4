"""Can it start? What keeps the nodes of each tier from coming up, said before `up`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from berth.catalog.load import Catalog
from berth.config.capacity import CapacityBlock, OnDemandCapacity, ReservedCapacity
from berth.config.stack import EksTier, StackConfig
from berth.planner.account import OFFERED, Account, offer_key
from berth.planner.addresses import address_findings
from berth.planner.blocks import instances_end, is_open, start_of
from berth.planner.moment import moment_words
from berth.planner.plan import Plan, PoolPlan
from berth.planner.quotas import QuotaNeed, quota_needs

ULTRASERVER_FAMILY = "p6e-"
"""Sold as UltraServers: several instances that share one NVLink domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartFinding:
    """Something about the start of one tier; `ok` where it does not stand in the way."""

    tier: str
    ok: bool
    problem: str = ""
    """What is known to be wrong, or what was not read; empty: nothing to say."""
    fix: str = ""


def check_start(
    config: StackConfig, plan: Plan, catalog: Catalog, account: Account
) -> list[StartFinding]:
    """At least one finding for each tier, in the order of the stack.

    What the account could not be asked is said to be "not read" and does not make a tier fail.
    """
    needs = quota_needs(config, catalog)
    found: list[StartFinding] = []
    for name, pool in plan.pools.items():
        of_tier = [
            *_capacity(pool, plan),
            *_offers(pool, plan, catalog, account),
            *_image(pool, catalog),
            *(each for need in needs if name in need.tiers for each in _quota(name, need, account)),
            *_purchase(config, pool, account),
            *(
                StartFinding(tier=name, ok=False, problem=what, fix=fix)
                for what, fix in address_findings(pool, plan)
            ),
            *_owned(pool),
        ]
        found.extend(of_tier or [StartFinding(tier=name, ok=True)])
    return found


def start_document(findings: Sequence[StartFinding]) -> list[dict[str, object]]:
    """As others read it; its shape is a contract."""
    return [
        {"tier": each.tier, "ok": each.ok, "problem": each.problem, "fix": each.fix}
        for each in findings
    ]


def _capacity(pool: PoolPlan, plan: Plan) -> Iterator[StartFinding]:
    if isinstance(pool.capacity, OnDemandCapacity) and pool.scarce:
        yield StartFinding(
            tier=pool.tier,
            ok=False,
            problem=f"{pool.instance_type} is usually not obtainable on demand: EC2 answers "
            "InsufficientInstanceCapacity, and the node group tries for ever",
            fix="buy a Capacity Block, reserve capacity (ODCR), or give its servers one more tier",
        )
    if isinstance(pool.capacity, CapacityBlock):
        yield from _block(pool, pool.capacity, plan)


def _block(pool: PoolPlan, block: CapacityBlock, plan: Plan) -> Iterator[StartFinding]:
    as_of, name = plan.as_of, block.reservation_id or "the block to buy"
    ultraserver = (pool.instance_type or "").startswith(ULTRASERVER_FAMILY)
    end = instances_end(block, ultraserver)
    if block.starts_at.date() > as_of and not is_open(block, as_of):
        yield StartFinding(
            tier=pool.tier,
            ok=False,
            problem=f"{name} opens on {moment_words(block.starts_at)}; before that no node starts",
            fix="run `up` all the same: the autoscaler starts nodes once it is open",
        )
    elif not is_open(block, as_of):
        yield StartFinding(
            tier=pool.tier,
            ok=False,
            problem=f"{name} ends on {moment_words(block.ends_at)}, the day of this preview",
            fix="name the block that follows",
        )
    following = block.following()
    if following is not None:
        gap = following.starts_at - end
        yield StartFinding(
            tier=pool.tier,
            ok=True,
            problem=f"{following.reservation_id} takes over on "
            f"{moment_words(following.starts_at)}, {_gap_words(gap)}",
            fix="run `up` on that day, after the first one ended; another tier bridges the gap",
        )
    elif is_open(block, as_of) and end < start_of(next_working_day(as_of)):
        yield from _ends_soon(pool, block, plan)


def _ends_soon(pool: PoolPlan, block: CapacityBlock, plan: Plan) -> Iterator[StartFinding]:
    alone = [
        server.name
        for server in plan.servers.values()
        if pool.tier in (server.tiers or (server.tier,)) and len(server.tiers) < 2
    ]
    if alone:
        yield StartFinding(
            tier=pool.tier,
            ok=False,
            problem=f"{block.reservation_id} ends on {moment_words(block.ends_at)}, before the "
            f"next working day, and {', '.join(alone)} has no other tier",
            fix="name next_reservation_id, or list another tier for the server",
        )


def _gap_words(gap: timedelta) -> str:
    if gap <= timedelta(0):
        return "with no gap"
    hours, minutes = divmod(gap // timedelta(minutes=1), 60)
    return f"after a gap of {hours} h {minutes:02} min without nodes"


def next_working_day(day: date) -> date:
    """The next day from Monday to Friday."""
    following = day + timedelta(days=1)
    while following.weekday() > 4:
        following += timedelta(days=1)
    return following


def _offers(
    pool: PoolPlan, plan: Plan, catalog: Catalog, account: Account
) -> Iterator[StartFinding]:
    if pool.instance_type is None:
        return
    block_regions = catalog.instances[pool.instance_type].capacity_block_regions
    is_block = isinstance(pool.capacity, CapacityBlock)
    if is_block and block_regions and plan.region not in block_regions:
        yield StartFinding(
            tier=pool.tier,
            ok=False,
            problem=f"no Capacity Blocks of {pool.instance_type} are known in {plan.region}",
            fix=f"known are {', '.join(block_regions)}",
        )
    if account.offered is None:
        yield StartFinding(
            tier=pool.tier,
            ok=True,
            problem=f"zones that offer {pool.instance_type}: not read",
            fix=account.unread.get(OFFERED, "run with credentials of the account"),
        )
        return
    zones = account.offered.get(pool.instance_type, frozenset())
    wanted = _zones(pool, plan)
    if not zones & set(wanted):
        yield StartFinding(
            tier=pool.tier,
            ok=False,
            problem=f"{pool.instance_type} is not offered in {', '.join(wanted)}",
            fix=f"it is in {', '.join(sorted(zones))}" if zones else "name another region or type",
        )


def _zones(pool: PoolPlan, plan: Plan) -> Sequence[str]:
    if isinstance(pool.capacity, CapacityBlock | ReservedCapacity):
        return (pool.capacity.availability_zone,)
    if plan.network is not None:
        return plan.network.zones
    return tuple(plan.existing_network.subnet_ids) if plan.existing_network else ()


def _image(pool: PoolPlan, catalog: Catalog) -> Iterator[StartFinding]:
    driver = catalog.gpus[pool.gpu].minimum_driver
    if pool.ami_id is not None and driver is not None:
        yield StartFinding(
            tier=pool.tier,
            ok=True,
            problem=f"{pool.ami_id} must carry NVIDIA driver {driver} or newer for {pool.gpu}; "
            "not read",
            fix="build it from the EKS AL2023 image with that driver",
        )


def _quota(tier: str, need: QuotaNeed, account: Account) -> Iterator[StartFinding]:
    others = [name for name in need.tiers if name != tier]
    shared = f" together with {', '.join(others)}" if others else ""
    needed = f"at max_nodes {need.tiers[tier]} vCPU of quota {need.words}"
    if shared:
        needed += f", {need.vcpu}{shared}"
    quota = account.quotas_vcpu.get(need.code)
    if quota is None:
        command = (
            f"aws service-quotas get-service-quota --service-code ec2 --quota-code {need.code}"
        )
        yield StartFinding(
            tier=tier,
            ok=True,
            problem=f"needs {needed}; the quota was not read",
            fix=account.unread.get(need.code, command),
        )
    elif quota < need.vcpu:
        yield StartFinding(
            tier=tier,
            ok=False,
            problem=f"needs {needed}, and the account has {quota.normalize():f}",
            fix=f"raise it to {need.vcpu} in Service Quotas, or lower max_nodes",
        )


def _purchase(config: StackConfig, pool: PoolPlan, account: Account) -> Iterator[StartFinding]:
    tier = config.tiers[pool.tier]
    block = tier.capacity if isinstance(tier, EksTier) else None
    if not isinstance(block, CapacityBlock) or block.purchase is None:
        return
    yield StartFinding(
        tier=pool.tier,
        ok=True,
        problem=f"`up` buys {block.purchase.offering_id}, all of it at once and without refund; "
        f"{_asked_for(pool.tier, block.purchase.offering_id, account)}",
        fix="leave purchase out if that is not meant",
    )


def _asked_for(tier: str, offering_id: str, account: Account) -> str:
    """What AWS asks for a block now, where it was read."""
    offer = account.block_offers.get(tier)
    if offer is None:
        reason = account.unread.get(offer_key(tier))
        return "what AWS asks now was not read" + (f": {reason}" if reason else "")
    other = offer.offering_id is not None and offer.offering_id != offering_id
    under = f", as {offer.offering_id}: name that one" if other else ""
    return f"AWS asks {offer.fee_usd} USD now{under}"


def _owned(pool: PoolPlan) -> Iterator[StartFinding]:
    if pool.source == "hybrid":
        yield StartFinding(
            tier=pool.tier,
            ok=True,
            problem=f"its {pool.max_nodes} hosts join by hand once `up` is through",
            fix="run `nodeadm init` on each with its file from the output node_configs",
        )
