"""An estimate as text: what recurs, what is paid once, the price of tokens, what idles."""

from collections.abc import Iterator
from decimal import Decimal

from berth.costs.estimate import Estimate, ServerCost
from berth.costs.money import with_commas
from berth.costs.render import estimate_lines


def cost_lines(estimate: Estimate, *, cold_start: bool = False) -> list[str]:
    """The whole page; with what it takes to start the servers where that is asked for."""
    starts = _cold_starts(estimate) if cold_start else ()
    return [*estimate_lines(estimate), *_servers(estimate), *_idle(estimate), *starts]


def _cold_starts(estimate: Estimate) -> Iterator[str]:
    yield "cold start, all replicas at once on nodes that are there:"
    for each in estimate.cold_starts:
        seconds = f"{each.seconds} s"
        if each.seconds_at_most != each.seconds:
            seconds = f"{each.seconds} to {each.seconds_at_most} s"
        gpus, traffic = (
            "unknown" if usd is None else f"{with_commas(usd)} USD"
            for usd in (each.gpu_usd, each.traffic_usd)
        )
        yield (
            f"  {each.server}, {each.words}: {seconds}; GPUs that wait {gpus}, traffic {traffic}"
        )
    if not estimate.cold_starts:
        yield "  of no server: it is known for those of a stack of Berth"


def _servers(estimate: Estimate) -> Iterator[str]:
    if estimate.servers:
        yield "model servers:"
    for server in estimate.servers:
        needed = server.break_even_tokens_per_s(estimate.break_even_usd)
        said = (
            ""
            if needed is None
            else (
                f"; {with_commas(estimate.break_even_usd)} USD per million output tokens needs "
                f"{needed:,.0f} of them a second on average"
            )
        )
        yield f"  {server.name} on {server.tier}: {_money(server)}{_tokens(server)}{said}"


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
            f"; {with_commas(server.unused_usd_per_hour or Decimal(0))} USD an hour serve nothing"
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
