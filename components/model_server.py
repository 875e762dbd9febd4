"""One model server: its replicas and the name under which the cluster reaches them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

from berth.planner.plan import PoolPlan, ServerPlan
from components import naming
from components.model_pod import HTTP_PORT, pod_template
from components.server_group import WAIT_FOR_GROUPS, declare_group

BEFORE_START_S: Final = 600
"""For scheduling and the pull of an image of many gigabytes, before the start-up probe counts."""

SKIP_AWAIT: Final = {"pulumi.com/skipAwait": "true"}

UNSEEN_NODES: Final = {
    "berth.dev/except-rollout-deadlock": "the plan counted the nodes, which no resource shows"
}

STRATEGY: Final[dict[str, dict[str, Any]]] = {
    "surge": {"type": "RollingUpdate", "rolling_update": {"max_surge": 1, "max_unavailable": 0}},
    "one_by_one": {
        "type": "RollingUpdate",
        "rolling_update": {"max_surge": 0, "max_unavailable": 1},
    },
    "recreate": {"type": "Recreate"},
}
"""The ways of the plan in the words of Kubernetes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelServerArgs:
    """Plain values come from the plan."""

    plan: ServerPlan
    pool: PoolPlan
    nodes_expected: bool
    """False: no node of the tier can exist yet, so `up` does not wait for the replicas."""
    after: Sequence[pulumi.Resource] = ()
    """Namespace, Secret, nodes and GPU software."""


class ModelServer(pulumi.ComponentResource):
    """A Deployment of vLLM and a Service that only the cluster reaches.

    Where a replica takes several nodes, a LeaderWorkerSet stands in the Deployment's place.
    With two replicas or more a disruption budget keeps drains from taking several at once. The
    nodes carry our tier label: on a cluster that exists, their owner sets it
    (`kubectl label node NODE berth-gpu/tier=TIER`), since a GPU of another kind would have
    another size than the one planned for.
    """

    endpoint: str
    """Base URL of the OpenAI routes, inside the cluster."""

    def __init__(
        self, name: str, args: ModelServerArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("berth:index:ModelServer", name, None, opts)
        server = args.plan
        over_nodes = server.nodes_per_replica > 1
        self._group(name, args) if over_nodes else self._deployment(name, args)
        select = naming.leader_selector if over_nodes else naming.server_selector
        core.Service(
            name,
            # Pulumi would wait ten minutes for a ready pod, which a large model does not make.
            metadata=_metadata(server, SKIP_AWAIT),
            spec=core.ServiceSpecArgs(
                type="ClusterIP",
                selector=select(server.name),
                ports=[core.ServicePortArgs(name="http", port=HTTP_PORT, target_port="http")],
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.after)),
        )
        if server.replicas > 1:
            kubernetes.policy.v1.PodDisruptionBudget(
                name,
                metadata=_metadata(server),
                spec=kubernetes.policy.v1.PodDisruptionBudgetSpecArgs(
                    max_unavailable=1,
                    selector=meta.LabelSelectorArgs(
                        match_labels=naming.server_selector(server.name)
                    ),
                ),
                opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.after)),
            )
        self.endpoint = f"http://{server.name}.{naming.MODEL_NAMESPACE}.svc:{HTTP_PORT}/v1"
        self.register_outputs({"endpoint": self.endpoint})

    def _deployment(self, name: str, args: ModelServerArgs) -> None:
        server = args.plan
        apps.Deployment(
            name,
            metadata=_metadata(server, _annotations(args)),
            spec=apps.DeploymentSpecArgs(
                replicas=server.replicas,
                selector=meta.LabelSelectorArgs(match_labels=naming.server_selector(server.name)),
                strategy=_strategy(server),
                progress_deadline_seconds=BEFORE_START_S + server.startup_budget_s,
                template=pod_template(server, args.pool),
            ),
            opts=self._options(args),
        )

    def _group(self, name: str, args: ModelServerArgs) -> None:
        server = args.plan
        metadata = meta.ObjectMetaArgs(
            name=naming.group_name(server.name),
            namespace=naming.MODEL_NAMESPACE,
            labels=naming.server_labels(server.name),
            annotations=WAIT_FOR_GROUPS if _waits(args) else None,
        )
        declare_group(name, metadata, server, args.pool, self._options(args))

    def _options(self, args: ModelServerArgs) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(
            parent=self, depends_on=list(args.after), custom_timeouts=_timeouts(args.plan)
        )


def _waits(args: ModelServerArgs) -> bool:
    return args.nodes_expected and args.plan.replicas > 0


def _annotations(args: ModelServerArgs) -> dict[str, str] | None:
    """Whether Pulumi waits, and which policy cannot see the nodes that the plan counted."""
    found = {} if _waits(args) else dict(SKIP_AWAIT)
    if args.pool.source != "eks":
        found |= UNSEEN_NODES
    return found or None


def _metadata(server: ServerPlan, annotations: dict[str, str] | None = None) -> meta.ObjectMetaArgs:
    """The namespace by its plain name, so that policies can read it in a preview."""
    return meta.ObjectMetaArgs(
        name=server.name,
        namespace=naming.MODEL_NAMESPACE,
        labels=naming.server_labels(server.name),
        annotations=annotations,
    )


def _strategy(server: ServerPlan) -> apps.DeploymentStrategyArgs:
    strategy = STRATEGY[server.rollout]
    rolling = strategy.get("rolling_update")
    return apps.DeploymentStrategyArgs(
        type=strategy["type"],
        rolling_update=apps.RollingUpdateDeploymentArgs(**rolling) if rolling else None,
    )


def _timeouts(server: ServerPlan) -> pulumi.CustomTimeouts:
    """How long `up` waits: all replicas start at once, but are replaced one after another."""
    start_s = BEFORE_START_S + server.startup_budget_s
    return pulumi.CustomTimeouts(
        create=f"{start_s}s", update=f"{start_s * max(1, server.replicas)}s"
    )
