"""What model servers stand on: network, cluster, nodes and GPU software, new or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as kubernetes

from berth.config.stack import ExistingCluster, ExistingEksCluster, NewCluster
from berth.planner.plan import Plan
from components import naming
from components.amd_gpu_operator import AmdGpuOperator, AmdGpuOperatorArgs
from components.autoscaler import AutoscalerArgs, declare_autoscaler
from components.cluster import Cluster, ClusterArgs
from components.efa import declare_efa_plugin
from components.gpu_node_group import GpuNodeGroup, GpuNodeGroupArgs, NodeHome
from components.hybrid_nodes import HybridNodes, HybridNodesArgs
from components.iam import NODE_POLICIES, declare_service_role
from components.network import Network, NetworkArgs
from components.nvidia_gpu_operator import NvidiaGpuOperator, NvidiaGpuOperatorArgs
from components.providers import (
    aws_provider,
    eks_cluster_provider,
    existing_cluster_provider,
    new_cluster_provider,
)
from components.server_group import GroupControllerArgs, declare_group_controller


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """One cluster with its GPU nodes."""

    kubernetes: kubernetes.Provider
    node_groups: Mapping[str, GpuNodeGroup] = field(default_factory=dict)
    """By tier."""
    gpu_software: Sequence[pulumi.Resource] = ()
    """What model servers wait for besides their nodes."""
    kubeconfig: pulumi.Output[str] | None = None
    hybrid_nodes: HybridNodes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """A cluster before its GPU nodes."""

    home: NodeHome
    subnet_ids: Mapping[str, pulumi.Input[str]]
    in_aws: pulumi.ResourceOptions
    kubernetes: kubernetes.Provider
    nodes_need: Sequence[pulumi.Resource]
    workloads_need: Sequence[pulumi.Resource]
    system_nodes: bool


def declare_foundation(name: str, plan: Plan, stack: str, parent: pulumi.Resource) -> Foundation:
    """Everything below the model servers, as the plan says; all of it belongs to `parent`."""
    match plan.cluster:
        case NewCluster() as config:
            base, cluster = _new_cluster(name, plan, stack, config, parent)
            return _on_eks(name, plan, stack, base, parent, cluster)
        case ExistingEksCluster():
            base = _existing_eks_cluster(name, plan, stack, parent)
            return _on_eks(name, plan, stack, base, parent, None)
        case ExistingCluster() as existing:
            provider = existing_cluster_provider(name, existing, parent=parent)
            software = _gpu_software(name, plan, provider, (), parent, system_nodes=False)
            return Foundation(kubernetes=provider, gpu_software=software)


def _new_cluster(
    name: str, plan: Plan, stack: str, config: NewCluster, parent: pulumi.Resource
) -> tuple[_Base, Cluster]:
    if plan.region is None or plan.system_pool is None:
        raise ValueError("a plan of a new cluster has region and system pool")
    tags = naming.stack_tags(stack, plan.environment)
    in_aws = pulumi.ResourceOptions(
        parent=parent, provider=aws_provider(name, plan.region, tags, parent=parent)
    )
    subnet_ids, after = _subnets(name, plan, stack, in_aws)
    cluster = Cluster(
        name,
        ClusterArgs(
            config=config,
            system_pool=plan.system_pool,
            region=plan.region,
            stack=stack,
            subnet_ids=list(subnet_ids.values()),
            tags=tags,
            protect=plan.environment == "prod",
            after=after,
        ),
        in_aws,
    )
    return (
        _Base(
            home=NodeHome(
                name=cluster.name,
                endpoint=cluster.endpoint,
                certificate_authority=cluster.certificate_authority,
                service_cidr=cluster.service_cidr,
                security_group_id=cluster.security_group_id,
                vpc_id=cluster.vpc_id,
                node_role_arn=cluster.node_role_arn,
            ),
            subnet_ids=subnet_ids,
            in_aws=in_aws,
            kubernetes=new_cluster_provider(name, cluster, parent=parent),
            nodes_need=cluster.nodes_need,
            workloads_need=cluster.workloads_need,
            system_nodes=True,
        ),
        cluster,
    )


def _subnets(
    name: str, plan: Plan, stack: str, in_aws: pulumi.ResourceOptions
) -> tuple[Mapping[str, pulumi.Input[str]], Sequence[pulumi.Resource]]:
    """Private subnets by zone, of a new network or of one that exists."""
    if plan.network is None or plan.region is None:
        if plan.existing_network is None:
            raise ValueError("a plan with nodes has a network or the subnets of one")
        return dict(plan.existing_network.subnet_ids), ()
    network = Network(name, NetworkArgs(plan=plan.network, region=plan.region, stack=stack), in_aws)
    return dict(network.private_subnet_ids), (network,)


def _existing_eks_cluster(name: str, plan: Plan, stack: str, parent: pulumi.Resource) -> _Base:
    """The nodes get a role of their own; managed node groups enter it in the cluster themselves."""
    facts = plan.eks_cluster
    if plan.region is None or plan.existing_network is None or facts is None:
        raise ValueError("a plan on an EKS cluster has region, subnets and the cluster's facts")
    tags = naming.stack_tags(stack, plan.environment)
    in_aws = pulumi.ResourceOptions(
        parent=parent, provider=aws_provider(name, plan.region, tags, parent=parent)
    )
    role = declare_service_role(
        naming.resource_name(name, "node"),
        service="ec2.amazonaws.com",
        actions=("sts:AssumeRole",),
        policies=NODE_POLICIES,
        partition=naming.aws_partition(plan.region),
        options=in_aws,
    )
    return _Base(
        home=NodeHome(
            name=facts.name,
            endpoint=facts.endpoint,
            certificate_authority=facts.certificate_authority,
            service_cidr=facts.service_cidr,
            security_group_id=facts.security_group_id,
            vpc_id=facts.vpc_id,
            node_role_arn=role.arn,
        ),
        subnet_ids=dict(plan.existing_network.subnet_ids),
        in_aws=in_aws,
        kubernetes=eks_cluster_provider(name, facts, plan.region, parent=parent),
        nodes_need=role.attachments,
        workloads_need=(),
        system_nodes=False,
    )


def _on_eks(
    name: str,
    plan: Plan,
    stack: str,
    base: _Base,
    parent: pulumi.Resource,
    cluster: Cluster | None,
) -> Foundation:
    node_groups = {
        tier: GpuNodeGroup(
            naming.resource_name(name, tier),
            GpuNodeGroupArgs(
                plan=pool,
                as_of=plan.as_of,
                stack=stack,
                cluster=base.home,
                subnet_ids=base.subnet_ids,
                tags=naming.stack_tags(stack, plan.environment),
                after=base.nodes_need,
            ),
            base.in_aws,
        )
        for tier, pool in plan.pools.items()
        if pool.source == "eks"
    }
    software = _gpu_software(
        name, plan, base.kubernetes, base.workloads_need, parent, base.system_nodes
    )
    _scaling_and_network_software(name, plan, base, parent)
    return Foundation(
        kubernetes=base.kubernetes,
        node_groups=node_groups,
        gpu_software=software,
        kubeconfig=cluster.kubeconfig if cluster else None,
        hybrid_nodes=_hybrid_nodes(name, plan, stack, base),
    )


def _gpu_software(
    name: str,
    plan: Plan,
    provider: kubernetes.Provider,
    after: Sequence[pulumi.Resource],
    parent: pulumi.Resource,
    system_nodes: bool,
) -> Sequence[pulumi.Resource]:
    """An operator for each vendor that the plan has GPUs of, and what keeps groups together."""
    in_cluster = pulumi.ResourceOptions(parent=parent, provider=provider)
    operators: list[pulumi.Resource] = []
    if plan.gpu_software is not None:
        operators.append(
            NvidiaGpuOperator(
                naming.resource_name(name, "gpu-operator"),
                NvidiaGpuOperatorArgs(
                    plan=plan.gpu_software,
                    system_nodes=system_nodes,
                    images=plan.chart_images.get("gpu-operator"),
                    after=after,
                ),
                in_cluster,
            )
        )
    if plan.amd_gpu_software is not None:
        operators.append(
            AmdGpuOperator(
                naming.resource_name(name, "amd-gpu-operator"),
                AmdGpuOperatorArgs(
                    plan=plan.amd_gpu_software,
                    system_nodes=system_nodes,
                    images=plan.chart_images,
                    after=after,
                ),
                in_cluster,
            )
        )
    if plan.group_controller_version is not None:
        operators.append(
            declare_group_controller(
                naming.resource_name(name, "lws"),
                GroupControllerArgs(
                    chart_version=plan.group_controller_version,
                    system_nodes=system_nodes,
                    images=plan.chart_images.get("lws"),
                    after=after,
                ),
                in_cluster,
            )
        )
    return operators


def _scaling_and_network_software(
    name: str, plan: Plan, base: _Base, parent: pulumi.Resource
) -> None:
    in_cluster = pulumi.ResourceOptions(parent=parent, provider=base.kubernetes)
    if plan.autoscaler is not None and plan.region is not None:
        declare_autoscaler(
            naming.resource_name(name, "autoscaler"),
            AutoscalerArgs(
                plan=plan.autoscaler,
                pools=plan.pools,
                prefix=name,
                cluster_name=base.home.name,
                region=plan.region,
                system_nodes=base.system_nodes,
                in_aws=base.in_aws,
                in_cluster=in_cluster,
                images=plan.chart_images.get("cluster-autoscaler"),
                after=base.workloads_need,
            ),
        )
    if plan.efa_plugin_version is not None:
        declare_efa_plugin(
            naming.resource_name(name, "efa"),
            plan.efa_plugin_version,
            plan.chart_images.get("aws-efa-k8s-device-plugin"),
            in_cluster,
        )


def _hybrid_nodes(name: str, plan: Plan, stack: str, base: _Base) -> HybridNodes | None:
    pools = {tier: pool for tier, pool in plan.pools.items() if pool.source == "hybrid"}
    config = plan.cluster.hybrid if isinstance(plan.cluster, NewCluster) else None
    if not pools or config is None or plan.region is None:
        return None
    return HybridNodes(
        naming.resource_name(name, "hybrid"),
        HybridNodesArgs(
            config=config,
            pools=pools,
            cluster_name=base.home.name,
            region=plan.region,
            partition=naming.aws_partition(plan.region),
            stack=stack,
        ),
        base.in_aws,
    )
