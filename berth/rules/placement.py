"""Rules about which pods GPU nodes take and keep away."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from berth.rules.rule import Breach, Context, Rule, counted
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import GPU_KEY, Vendor, vendor_of_key
from berth.rules.stack_view.chart import Chart
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.placement import Candidates, candidate_pools, read_terms
from berth.rules.stack_view.pool import Pool
from berth.rules.stack_view.tolerations import Taint, not_tolerated
from berth.rules.stack_view.workload import Pod
from berth.rules.unknown import KnownAfterApplyError


def _find_untainted(pool: Pool, context: Context) -> Iterator[Breach]:
    if context.options.get("dedicatedCluster") is True or pool.is_of_auto_mode:
        return
    if pool.kind == "Auto Scaling group":
        return
    vendor = pool.vendor
    if vendor is None or pool.taints:
        return
    effect = "NoSchedule" if pool.kind == "node pool" else "NO_SCHEDULE"
    taint = f"{{key: {GPU_KEY[vendor]}, value: present, effect: {effect}}}"
    path = pool.body.at(*pool.taints_path)
    yield Breach(
        where=pool.name,
        what=f"{_types(pool)} and no NoSchedule or NoExecute taint, so any pod may fill it",
        change=f"taint it with {GPU_KEY[vendor]}",
        fix=_add(taint, path),
    )


def _types(pool: Pool) -> str:
    try:
        types = pool.gpu_types
    except KnownAfterApplyError:
        return f"{pool.kind} of {pool.body.at('amiType').value} has GPUs"
    return f"{pool.kind} of {', '.join(types)} has GPUs"


GPU_POOL_UNTAINTED = Rule(
    id="gpu-pool-untainted",
    title="A pool of GPU nodes has a taint that keeps other pods off.",
    severity="medium",
    level="advisory",
    mandatory_in_prod=True,
    scope="stack",
    reads="instance types and taints of node groups and Karpenter node pools, launch templates",
    why="one stray pod can fill a GPU node, or keep an idle one from being given back",
    source="https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#example-use-cases",
    subjects=lambda view: view.pools,
    judge=_find_untainted,
    options={
        "dedicatedCluster": {
            "type": "boolean",
            "default": False,
            "description": "The cluster runs nothing but GPU workloads.",
        }
    },
)


@dataclass(frozen=True, slots=True)
class _Visitor:
    """Something that must get onto GPU nodes: where it may go and what it tolerates."""

    where: str
    placement: Field
    tolerations: Field
    vendors: frozenset[Vendor]


def _find_blocked(subject: Pod | Chart, context: Context) -> Iterator[Breach]:
    pools = context.view.pools
    if not pools:
        return
    for visitor in _of_chart(subject) if isinstance(subject, Chart) else _of_pod(subject):
        candidates = candidate_pools(visitor.placement, pools, visitor.vendors)
        blocking = _blocking_pools(candidates, visitor.tolerations)
        if blocking:
            yield _breach(visitor, blocking)


def _subjects(view: StackView) -> Iterator[Pod | Chart]:
    yield from view.pods()
    yield from view.charts


def _of_pod(pod: Pod) -> Iterator[_Visitor]:
    vendors: set[Vendor] = set()
    goes_to_gpus = False
    for container in pod.containers:
        keys = container.asked_keys
        vendors.update(map(vendor_of_key, keys))
        is_agent = pod.workload.kind == "DaemonSet" and container.is_gpu_agent
        goes_to_gpus = goes_to_gpus or bool(keys) or is_agent or container.is_model_server
    if goes_to_gpus:
        yield _Visitor(pod.resource.name, pod.spec, pod.spec.at("tolerations"), frozenset(vendors))


def _of_chart(chart: Chart) -> Iterator[_Visitor]:
    vendor = chart.vendor
    if vendor is None:
        return
    for listed in chart.toleration_lists():
        yield _Visitor(chart.resource.name, chart.values, listed.tolerations, frozenset({vendor}))


def _blocking_pools(candidates: Candidates, tolerations: Field) -> list[tuple[Pool, list[Taint]]]:
    """The candidates with the taints that are not tolerated; none if one of them can be entered.

    Raises:
        KnownAfterApplyError: if the answer rests on what is known after apply.
    """
    blocking: list[tuple[Pool, list[Taint]]] = []
    undecided: list[KnownAfterApplyError] = []
    for pool in candidates.all:
        is_certain = pool in candidates.certain
        try:
            if pool.taints is None:
                return []
            missing = not_tolerated(pool.taints, tolerations)
        except KnownAfterApplyError as error:
            undecided.append(error)
            continue
        if is_certain and not missing:
            return []
        if missing:
            blocking.append((pool, missing))
        if not (is_certain or (missing and candidates.certain)):
            undecided.append(KnownAfterApplyError(f"whether pool {pool.name} takes it"))
    if undecided:
        raise undecided[0]
    return blocking


def _breach(visitor: _Visitor, blocked: Sequence[tuple[Pool, list[Taint]]]) -> Breach:
    pool, missing = min(blocked, key=lambda entry: len(entry[1]))
    taints = " and ".join(str(taint) for taint in missing)
    others = f" (nor those of {counted(len(blocked) - 1, 'more pool')})" if len(blocked) > 1 else ""
    path = visitor.tolerations.path
    return Breach(
        where=visitor.where,
        what=f"{path} does not tolerate {taints} of pool {pool.name}{others}, where it must run",
        change="tolerate what the pool is tainted with",
        fix=_add(", ".join(taint.toleration for taint in missing), visitor.tolerations),
    )


def _add(entries: str, listed: Field) -> str:
    """How to add to a list of the resource, which may not be there yet."""
    before, _, key = listed.path.rpartition(".")
    if listed.value:
        return f"add {entries} to {listed.path}"
    return f"add {key}: [{entries}]" + (f" to {before}" if before else "")


MISSING_TOLERATION = Rule(
    id="missing-toleration",
    title="What runs on GPU nodes tolerates the taints of a pool that it may be put on.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="taints and labels of GPU pools; tolerations, node selector and affinity of "
    "GPU workloads, GPU agents and the charts that bring them",
    why="the pod stays Pending for ever, and an agent's DaemonSet shows 0 desired",
    source="https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    subjects=_subjects,
    judge=_find_blocked,
)


def _find_unsatisfiable(pod: Pod, context: Context) -> Iterator[Breach]:
    gpu_pools = [pool for pool in context.view.pools if pool.vendor is not None]
    if not gpu_pools or not pod.is_gpu_workload or not any(read_terms(pod.spec)):
        return
    if candidate_pools(pod.spec, context.view.pools, frozenset()).all:
        return
    wanted = " or ".join(
        " and ".join(str(demand) for demand in term) for term in read_terms(pod.spec)
    )
    pool = gpu_pools[0]
    stated = pool.labels.entries().items()
    label = next(((k, v.value) for k, v in stated if isinstance(v.value, str)), None)
    offer = f"{label[0]}: {label[1]}" if label else f"a label of pool {pool.name}"
    yield Breach(
        where=pod.resource.name,
        what=f"its pod wants nodes with {wanted}, and no GPU pool of this stack has them",
        change="select a label that a pool has",
        fix=f"set {pod.spec.at('nodeSelector').path} to {{{offer}}}",
    )


PLACEMENT_UNSATISFIABLE = Rule(
    id="placement-unsatisfiable",
    title="A GPU pod selects nodes that a pool of the stack makes.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="node selector and required affinity of GPU pods; labels and instance types of pools",
    why="no node ever matches, and the pod stays Pending",
    source="https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/",
    subjects=StackView.pods,
    judge=_find_unsatisfiable,
)

RULES: tuple[Rule, ...] = (GPU_POOL_UNTAINTED, MISSING_TOLERATION, PLACEMENT_UNSATISFIABLE)
