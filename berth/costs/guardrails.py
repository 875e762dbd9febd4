"""Whether an estimate, and the change that leads to it, stay within the limits of a budget."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, Literal

from berth.config.budget import GUARDRAILS_FILE, BudgetConfig, Guardrails, Limits
from berth.costs.diff import CostDiff
from berth.costs.diff_document import difference
from berth.costs.estimate import Estimate
from berth.costs.kinds import GPU_NODES
from berth.costs.money import signed, with_commas

BUDGET_EXCEEDED: Final = "budget-exceeded"
"""Kind of the finding that a broken limit is, beside the kinds of the rules."""
BUDGET_KEY: Final = "berth:budget"
Level = Literal["advisory", "mandatory"]
_OWN_PRICES: Final = ("OWN", "CAPACITY_BLOCK")
"""Prices that do not age: the stack states them, or they were paid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A limit that is exceeded, or that cannot be held to."""

    key: str
    """Where the limit stands, such as `berth:budget.monthly_usd`."""
    level: Level
    what: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What limits are held against."""

    estimate: Estimate
    day: date
    """The age of prices is counted up to it."""
    diff: CostDiff | None = None
    """None: there is no change to judge."""
    tiers: Collection[str] = ()
    """Tiers whose nodes have to have a price before a month can be judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figure:
    """One value of a kind that has a limit."""

    value: Decimal
    words: str
    """What has that value, with it."""
    fix: str


def breaches(budget: BudgetConfig, where: str, judged: Judged) -> list[Breach]:
    """What exceeds `budget`, whose keys stand below `where`; a refusal takes its warning's place.

    Limits on a change are judged only where there is one.
    """
    found = [*_over(budget, "mandatory", where, judged), *_not_known(budget, where, judged)]
    refused = {each.key for each in found if each.level == "mandatory"}
    if budget.warn is not None:
        warned = _over(budget.warn, "advisory", where, judged)
        found += [each for each in warned if each.key not in refused]
    return found


def stack_limits(
    stack: str, own: BudgetConfig | None, repository: Guardrails
) -> list[tuple[str, BudgetConfig]]:
    """What holds for one stack, each with the place of its keys: its own budget first."""
    found = [(BUDGET_KEY, own)] if own is not None else []
    return found + [(f"{GUARDRAILS_FILE}: {key}", limits) for key, limits in repository.of(stack)]


def _over(limits: Limits, level: Level, where: str, judged: Judged) -> Iterator[Breach]:
    for name, figures in _FIGURES.items():
        limit = getattr(limits, name)
        if limit is None:
            continue
        for figure in figures(judged):
            if figure.value > Decimal(str(limit)):
                yield Breach(
                    key=f"{where}.{name}",
                    level=level,
                    what=f"{figure.words}, {_above(figure.value, limit)}",
                    fix=f"{figure.fix}, or raise {name}",
                )


def _above(value: Decimal, limit: Decimal | float) -> str:
    if isinstance(limit, Decimal):
        return f"{with_commas(value - limit)} above {with_commas(limit)}"
    return f"above {limit:g}"


def _not_known(budget: BudgetConfig, where: str, judged: Judged) -> Iterator[Breach]:
    """A month of which a part has no price: who set a limit is told, and stopped if it is nodes."""
    if budget.monthly_usd is None or not judged.estimate.unpriced:
        return
    usd = judged.estimate.plan.usd_per_month
    if usd > budget.monthly_usd:
        return
    unknown = dict.fromkeys(each.resource for each in judged.estimate.unpriced)
    priced = {line.tier for line in judged.estimate.lines if line.name == GPU_NODES}
    yield Breach(
        key=f"{where}.monthly_usd",
        level="advisory" if priced >= set(judged.tiers) else "mandatory",
        what=f"cannot be held to, since the price of {', '.join(unknown)} is unknown; "
        f"the rest costs {with_commas(usd)} USD a month",
        fix="name a region and a day with known prices, or state your own",
    )


def _month(judged: Judged) -> Iterator[_Figure]:
    usd = judged.estimate.plan.usd_per_month
    words = f"the plan costs {with_commas(usd)} USD a month"
    yield _Figure(value=usd, words=words, fix="plan fewer or cheaper nodes")


def _ceiling(judged: Judged) -> Iterator[_Figure]:
    usd = judged.estimate.ceiling.usd_per_month
    words = f"with every tier at max_nodes a month costs {with_commas(usd)} USD"
    yield _Figure(value=usd, words=words, fix="lower max_nodes")


def _change(judged: Judged) -> Iterator[_Figure]:
    if judged.diff is not None:
        usd = Decimal(difference([judged.diff])["plan"]["usd_per_month"])
        words = f"the change makes a month {signed(usd)} USD"
        yield _Figure(value=abs(usd), words=words, fix="divide the change")


def _change_share(judged: Judged) -> Iterator[_Figure]:
    past = judged.diff.past.plan.usd_per_hour if judged.diff is not None else None
    if judged.diff is not None and past:
        percent = judged.diff.amounts.plan / past * 100
        words = f"the change makes a month {percent:+.1f} %"
        yield _Figure(value=abs(percent), words=words, fix="divide the change")


def _tokens(judged: Judged) -> Iterator[_Figure]:
    for server in judged.estimate.servers:
        usd = server.usd_per_1m_output_tokens
        if usd is not None:
            words = f"{server.name} costs {with_commas(usd)} USD per million output tokens"
            yield _Figure(value=usd, words=words, fix="plan fewer replicas or cheaper GPUs")


def _idle(judged: Judged) -> Iterator[_Figure]:
    idle = sum(each.gpus for each in judged.estimate.idle)
    gpus = idle + sum(each.gpus for each in judged.estimate.servers)
    if gpus:
        percent = Decimal(idle) / gpus * 100
        words = f"{idle} of {gpus} GPUs ({percent:.1f} %) are asked for by nobody"
        yield _Figure(value=percent, words=words, fix="plan fewer nodes, or smaller ones")


def _age(judged: Judged) -> Iterator[_Figure]:
    lines = [each for each in judged.estimate.lines if each.capacity_type not in _OWN_PRICES]
    if lines:
        oldest = min(lines, key=lambda line: line.price.date)
        days = (judged.day - oldest.price.date).days
        words = (
            f"the price of {oldest.item or oldest.name} is of {oldest.price.date}, {days} days old"
        )
        yield _Figure(value=Decimal(days), words=words, fix="read it again")


_FIGURES: Final[Mapping[str, Callable[[Judged], Iterator[_Figure]]]] = {
    "monthly_usd": _month,
    "ceiling_monthly_usd": _ceiling,
    "change_monthly_usd": _change,
    "change_percent": _change_share,
    "usd_per_1m_output_tokens": _tokens,
    "idle_percent": _idle,
    "price_age_days": _age,
}
"""One function per key of `Limits`."""
