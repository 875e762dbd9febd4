"""An estimate as text: what recurs, what is paid once, the price of tokens, what idles."""

from collections.abc import Iterator
from decimal import Decimal

from berth.costs.estimate import Estimate, ServerCost, Total
from berth.costs.money import with_commas
from berth.costs.owners import owner_totals
from berth.costs.render import estimate_lines


def cost_lines(estimate: Estimate) -> list[str]:
    """The whole page."""
    return [
        *estimate_lines(estimate),
        *_servers(estimate),
        *_idle(estimate),
        *_owners(estimate),
    ]


def _servers(estimate: Estimate) -> Iterator[str]:
    if estimate.servers:
        yield "model servers:"
    for server in estimate.servers:
        yield f"  {server.name} on {server.tier}: {_money(server)}{_tokens(server)}"


def _owners(estimate: Estimate) -> Iterator[str]:
    found = owner_totals(estimate)
    if found:
        yield "by owner, as planned:"
    for each in found:
        booked = f" ({each.cost_center})" if each.cost_center else ""
        once = f", and {with_commas(each.one_off_usd)} USD paid once" if each.one_off_usd else ""
        month = with_commas(Total(usd_per_hour=each.amounts.plan).usd_per_month)
        yield f"  {each.owner or 'nobody named'}{booked}: {month} USD a month{once}"


def _money(server: ServerCost) -> str:
    gpus = (
        f"{server.gpus} GPU{'s' if server.gpus != 1 else ''}, {server.node_share:.0%} of its nodes"
    )
    if server.usd_per_hour is None:
        return f"{gpus}, whose price is not known"
    once = " of a fee paid once" if server.is_paid_once else ""
    return f"{gpus}, {with_commas(server.usd_per_hour)} USD an hour{once}"


def _tokens(server: ServerCost) -> str:
    if server.usd_per_1m_output_tokens is None:
        return "; no load is stated, so no price per token"
    said = f"; {with_commas(server.usd_per_1m_output_tokens)} USD per million output tokens"
    if server.usd_per_1m_input_tokens is not None:
        said += f", or {with_commas(server.usd_per_1m_input_tokens)} per million input tokens"
    if server.at_full_load is not None and server.utilization is not None:
        said += (
            f", at {server.utilization:.0%} of what it can answer; "
            f"{with_commas(server.at_full_load)} at full load"
        )
    return said


def _idle(estimate: Estimate) -> Iterator[str]:
    total = sum((each.usd_per_hour for each in estimate.idle), Decimal(0))
    if estimate.idle:
        yield f"idle as planned: {with_commas(total)} USD an hour"
    for each in estimate.idle:
        yield (
            f"  {each.tier}: {each.gpus} GPU{'s' if each.gpus != 1 else ''} {each.reason}, "
            f"{with_commas(each.usd_per_hour)} USD an hour"
        )
