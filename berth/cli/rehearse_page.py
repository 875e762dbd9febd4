"""A rehearsal as a page for a person."""

from collections.abc import Iterator, Sequence

from berth.rehearsal.report import Event, Rehearsed, ServerOutcome


def page(result: Rehearsed) -> str:
    """Verdict, events, nodes, pods, time line, and what was simulated."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Rehearsed) -> Iterator[str]:
    verdict = "fine" if not result.refusals else "not as planned"
    yield f"{result.stack}: {verdict}, rehearsed in {result.seconds:.0f} s"
    for event in result.events:
        yield from _event(event)
    yield ""
    yield from _table(
        ("node", "tier", "GPUs", "free"),
        [(n.name, n.tier or "-", str(n.gpus), str(n.gpus_free)) for n in result.nodes],
    )
    yield ""
    yield from _table(
        ("pod", "node", "tier", "phase", "why"),
        [
            (f"{p.namespace}/{p.name}", p.node or "-", p.tier or "-", p.phase, p.reason)
            for p in sorted(result.pods, key=lambda p: (not p.server, p.namespace, p.name))
        ],
    )
    yield ""
    yield "time line of nodes and model servers (seconds of the rehearsal; --json has all pods)"
    for moment in result.moments:
        if moment.main:
            yield f"  {moment.at_s:6.1f}  {moment.text}"
    yield ""
    yield from _simulated(result)


def _event(event: Event) -> Iterator[str]:
    words = "; ".join(event.lines if event.ok else event.lines[:1])
    yield f"  {event.event:<10} {'ok' if event.ok else 'failed':<7} {event.seconds:6.1f} s  {words}"
    if not event.ok:
        yield from (f"    {line}" for line in event.lines[1:])
    for server in event.servers:
        yield f"    {server.server}: {_outcome(server)}"


def _outcome(server: ServerOutcome) -> str:
    if server.seconds_to_full is None:
        return "not all replicas answer"
    parts = [f"all replicas answer after {server.seconds_to_full} s in life"]
    if server.ttft_ms is not None and server.itl_ms is not None:
        parts.append(f"then planned {server.ttft_ms:.0f} ms TTFT, {server.itl_ms:.1f} ms ITL")
    parts.append(f"its nodes cost {server.usd} USD meanwhile, blocks apart")
    return ", ".join(parts)


def _simulated(result: Rehearsed) -> Iterator[str]:
    """Nothing that only stands for something else goes unsaid."""
    yield "real: Pulumi's engine and Kubernetes plugin, API server, scheduler and controllers"
    yield (
        "simulated: AWS, the nodes and their GPUs, the containers; nodes come and models load "
        f"{result.speed:g} times faster than in life"
    )
    yield "stand-in: the EKS add-ons (same kinds, tolerations and requests)"
    for chart in result.charts:
        where = {
            "stand-in": "stand-in: chart {} {} (same workloads, tolerations and selectors)",
            "folder": "real: chart {} {}, from the folder given",
            "repository": "real: chart {} {}, from its repository",
        }[chart.origin]
        yield where.format(chart.name, chart.version)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        fitted = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        yield f"  {'  '.join(fitted)}".rstrip()
