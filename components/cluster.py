"""A new EKS cluster with the nodes that run everything but model servers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_aws as aws

from berth.config.stack import NewCluster, PublicEndpoint
from berth.planner.plan import SystemPool
from components import naming
from components.addons import (
    AFTER_NODES,
    BEFORE_NODES,
    EBS_CSI,
    EBS_CSI_SERVICE_ACCOUNT,
    declare_addons,
)
from components.iam import (
    CLUSTER_POLICIES,
    EBS_POLICIES,
    NODE_POLICIES,
    POD_IDENTITY,
    POD_IDENTITY_ACTIONS,
    ServiceRole,
    declare_service_role,
)
from components.kubeconfig import kubeconfig
from components.launch_template import NodeTemplate, declare_launch_template, template_reference

CONTROL_PLANE_LOGS: Final = ("api", "audit", "authenticator", "controllerManager", "scheduler")


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterArgs:
    """Plain values come from the plan, `Input`s from other resources."""

    config: NewCluster
    system_pool: SystemPool
    region: str
    stack: str
    subnet_ids: Sequence[pulumi.Input[str]]
    """Private subnets in two zones or more."""
    tags: Mapping[str, str]
    protect: bool = False
    """The cluster itself is kept by `pulumi destroy`."""
    after: Sequence[pulumi.Resource] = ()
    """What a node needs before it can reach the cluster, such as its routes."""


class Cluster(pulumi.ComponentResource):
    """An EKS cluster with encrypted secrets, logs, access entries, add-ons and a system node group.

    IAM alone says who may use it, by access entries. Whoever creates the cluster administers it,
    and must not be in `admin_role_arns` as well: EKS refuses a second entry for one principal.
    """

    name: pulumi.Output[str]
    arn: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    """Asks the AWS CLI for a token at each use, and so holds none."""
    node_role_arn: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    """The one that EKS gives all nodes."""
    vpc_id: pulumi.Output[str]
    certificate_authority: pulumi.Output[str]
    service_cidr: pulumi.Output[str]
    nodes_need: tuple[pulumi.Resource, ...]
    """What a node group waits for."""
    workloads_need: tuple[pulumi.Resource, ...]
    """What a pod without a GPU waits for: nodes and name resolution."""

    def __init__(
        self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("berth:index:Cluster", name, None, opts)
        partition = naming.aws_partition(args.region)
        cluster_role = declare_service_role(
            naming.resource_name(name, "cluster"),
            service="eks.amazonaws.com",
            actions=("sts:AssumeRole", "sts:TagSession"),
            policies=CLUSTER_POLICIES,
            partition=partition,
            parent=self,
        )
        node_role = declare_service_role(
            naming.resource_name(name, "node"),
            service="ec2.amazonaws.com",
            actions=("sts:AssumeRole",),
            policies=NODE_POLICIES,
            partition=partition,
            parent=self,
        )
        cluster = self._declare_cluster(name, args, cluster_role)
        self._declare_admins(name, args.config.admin_role_arns, cluster, partition)
        addons = declare_addons(name, BEFORE_NODES, cluster.name, parent=self)
        self.nodes_need = (*addons, *node_role.attachments, *args.after)
        system = self._declare_system_nodes(name, args, cluster, node_role)
        others = self._declare_later_addons(name, cluster, system, partition)

        self.name = cluster.name
        self.arn = cluster.arn
        self.endpoint = cluster.endpoint
        self.kubeconfig = kubeconfig(
            cluster.name, cluster.endpoint, cluster.certificate_authority.data, args.region
        )
        self.node_role_arn = node_role.arn
        self.security_group_id = cluster.vpc_config.cluster_security_group_id
        self.vpc_id = cluster.vpc_config.vpc_id
        self.certificate_authority = cluster.certificate_authority.data
        self.service_cidr = cluster.kubernetes_network_config.service_ipv4_cidr
        self.workloads_need = (system, *others)
        self.register_outputs(
            {
                "name": self.name,
                "arn": self.arn,
                "endpoint": self.endpoint,
                "kubeconfig": self.kubeconfig,
                "node_role_arn": self.node_role_arn,
            }
        )

    def _declare_cluster(self, name: str, args: ClusterArgs, role: ServiceRole) -> aws.eks.Cluster:
        key = aws.kms.Key(
            naming.resource_name(name, "secrets"),
            description=f"Kubernetes secrets of the Berth stack {args.stack}",
            enable_key_rotation=True,
            tags=naming.name_tag(args.stack, "secrets"),
            opts=pulumi.ResourceOptions(parent=self),
        )
        return aws.eks.Cluster(
            name,
            version=args.config.kubernetes_version,
            role_arn=role.arn,
            vpc_config=_vpc_config(args),
            access_config=aws.eks.ClusterAccessConfigArgs(
                authentication_mode="API", bootstrap_cluster_creator_admin_permissions=True
            ),
            encryption_config=aws.eks.ClusterEncryptionConfigArgs(
                provider=aws.eks.ClusterEncryptionConfigProviderArgs(key_arn=key.arn),
                resources=["secrets"],
            ),
            enabled_cluster_log_types=list(CONTROL_PLANE_LOGS),
            bootstrap_self_managed_addons=False,  # the add-ons below are theirs
            remote_network_config=_remote_networks(args.config),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=list(role.attachments),
                protect=True if args.protect else None,
            ),
        )

    def _declare_later_addons(
        self, name: str, cluster: aws.eks.Cluster, system: aws.eks.NodeGroup, partition: str
    ) -> Sequence[pulumi.Resource]:
        """Those that need a node to run on, and a role for the volumes."""
        volumes = declare_service_role(
            naming.resource_name(name, "ebs-csi"),
            service=POD_IDENTITY,
            actions=POD_IDENTITY_ACTIONS,
            policies=EBS_POLICIES,
            partition=partition,
            parent=self,
        )
        return declare_addons(
            name,
            AFTER_NODES,
            cluster.name,
            parent=self,
            after=[system, *volumes.attachments],
            roles={EBS_CSI: {EBS_CSI_SERVICE_ACCOUNT: volumes.arn}},
        )

    def _declare_admins(
        self, name: str, principal_arns: Sequence[str], cluster: aws.eks.Cluster, partition: str
    ) -> None:
        for arn in principal_arns:
            entry_name = naming.resource_name(name, naming.principal_key(arn))
            entry = aws.eks.AccessEntry(
                entry_name,
                cluster_name=cluster.name,
                principal_arn=arn,
                type="STANDARD",
                opts=pulumi.ResourceOptions(parent=self),
            )
            aws.eks.AccessPolicyAssociation(
                entry_name,
                cluster_name=cluster.name,
                principal_arn=arn,
                policy_arn=f"arn:{partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
                access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
                opts=pulumi.ResourceOptions(parent=self, depends_on=[entry]),
            )

    def _declare_system_nodes(
        self, name: str, args: ClusterArgs, cluster: aws.eks.Cluster, role: ServiceRole
    ) -> aws.eks.NodeGroup:
        group_name = naming.resource_name(name, "system")
        template = declare_launch_template(
            group_name,
            NodeTemplate(
                root_disk_gib=args.system_pool.root_disk_gib,
                tags={**args.tags, **naming.name_tag(args.stack, "system")},
            ),
            parent=self,
        )
        nodes = args.system_pool.nodes
        return aws.eks.NodeGroup(
            group_name,
            cluster_name=cluster.name,
            node_role_arn=role.arn,
            subnet_ids=list(args.subnet_ids),
            ami_type="AL2023_x86_64_STANDARD",
            release_version=args.system_pool.ami_release,
            capacity_type="ON_DEMAND",
            instance_types=[args.system_pool.instance_type],
            launch_template=template_reference(template),
            labels=naming.node_labels("system", tier=None, accelerator=None),
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                min_size=nodes, desired_size=nodes, max_size=nodes
            ),
            update_config=aws.eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
            node_repair_config=aws.eks.NodeGroupNodeRepairConfigArgs(enabled=True),
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(self.nodes_need)),
        )


def _vpc_config(args: ClusterArgs) -> aws.eks.ClusterVpcConfigArgs:
    """Nodes always use the private endpoint; a public one is open to the stated networks only."""
    endpoint = args.config.endpoint
    public_cidrs = list(endpoint.public_cidrs) if isinstance(endpoint, PublicEndpoint) else None
    return aws.eks.ClusterVpcConfigArgs(
        subnet_ids=list(args.subnet_ids),
        endpoint_private_access=True,
        endpoint_public_access=public_cidrs is not None,
        public_access_cidrs=public_cidrs,
    )


def _remote_networks(config: NewCluster) -> aws.eks.ClusterRemoteNetworkConfigArgs | None:
    """Networks outside AWS whose hosts and pods belong to the cluster."""
    if config.hybrid is None:
        return None
    return aws.eks.ClusterRemoteNetworkConfigArgs(
        remote_node_networks=aws.eks.ClusterRemoteNetworkConfigRemoteNodeNetworksArgs(
            cidrs=list(config.hybrid.node_cidrs)
        ),
        remote_pod_networks=aws.eks.ClusterRemoteNetworkConfigRemotePodNetworksArgs(
            cidrs=list(config.hybrid.pod_cidrs)
        ),
    )
