"""Rules about how many GPUs pools can ever have, and what wants them."""

import math
from collections.abc import Iterator
from typing import Final

from berth.rules.rule import Breach, Context, Rule, counted
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import GPU_KEY, parse_quantity
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.nodes import INSTANCE_TYPE_OPTION
from berth.rules.stack_view.pod import Pod
from berth.rules.stack_view.pool import Pool
from berth.rules.stack_view.sharing import capacity_of
from berth.rules.stack_view.workload import Workload

_NO_BOUND: Final = math.inf


def _find_beyond_capacity(subject: Pod | Pool, context: Context) -> Iterator[Breach]:
    if isinstance(subject, Pod):
        yield from _pod_beyond_node(subject, context)
    else:
        yield from _demand_beyond_pool(subject, context.view)


def _subjects(view: StackView) -> Iterator[Pod | Pool]:
    yield from view.pods()
    yield from view.pools


def _pod_beyond_node(pod: Pod, context: Context) -> Iterator[Breach]:
    asked = {k: n for k, n in (pod.gpus_by_key or {}).items() if "/mig-" not in k}
    if len(asked) != 1:
        return
    ((key, count),) = asked.items()
    alternatives = context.view.nodes_of(pod, context.options)
    rooms = [_room(nodes.pool, nodes.kinds, key, context.view) for nodes in alternatives]
    if rooms and all(room is not None and room[1] < count for room in rooms):
        name, room_count = next(room for room in rooms if room)
        yield Breach(
            where=pod.resource.name,
            what=f"one pod asks for {count} {key} and a node of {name} has {room_count}",
            change="ask for fewer, or use larger nodes",
            fix=f"set {key} to {room_count}, or use an instance type with {count} GPUs",
        )


def _room(
    pool: Pool | None, kinds: tuple[tuple[str, object], ...], key: str, view: StackView
) -> tuple[str, int] | None:
    """Name of the nodes and how much of a resource one has; None where nobody can say."""
    if pool is not None and pool.gpu_types:
        room = capacity_of(pool, key, view)
        return None if room is None else (f"pool {pool.name}", room)
    if key not in GPU_KEY.values():
        return None
    return kinds[0][0], min(getattr(node, "count", 0) for _, node in kinds)


def _demand_beyond_pool(pool: Pool, view: StackView) -> Iterator[Breach]:
    for key in (*GPU_KEY.values(), "nvidia.com/gpu.shared"):
        total, names = _demand(pool, key, view)
        if not total:
            continue
        most = _most(pool, key, view)
        if most is None or total <= most:
            continue
        node = capacity_of(pool, key, view) or 1
        yield Breach(
            where=pool.name,
            what=f"pods of {', '.join(names)} want {total} {key} here and it has at most {most:g}",
            change="let it grow, or run fewer replicas",
            fix=_growth(pool, key, total, node),
            level="advisory",
        )


def _growth(pool: Pool, key: str, total: int, node: int) -> str:
    if pool.kind == "node pool":
        return f"set {pool.body.at('spec', 'limits', key).path} to {total}"
    path = "scalingConfig.maxSize" if pool.kind == "node group" else "maxSize"
    return f"set {path} to {-(-total // node)}"


def _demand(pool: Pool, key: str, view: StackView) -> tuple[int, list[str]]:
    """What workloads want that only this pool can take, and their names; Jobs wait their turn."""
    total, names = 0, []
    for pod in view.pods():
        if not isinstance(pod.workload, Workload) or pod.workload.is_job:
            continue
        each = (pod.gpus_by_key or {}).get(key, 0)
        if not each or view.pools_for(pod) != (pool,):
            continue
        if pod.workload.kind == "DaemonSet":
            continue
        total += each * pod.count
        if pod.resource.name not in names:
            names.append(pod.resource.name)
    return total, names


def _most(pool: Pool, key: str, view: StackView) -> float | None:
    """The most of a resource that a pool can have; None where nobody can say."""
    node = capacity_of(pool, key, view)
    if node is None:
        return None
    if pool.kind == "node pool":
        limit = parse_quantity(pool.body.at("spec", "limits", key).known())
        return _NO_BOUND if limit is None else float(limit)
    nodes = pool.node_bound("maxSize")
    return None if nodes is None else float(nodes * node)


GPU_CAPACITY_EXCEEDED = Rule(
    id="gpu-capacity-exceeded",
    title="Pods ask for no more GPUs than their nodes and pools can have.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="accelerators and replicas of workloads; instance types, sizes and limits of pools",
    why="the pods that are left over stay Pending, and no autoscaler can help",
    source="https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/",
    subjects=_subjects,
    judge=_find_beyond_capacity,
    options=INSTANCE_TYPE_OPTION,
)


def _find_deadlock(workload: Workload, context: Context) -> Iterator[Breach]:
    strategy = workload.body.at("spec", "strategy")
    if workload.kind != "Deployment" or strategy.at("type").text() == "Recreate":
        return
    pod = workload.pods[0]
    asked = {key: n for key, n in (pod.gpus_by_key or {}).items() if n}
    replicas = pod.count
    rolling = strategy.at("rollingUpdate")
    surge = _share(rolling.at("maxSurge"), replicas, up=True)
    unavailable = _share(rolling.at("maxUnavailable"), replicas, up=False)
    if len(asked) != 1 or surge is None or unavailable is None or not surge or unavailable:
        return
    ((key, each),) = asked.items()
    fix = "set spec.strategy.rollingUpdate to {maxSurge: 0, maxUnavailable: 1}"
    pools = context.view.pools_for(pod)
    if not pools:
        yield Breach(
            where=workload.resource.name,
            what=f"an update starts {counted(surge, 'more pod')} of {each} {key} before it ends "
            "one, and no pool of this stack shows room for them",
            change="end one pod first",
            fix=fix,
            level="advisory",
        )
        return
    spare = _spare(pools, key, context.view)
    if spare is None or spare >= each * surge:
        return
    yield Breach(
        where=workload.resource.name,
        what=f"an update starts {counted(surge, 'more pod')} of {each} {key} before it ends one, "
        f"and pool {pools[0].name} has {max(0, spare):g} to spare",
        change="end one pod first, or let the pool grow",
        fix=fix,
    )


def _spare(pools: tuple[Pool, ...], key: str, view: StackView) -> float | None:
    """What is left of a resource when all replicas run; None where nobody can say."""
    rooms = [_most(pool, key, view) for pool in pools]
    if any(room is None for room in rooms):
        return None
    used = 0
    for pod in view.pods():
        each = (pod.gpus_by_key or {}).get(key, 0)
        mine = view.pools_for(pod) if each else ()
        if mine and set(mine) <= set(pools):
            used += each * pod.count
    return sum(room for room in rooms if room is not None) - used


def _share(stated: Field, replicas: int, *, up: bool) -> int | None:
    """A number of pods, given as such or as a percentage; 25 % where it is left out."""
    value = "25%" if stated.is_absent else stated.known()
    if isinstance(value, str) and value.strip().endswith("%"):
        percentage = parse_quantity(value.strip().removesuffix("%"))
        if percentage is None:
            return None
        pods = float(percentage) * replicas / 100
        return math.ceil(pods) if up else math.floor(pods)
    return stated.integer()


def _workloads(view: StackView) -> Iterator[Workload]:
    return (workload for workload in view.workloads if workload.kind == "Deployment")


ROLLOUT_DEADLOCK = Rule(
    id="rollout-deadlock",
    title="An update of a Deployment needs no GPUs that its pool does not have.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="strategy, replicas and accelerators of Deployments; sizes and limits of pools",
    why="the new pod waits for GPUs that the old one keeps until the new one is ready",
    source="https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment",
    subjects=_workloads,
    judge=_find_deadlock,
)

RULES = (GPU_CAPACITY_EXCEEDED, ROLLOUT_DEADLOCK)
