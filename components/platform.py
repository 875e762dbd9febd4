"""Everything of one stack, in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from berth.config.stack import ExistingCluster, NewCluster
from berth.planner.plan import Plan
from components import naming
from components.capacity import has_nodes
from components.cluster import Cluster, ClusterArgs
from components.gpu_node_group import GpuNodeGroup, GpuNodeGroupArgs
from components.model_server import ModelServer, ModelServerArgs
from components.network import Network, NetworkArgs
from components.nvidia_gpu_operator import NvidiaGpuOperator, NvidiaGpuOperatorArgs
from components.providers import aws_provider, existing_cluster_provider, new_cluster_provider


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformArgs:
    """What a stack is about to be."""

    plan: Plan
    stack: str
    """Its name, for tags."""
    hf_token: pulumi.Input[str] | None = None
    """Becomes the Secret that model servers read; None: the Secret is there already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Foundation:
    """What model servers stand on."""

    kubernetes: kubernetes.Provider
    node_groups: Mapping[str, GpuNodeGroup]
    """By tier."""
    gpu_software: Sequence[pulumi.Resource] = ()
    kubeconfig: pulumi.Output[str] | None = None


class Platform(pulumi.ComponentResource):
    """Cluster, nodes, GPU software and model servers of one stack, as its plan says."""

    endpoints: Mapping[str, str]
    """Base URLs by model server, inside the cluster."""
    kubeconfig: pulumi.Output[str] | None
    """None on a cluster that exists, which has one already."""

    def __init__(
        self, name: str, args: PlatformArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("berth:index:Platform", name, None, opts)
        plan = args.plan
        match plan.cluster:
            case NewCluster() as config:
                foundation = self._make_foundation(name, args, config)
            case ExistingCluster() as existing:
                provider = existing_cluster_provider(name, existing, parent=self)
                foundation = _Foundation(kubernetes=provider, node_groups={})
        shared = self._shared_objects(name, args, foundation)
        servers = {
            key: self._model_server(name, plan, key, foundation, shared) for key in plan.servers
        }
        self.endpoints = {key: server.endpoint for key, server in servers.items()}
        self.kubeconfig = foundation.kubeconfig
        self.register_outputs({"endpoints": dict(self.endpoints), "kubeconfig": self.kubeconfig})

    def _make_foundation(self, name: str, args: PlatformArgs, config: NewCluster) -> _Foundation:
        plan = args.plan
        if plan.region is None or plan.network is None or plan.system_pool is None:
            raise ValueError("a plan of a new cluster has region, network and system pool")
        tags = naming.stack_tags(args.stack, plan.environment)
        in_aws = pulumi.ResourceOptions(
            parent=self, provider=aws_provider(name, plan.region, tags, parent=self)
        )
        network = Network(
            name, NetworkArgs(plan=plan.network, region=plan.region, stack=args.stack), in_aws
        )
        cluster = Cluster(
            name,
            ClusterArgs(
                config=config,
                system_pool=plan.system_pool,
                region=plan.region,
                stack=args.stack,
                subnet_ids=list(network.private_subnet_ids.values()),
                tags=tags,
                after=[network],
            ),
            in_aws,
        )
        node_groups = {
            tier: GpuNodeGroup(
                naming.resource_name(name, tier),
                GpuNodeGroupArgs(
                    plan=pool,
                    as_of=plan.as_of,
                    stack=args.stack,
                    cluster_name=cluster.name,
                    node_role_arn=cluster.node_role_arn,
                    subnet_ids=network.private_subnet_ids,
                    tags=tags,
                    after=cluster.nodes_need,
                ),
                in_aws,
            )
            for tier, pool in plan.pools.items()
            if pool.source == "eks"
        }
        provider = new_cluster_provider(name, cluster, parent=self)
        return _Foundation(
            kubernetes=provider,
            node_groups=node_groups,
            gpu_software=self._gpu_software(name, plan, cluster, provider),
            kubeconfig=cluster.kubeconfig,
        )

    def _gpu_software(
        self, name: str, plan: Plan, cluster: Cluster, provider: kubernetes.Provider
    ) -> Sequence[pulumi.Resource]:
        if plan.gpu_software is None:
            return ()
        operator = NvidiaGpuOperator(
            naming.resource_name(name, "gpu-operator"),
            NvidiaGpuOperatorArgs(plan=plan.gpu_software, after=cluster.workloads_need),
            pulumi.ResourceOptions(parent=self, provider=provider),
        )
        return (operator,)

    def _shared_objects(
        self, name: str, args: PlatformArgs, foundation: _Foundation
    ) -> Sequence[pulumi.Resource]:
        """The namespace of the model servers and, where the stack has a token, its Secret."""
        in_cluster = pulumi.ResourceOptions(parent=self, provider=foundation.kubernetes)
        namespace = kubernetes.core.v1.Namespace(
            naming.resource_name(name, naming.MODEL_NAMESPACE),
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=naming.MODEL_NAMESPACE, labels=naming.object_labels("model-server")
            ),
            opts=in_cluster,
        )
        if args.hf_token is None:
            return (namespace,)
        secret = kubernetes.core.v1.Secret(
            naming.resource_name(name, naming.HF_TOKEN_SECRET),
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=naming.HF_TOKEN_SECRET,
                namespace=naming.MODEL_NAMESPACE,
                labels=naming.object_labels("model-server"),
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
        foundation: _Foundation,
        shared: Sequence[pulumi.Resource],
    ) -> ModelServer:
        server = plan.servers[key]
        pool = plan.pools[server.tier]
        nodes = [foundation.node_groups[pool.tier]] if pool.tier in foundation.node_groups else []
        return ModelServer(
            naming.resource_name(name, key),
            ModelServerArgs(
                plan=server,
                pool=pool,
                nodes_expected=has_nodes(pool, plan.as_of),
                after=[*shared, *nodes, *foundation.gpu_software],
            ),
            pulumi.ResourceOptions(parent=self, provider=foundation.kubernetes),
        )
