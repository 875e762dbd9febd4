"""A preview as one page of text for a person."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from berth.cli.load_page import speed_lines
from berth.cli.preview_report import Report
from berth.cli.resource_notes import note
from berth.config.stack import CapacityBlock
from berth.costs.estimate import Estimate
from berth.costs.money import with_commas
from berth.costs.render import estimate_notes, estimate_rows
from berth.engine.preview import PreviewedResource
from berth.planner.calendar import calendar_lines
from berth.planner.plan import MemoryPlan, Plan, PoolPlan, ServerPlan

_SIGNS = {"create": "+", "update": "~", "replace": "±", "delete": "-", "same": " "}
_STYLES = {"create": "green", "update": "yellow", "replace": "magenta", "delete": "red"}
_WORDS = {
    "create": "to create",
    "update": "to change",
    "replace": "to replace",
    "delete": "to delete",
    "same": "unchanged",
}
_BAR_CELLS = 60
_FILE_WIDTH = 160
"""Columns where the page goes to a file or a pipe."""


def print_page(report: Report) -> None:
    """Write the whole page to standard output, the verdict at both ends."""
    width = None if sys.stdout.isatty() else _FILE_WIDTH
    console = Console(highlight=False, soft_wrap=True, emoji=False, width=width)
    console.print(Text(_heading(report), "bold"))
    for line in _verdict(report):
        console.print(Text("  ").append_text(line))
    for title, lines in (
        (f"Resources: {_counts(report.preview.resources)}", _resources(report.preview.resources)),
        ("Plan", _plan(report.plan)),
        ("Can it start?", _start(report)),
        ("Reservations", [Text(line) for line in calendar_lines(report.plan)]),
        ("Policies", _policies(report)),
    ):
        lines = list(lines)
        if title == "Reservations" and not lines:
            continue
        console.print(Text(f"\n{title}", "bold"))
        for line in lines:
            console.print(Text("  ").append_text(line))
    _print_cost(console, report.estimate)
    console.print()
    console.print(next(_verdict(report)))


def _heading(report: Report) -> str:
    plan = report.plan
    where = plan.region or "a cluster that exists"
    return f"{report.stack}: {plan.environment}, {where}, prices as of {plan.as_of}"


def _verdict(report: Report) -> Iterator[Text]:
    """What a reviewer decides by: may it go up, what it costs, what of it stands idle."""
    refusals = len(report.refusals)
    advice = len(report.findings) - refusals
    verdict = f"refused: {_count(refusals, 'mandatory finding')}" if refusals else "fine"
    line = Text(verdict, "bold red" if refusals else "bold green")
    line.append(f", {advice} to consider" if advice else "", "yellow")
    stopped = dict.fromkeys(str(each["tier"]) for each in report.start if not each["ok"])
    line.append(f", {', '.join(stopped)} cannot start" if stopped else "", "red")
    least = "at least " if report.estimate.at_least else ""
    floor, plan, ceiling = (
        with_commas(total.usd_per_month)
        for total in (report.estimate.floor, report.estimate.plan, report.estimate.ceiling)
    )
    line.append(f"; {least}{plan} USD a month ({floor} to {ceiling})")
    for paid in report.estimate.one_off:
        line.append(f", and {with_commas(paid.usd)} USD paid once")
    yield line
    per_token = {each.name: each.usd_per_1m_output_tokens for each in report.estimate.servers}
    for server in report.plan.servers.values():
        usd = per_token.get(server.name)
        yield Text(
            f"{server.name}: {server.model} in {_format(server)}, "
            f"{_count(server.replicas, 'replica')} of "
            f"{_count(server.gpus_per_replica, report.plan.pools[server.tier].device)} "
            f"{_over_nodes(server)}on {server.tier}"
            + (f", {with_commas(usd)} USD per million output tokens" if usd is not None else "")
        )
    for pool in report.plan.pools.values():
        gpus = pool.planned_nodes * pool.gpus_per_node
        yield Text(
            f"{pool.tier}: {_count(pool.planned_nodes, 'node')} planned, "
            f"{pool.gpus_requested} of {_count(gpus, pool.device)} asked for"
        )


def _print_cost(console: Console, estimate: Estimate) -> None:
    """The table folds its first column where the terminal is too narrow for it."""
    heading, *rows = estimate_rows(estimate)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for index, title in enumerate(heading):
        number = index > 0
        table.add_column(title, justify="right" if number else "left", no_wrap=number)
    for row in rows:
        table.add_row(*row)
    console.print(Text("\nCost", "bold"))
    console.print(Padding(table, (0, 0, 0, 2), expand=False), soft_wrap=False)
    for line in estimate_notes(estimate):
        console.print(Text(f"  {line}"))


def _counts(resources: Sequence[PreviewedResource]) -> str:
    counts = Counter(resource.op for resource in resources)
    return ", ".join(f"{n} {_WORDS.get(op, op)}" for op, n in counts.items()) or "none"


def _resources(resources: Sequence[PreviewedResource]) -> Iterator[Text]:
    """Every resource below its component."""
    known = {resource.urn for resource in resources}
    children: dict[str, list[PreviewedResource]] = {}
    for resource in resources:
        children.setdefault(resource.parent if resource.parent in known else "", []).append(
            resource
        )

    def below(parent: str, depth: int) -> Iterator[Text]:
        for resource in children.get(parent, ()):
            yield _resource(resource, depth)
            yield from below(resource.urn, depth + 1)

    yield from below("", 0)


def _resource(resource: PreviewedResource, depth: int) -> Text:
    said = note(resource.type, resource.inputs)
    if resource.op in ("update", "replace") and resource.changed:
        said = f"changes {', '.join(resource.changed)}" + (f"; {said}" if said else "")
    line = Text("  " * depth)
    sign = _SIGNS.get(resource.op, "?")
    line.append(f"{sign} {resource.type} {resource.name}", _STYLES.get(resource.op, ""))
    return line.append(f"  {said}" if said else "", "dim")


def _plan(plan: Plan) -> Iterator[Text]:
    for server in plan.servers.values():
        yield from _server(server, plan.pools[server.tier].device)
    for pool in plan.pools.values():
        yield _pool(pool)


def _server(server: ServerPlan, device: str) -> Iterator[Text]:
    where = f"{server.tier} ({server.instance_type or 'existing nodes'}, {server.gpu})"
    yield Text(f"{server.name}: ", "bold").append(
        f"{server.model}, {_format(server)}, on {where}", "not bold"
    )
    yield Text(
        f"  {_count(server.replicas, 'replica')} of {_count(server.gpus_per_replica, device)} "
        f"{_over_nodes(server)}(tensor parallel {server.tensor_parallel_size}{_stages(server)}) on "
        f"{_count(server.nodes, 'node')}; "
        f"requests of up to {server.max_model_len:,} tokens, {server.max_num_seqs} at once; "
        f"rollout {server.rollout}"
    )
    if server.speed is not None:
        yield from (Text(f"  {line}") for line in speed_lines(server.speed))
    yield from (Text(f"  {line}") for line in _memory(server.memory))
    for reason in server.reasons:
        yield Text(f"  does not fit: {reason}", "red")
    yield Text(f"  {server.image} {' '.join(server.vllm_args)}", "dim")


def _over_nodes(server: ServerPlan) -> str:
    nodes = server.nodes_per_replica
    return f"over {_count(nodes, 'node')} each " if nodes > 1 else ""


def _stages(server: ServerPlan) -> str:
    stages = server.pipeline_parallel_size
    return f", pipeline parallel {stages}" if stages > 1 else ""


def _format(server: ServerPlan) -> str:
    return "16 bit" if server.quantization == "none" else server.quantization


def _memory(memory: MemoryPlan) -> Iterator[str]:
    parts = (
        ("weights", memory.weights_gib, "#"),
        ("activations", memory.activation_peak_gib, "+"),
        ("CUDA graphs", memory.cuda_graphs_gib, "g"),
        ("other", memory.non_torch_gib, "o"),
        ("KV cache", max(0.0, memory.kv_cache_gib), "k"),
        ("left free", memory.visible_gib - memory.requested_gib, "."),
    )
    shown = [part for part in parts if part[1] >= 0.005]
    yield f"{memory.visible_gib:.2f} GiB per GPU: " + ", ".join(
        f"{name} {gib:.2f} [{mark}]" for name, gib, mark in shown
    )
    yield "[" + "".join(mark * _cells(gib, memory) for _, gib, mark in shown) + "]"
    yield (
        f"KV cache for {memory.kv_cache_tokens:,} tokens, {memory.max_concurrency:.1f} requests of "
        f"full length; one needs {memory.needed_kv_gib:.2f} GiB; uncertain by "
        f"{memory.error_gib:.2f} GiB, a first start takes {memory.cold_start_extra_gib:.2f} more"
    )


def _cells(gib: float, memory: MemoryPlan) -> int:
    return max(1, round(gib / memory.visible_gib * _BAR_CELLS))


def _pool(pool: PoolPlan) -> Text:
    nodes = f"nodes {pool.min_nodes} / {pool.planned_nodes} / {pool.max_nodes} (min/planned/max)"
    spare = pool.planned_nodes * pool.gpus_per_node - pool.gpus_requested
    capacity: str = pool.capacity.type if pool.capacity else "nodes that exist"
    if isinstance(pool.capacity, CapacityBlock):
        capacity += " (EKS itself wants min 0 of a block)"
    return Text(
        f"tier {pool.tier}: {pool.instance_type or pool.gpu}, {capacity}, {nodes}, "
        f"{_count(pool.gpus_requested, pool.device)} asked for, {spare} idle on the planned nodes"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _start(report: Report) -> Iterator[Text]:
    if report.offline and report.plan.region:
        yield Text("offline: every type is assumed to be offered in every zone", "dim")
    for found in report.start:
        word, style = ("yes", "green") if found["ok"] else ("no", "red")
        line = Text(f"{found['tier']}: ").append(word, style)
        yield line.append(f"; {found['problem']}" if found["problem"] else "")
        if found["fix"]:
            yield Text(f"  {'fix' if not found['ok'] else 'to do'}: {found['fix']}")


def _policies(report: Report) -> Iterator[Text]:
    if not report.findings:
        yield Text("no findings", "green")
    for finding in report.findings:
        style = "red" if finding.enforcement_level == "mandatory" else "yellow"
        yield Text(f"{finding.enforcement_level} ", style).append(
            f"{finding.kind}: {finding.message}", "default"
        )
        yield Text(f"  fix: {finding.fix}")
    for entry in report.not_checked:
        yield Text("unknown ", "cyan").append(f"{entry.kind}: {entry.message}", "default")
    yield from (Text(f"warning: {line}", "yellow") for line in report.preview.warnings)
