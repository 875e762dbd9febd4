"""Everything of one stack, in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from berth.planner.plan import Plan
from components import naming
from components.capacity import has_nodes
from components.foundation import Foundation, declare_foundation
from components.model_server import ModelServer, ModelServerArgs


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformArgs:
    """What a stack is about to be."""

    plan: Plan
    stack: str
    """Its name, for tags."""
    hf_token: pulumi.Input[str] | None = None
    """Becomes the Secret that model servers read; None: the Secret is there already."""


class Platform(pulumi.ComponentResource):
    """Cluster, nodes, GPU software and model servers of one stack, as its plan says."""

    endpoints: Mapping[str, str]
    """Base URLs by model server, inside the cluster."""
    kubeconfig: pulumi.Output[str] | None
    """None on a cluster that exists, which has one already."""
    node_configs: pulumi.Output[Mapping[str, Mapping[str, str]]] | None
    """By tier and host, what hybrid hosts join with; None where there are none."""

    def __init__(
        self, name: str, args: PlatformArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("berth:index:Platform", name, None, opts)
        plan = args.plan
        foundation = declare_foundation(name, plan, args.stack, parent=self)
        shared = self._shared_objects(name, args, foundation)
        servers = {
            key: self._model_server(name, plan, key, foundation, shared) for key in plan.servers
        }
        self.endpoints = {key: server.endpoint for key, server in servers.items()}
        self.kubeconfig = foundation.kubeconfig
        hybrid = foundation.hybrid_nodes
        self.node_configs = hybrid.node_configs if hybrid is not None else None
        self.register_outputs({"endpoints": dict(self.endpoints), "kubeconfig": self.kubeconfig})

    def _shared_objects(
        self, name: str, args: PlatformArgs, foundation: Foundation
    ) -> Sequence[pulumi.Resource]:
        """The namespace of the model servers and, where the stack has a token, its Secret."""
        in_cluster = pulumi.ResourceOptions(parent=self, provider=foundation.kubernetes)
        who = args.plan.ownership
        labels = {
            **naming.object_labels("model-server"),
            **naming.owner_labels(who.owner, who.cost_center),
        }
        namespace = kubernetes.core.v1.Namespace(
            naming.resource_name(name, naming.MODEL_NAMESPACE),
            metadata=kubernetes.meta.v1.ObjectMetaArgs(name=naming.MODEL_NAMESPACE, labels=labels),
            opts=in_cluster,
        )
        if args.hf_token is None:
            return (namespace,)
        secret = kubernetes.core.v1.Secret(
            naming.resource_name(name, naming.HF_TOKEN_SECRET),
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=naming.HF_TOKEN_SECRET,
                namespace=naming.MODEL_NAMESPACE,
                labels=labels,
            ),
            string_data={naming.HF_TOKEN_KEY: args.hf_token},
            opts=pulumi.ResourceOptions.merge(
                in_cluster, pulumi.ResourceOptions(depends_on=[namespace])
            ),
        )
        return (namespace, secret)

    def _model_server(
        self,
        name: str,
        plan: Plan,
        key: str,
        foundation: Foundation,
        shared: Sequence[pulumi.Resource],
    ) -> ModelServer:
        server = plan.servers[key]
        pool = plan.pools[server.tier]
        tiers = server.tiers or (server.tier,)
        groups = foundation.node_groups
        return ModelServer(
            naming.resource_name(name, key),
            ModelServerArgs(
                plan=server,
                pool=pool,
                nodes_expected=any(has_nodes(plan.pools[tier], plan.as_of) for tier in tiers),
                after=[
                    *shared,
                    *(groups[tier] for tier in tiers if tier in groups),
                    *foundation.gpu_software,
                ],
            ),
            pulumi.ResourceOptions(parent=self, provider=foundation.kubernetes),
        )
