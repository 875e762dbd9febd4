"""Rules about pools of GPU nodes and how long their nodes last."""

from collections.abc import Iterator
from typing import Any

from berth.rules.environment import says_production, tag_and_label_values
from berth.rules.resource import Resource
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import GPU_KEY
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.placement import candidate_pools, read_terms
from berth.rules.stack_view.pod import Pod
from berth.rules.stack_view.pool import Pool
from berth.rules.stack_view.workload import Workload
from berth.rules.unknown import KnownAfterApplyError

_AUTOSCALER_TAG = "k8s.io/cluster-autoscaler/"


def _find_unlabelled(pool: Pool, context: Context) -> Iterator[Breach]:
    if pool.kind != "node group" or pool.vendor is None:
        return
    own = {key: entry.known() for key, entry in pool.labels.entries().items()}
    others = [other for other in context.view.pools if _is_cpu_pool(other)]
    for other in others:
        shared = {key: entry.value for key, entry in other.labels.entries().items()}
        own = {key: value for key, value in own.items() if shared.get(key) != value}
    if own:
        return
    like = f" but those of CPU pool {others[0].name}" if others and pool.labels.value else ""
    yield Breach(
        where=pool.name,
        what=f"node group of GPUs has no label{like}, so nothing can ask for it or keep away",
        change="give it a label of its own",
        fix=f"set {pool.labels.path}.pool to {pool.name}",
    )


def _is_cpu_pool(pool: Pool) -> bool:
    try:
        return pool.has_no_gpus is True
    except KnownAfterApplyError:
        return False


GPU_POOL_UNLABELLED = Rule(
    id="gpu-pool-unlabelled",
    title="A pool of GPU nodes has a label that no CPU pool has.",
    severity="low",
    level="advisory",
    scope="stack",
    reads="labels and instance types of node groups",
    why="pods cannot be steered to GPU nodes or away from them",
    source="https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/",
    subjects=lambda view: view.pools,
    judge=_find_unlabelled,
)


def _find_untagged(pool: Pool, context: Context) -> Iterator[Breach]:
    vendor = pool.vendor if pool.kind == "Auto Scaling group" else None
    if vendor is None or pool.node_bound("minSize") != 0:
        return
    keys = set(_tag_keys(pool, context.view))
    wanted = f"{_AUTOSCALER_TAG}node-template/resources/{GPU_KEY[vendor]}"
    if f"{_AUTOSCALER_TAG}enabled" not in keys or wanted in keys:
        return
    count = min(node.count for node in pool.nodes)
    yield Breach(
        where=pool.name,
        what=f"the group may shrink to 0 nodes and has no tag {wanted}, so the autoscaler does "
        "not know that a new node has GPUs",
        change="say what a node has",
        fix=f'add tag {{key: {wanted}, value: "{count}", propagateAtLaunch: true}}',
    )


def _tag_keys(pool: Pool, view: StackView) -> Iterator[Any]:
    for tag in pool.body.at("tags").items():
        yield tag.at("key").known()
    group = pool.body.at("name").value
    for resource in view.of_type("aws:autoscaling/tag:Tag"):
        body = Field(resource.props)
        owner = body.at("autoscalingGroupName")
        if owner.is_unknown or owner.value == group:
            yield body.at("tag", "key").known()


SCALE_FROM_ZERO_TAGS = Rule(
    id="scale-from-zero-tags",
    title="A group that may shrink to no node tells the autoscaler about its GPUs.",
    severity="medium",
    level="advisory",
    scope="stack",
    reads="sizes, tags and launch templates of Auto Scaling groups",
    why="the autoscaler never starts the first node, and GPU pods stay Pending",
    source="https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md",
    subjects=lambda view: view.pools,
    judge=_find_untagged,
)


def _find_spot(pool: Pool, context: Context) -> Iterator[Breach]:
    if pool.vendor is None or pool.name in _allowed(context) or not _is_production(pool, context):
        return
    where = _spot_where(pool)
    if where is None or _is_for_batch(pool, context.view):
        return
    path, wanted = where
    yield Breach(
        where=pool.name,
        what=f"{path} makes GPU nodes of a production stack Spot instances, which may end two "
        "minutes after a notice: sooner than a model loads",
        change="use on-demand nodes, and Spot for batch work",
        fix=f"set {path} to {wanted}",
    )


def _allowed(context: Context) -> list[Any]:
    stated = context.options.get("allowSpot")
    return stated if isinstance(stated, list) else []


def _is_production(pool: Pool, context: Context) -> bool:
    if context.environment is not None:
        return context.environment == "prod"
    labels = pool.labels
    own = [] if labels.is_unknown else [entry.value for entry in labels.entries().values()]
    return any(map(says_production, (*own, *tag_and_label_values(pool.resource.props))))


def _spot_where(pool: Pool) -> tuple[str, str] | None:
    """The setting that makes nodes Spot, and its other value."""
    if pool.kind == "node group":
        capacity = pool.body.at("capacityType")
        return (capacity.path, "ON_DEMAND") if capacity.text() == "SPOT" else None
    if pool.kind == "node pool":
        choices = pool.requirements.choices("karpenter.sh/capacity-type")
        is_spot = "spot" in choices and "on-demand" not in choices
        path = pool.requirements.listed.path
        return (f"karpenter.sh/capacity-type of {path}", "on-demand") if is_spot else None
    distribution = pool.body.at("mixedInstancesPolicy", "instancesDistribution")
    share = distribution.at("onDemandPercentageAboveBaseCapacity")
    base = distribution.at("onDemandBaseCapacity")
    if not share.is_absent and (share.integer() or 0) < 100 and not base.integer():
        return base.path, "the nodes that must stay"
    template = pool.launch_template
    if isinstance(template, Resource):
        market = Field(template.props).at("instanceMarketOptions", "marketType")
        return (market.path, "on-demand, by removing it") if market.text() == "spot" else None
    return None


def _is_for_batch(pool: Pool, view: StackView) -> bool:
    """Whether only Jobs of the stack can be put on it."""
    users = [p.workload for p in view.pods() if p.is_gpu_workload and _may_use(p, pool, view)]
    return bool(users) and all(isinstance(w, Workload) and w.is_job for w in users)


def _may_use(pod: Pod, pool: Pool, view: StackView) -> bool:
    return pool in candidate_pools(pod.spec, view.pools, frozenset()).all


SPOT_IN_PROD = Rule(
    id="spot-in-prod",
    title="GPU nodes of production are not Spot instances.",
    severity="high",
    level="advisory",
    mandatory_in_prod=True,
    scope="stack",
    reads="capacity type, mixed instances and requirements of GPU pools; name, tags and labels",
    why="nodes are taken back faster than a large model loads",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-interruptions.html",
    subjects=lambda view: view.pools,
    judge=_find_spot,
    options={
        "allowSpot": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Names of pools that may be Spot.",
        }
    },
)


def _find_unprotected(pod: Pod, context: Context) -> Iterator[Breach]:
    workload = pod.workload
    if isinstance(workload, Workload) and workload.is_job:
        return
    annotation = pod.metadata.at("annotations", "karpenter.sh/do-not-disrupt")
    if annotation.boolean() is True or not pod.is_gpu_workload:
        return
    for pool in _karpenter_pools(pod, context.view):
        policy = _consolidates(pool)
        if policy:
            yield Breach(
                where=pod.resource.name,
                what=f"pool {pool.name} consolidates {policy} and may end this pod while it loads "
                "or serves",
                change="protect the pod, or consolidate only empty nodes",
                fix=f'set {annotation.path or "metadata.annotations"} to "true"',
            )
            return


def _karpenter_pools(pod: Pod, view: StackView) -> Iterator[Pool]:
    pools = view.pools_for(pod)
    is_free = not any(read_terms(pod.spec))
    for pool in pools or (view.pools if is_free else ()):
        if pool.kind == "node pool" and pool.vendor:
            yield pool


def _consolidates(pool: Pool) -> str | None:
    """The policy under which nodes with pods are ended; None if they are not."""
    disruption = pool.body.at("spec", "disruption")
    policy = disruption.at("consolidationPolicy").text() or "WhenEmptyOrUnderutilized"
    if policy == "WhenEmpty" or disruption.at("consolidateAfter").text() == "Never":
        return None
    for budget in disruption.at("budgets").items():
        nodes = budget.at("nodes").known()
        reasons = [reason.text() for reason in budget.at("reasons").items()]
        if str(nodes) in ("0", "0%") and (not reasons or "Underutilized" in reasons):
            return None
    return policy


DISRUPTION_UNPROTECTED = Rule(
    id="disruption-unprotected",
    title="Karpenter does not move a GPU pod while it loads or serves.",
    severity="medium",
    level="advisory",
    mandatory_in_prod=True,
    scope="stack",
    reads="disruption settings of node pools, annotations of GPU pods",
    why="consolidation ends a node in the middle of a download, and it starts again elsewhere",
    source="https://karpenter.sh/docs/concepts/disruption/",
    subjects=StackView.pods,
    judge=_find_unprotected,
)

RULES = (GPU_POOL_UNLABELLED, SCALE_FROM_ZERO_TAGS, SPOT_IN_PROD, DISRUPTION_UNPROTECTED)
