"""`berth plan --stack`: every model server of a stack file, without the engine."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from berth.catalog.load import load_catalog
from berth.cli.load_page import speed_lines
from berth.cli.plan_page import memory_lines
from berth.cli.stack_plan import planned_stack
from berth.config.read import stack_file
from berth.costs.document import priced_plan_document
from berth.costs.from_plan import estimate
from berth.engine.project import find_project
from berth.planner.plan import Plan, ServerPlan
from berth.planner.start import StartFinding, start_document


def plan_stack(stack: str, *, as_json: bool) -> int:
    """Plan the stack called so, or in the file named; print it.

    Raises:
        ConfigError: if it cannot be read.
        PlanError: if it cannot be planned as written.
        ProjectMissingError: if a name is given outside a project.
    """
    named = Path(stack)
    path = named if named.is_file() else stack_file(stack, find_project(Path.cwd()) / "stacks")
    planned = planned_stack(path)
    plan, start = planned.plan, planned.start
    if as_json:
        print(
            json.dumps(
                {"stack": stack}
                | priced_plan_document(plan, estimate(plan, load_catalog()))
                | {"start": start_document(start)},
                indent=2,
            )
        )
    else:
        _print(plan, start)
    return 0 if all(server.fits for server in plan.servers.values()) else 1


def _print(plan: Plan, start: Sequence[StartFinding]) -> None:
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    for server in plan.servers.values():
        where = f"{_tiers(server)}, {server.instance_type or 'nodes of your own'}"
        nodes = server.nodes_per_replica
        over = f", each over {nodes} nodes" if nodes > 1 else ""
        console.print(
            Text(f"{server.name}: ", "bold").append(
                f"{server.model}, {server.replicas} x {server.gpus_per_replica} x {server.gpu} "
                f"({where}{over})",
                "not bold",
            )
        )
        for line in (*server.reasons, *_speed(server), *memory_lines(server.memory)):
            console.print(Text(f"  {line}"))
        console.print(Text(f"  {' '.join(server.vllm_args)}", "dim"))
    console.print(Text("can it start?", "bold"))
    for each in start:
        said = f"; {each.problem}; {each.fix}" if each.problem else ""
        console.print(Text(f"  {each.tier}: {'yes' if each.ok else 'no'}{said}"))


def _tiers(server: ServerPlan) -> str:
    """Its tier, or the tiers of its list with the replicas of each."""
    if len(server.tier_replicas) < 2:
        return f"tier {server.tier}"
    shares = (f"{replicas} on {tier}" for tier, replicas in server.tier_replicas.items())
    return ", ".join(shares)


def _speed(server: ServerPlan) -> Iterator[str]:
    return iter(()) if server.speed is None else speed_lines(server.speed)
