"""The cluster of a stack: a new one, an EKS cluster that exists, or any by its kubeconfig."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from berth.config.model import Config
from berth.config.values import (
    MOST_NETWORKS,
    AvailabilityZone,
    ClusterName,
    KubernetesVersion,
    Network,
    PrincipalArn,
    SubnetId,
    Text,
    VpcId,
)
from berth.config.wanted import Wanted

MOST_REMOTE_NETWORKS = 15
"""Of nodes, and again of pods, in a hybrid cluster.
Source: https://docs.aws.amazon.com/eks/latest/userguide/hybrid-nodes-cluster-create.html"""

_Subnets = Annotated[
    dict[AvailabilityZone, SubnetId],
    Field(min_length=1),
    Wanted("private subnets by zone", "{us-east-1a: subnet-0123456789abcdef0}"),
]
_SubnetList = Annotated[
    tuple[SubnetId, ...],
    Field(min_length=1),
    Wanted("a list of private subnets", "[subnet-0123456789abcdef0]"),
]


def _chosen_subnets(value: object) -> str:
    return "by_zone" if isinstance(value, Mapping) else "list"


SubnetsConfig = Annotated[
    Annotated[_SubnetList, Tag("list")] | Annotated[_Subnets, Tag("by_zone")],
    Discriminator(_chosen_subnets),
    Wanted("private subnets, as a list or by zone", "[subnet-0123456789abcdef0]"),
]


class PublicEndpoint(Config):
    """A Kubernetes API that the named networks may reach."""

    public_cidrs: Annotated[
        tuple[Network, ...],
        Field(min_length=1, max_length=MOST_NETWORKS),
        Wanted("a list of networks", "[203.0.113.0/24]"),
    ]
    """Networks in CIDR form, such as `203.0.113.0/24`."""


def _chosen_endpoint(value: object) -> str:
    return "public" if isinstance(value, Mapping | PublicEndpoint) else "private"


EndpointConfig = Annotated[
    Annotated[Literal["private"], Tag("private")] | Annotated[PublicEndpoint, Tag("public")],
    Discriminator(_chosen_endpoint),
    Wanted("private or {public_cidrs: [...]}", "private"),
]


class NetworkConfig(Config):
    """The network of a new cluster, where the stack does not leave it to the planner."""

    nat_gateways: (
        Annotated[Literal["one", "per_zone"], Wanted("one or per_zone", "per_zone")] | None
    ) = None
    """Left out: one in dev, one per zone in prod."""
    vpc_id: VpcId | None = None
    """A VPC that exists, whose routes and endpoints are its owner's; needs `subnet_ids`."""
    subnet_ids: SubnetsConfig | None = None
    """Its private subnets, in two zones or more."""


class RolesAnywhere(Config):
    """Hybrid hosts that prove themselves with certificates of one's own authority."""

    ca_certificate_pem: Annotated[
        str,
        Field(pattern=r"^-----BEGIN CERTIFICATE-----\s[\s\S]+-----END CERTIFICATE-----\s*$"),
        Wanted(
            "a certificate in PEM form",
            "-----BEGIN CERTIFICATE-----\nMII...\n-----END CERTIFICATE-----",
        ),
    ]
    """The authority's certificate; public, unlike its key."""


class HybridConfig(Config):
    """What lets hosts outside AWS join the cluster."""

    node_cidrs: Annotated[
        tuple[Network, ...],
        Field(min_length=1, max_length=MOST_REMOTE_NETWORKS),
        Wanted("a list of networks", "[10.80.0.0/16]"),
    ]
    """Networks of the hosts, routed to the VPC."""
    pod_cidrs: Annotated[
        tuple[Network, ...],
        Field(min_length=1, max_length=MOST_REMOTE_NETWORKS),
        Wanted("a list of networks", "[10.81.0.0/16]"),
    ]
    """Networks of the pods on them, as their CNI (Cilium) is told."""
    roles_anywhere: (
        Annotated[RolesAnywhere, Wanted("an authority", "{ca_certificate_pem: ...}")] | None
    ) = None
    """Certificates instead of SSM activations; left out: SSM."""


class NewCluster(Config):
    """An EKS cluster that this stack makes."""

    kubernetes_version: KubernetesVersion
    """Minor version, in quotes: `"1.35"`."""
    endpoint: EndpointConfig
    """`private`, or `{public_cidrs: [...]}`: from where the Kubernetes API can be reached."""
    admin_role_arns: Annotated[
        tuple[PrincipalArn, ...],
        Wanted("a list of role ARNs", "[arn:aws:iam::123456789012:role/platform-admin]"),
    ] = ()
    """IAM roles or users that administer the cluster, besides the one that creates it."""
    network: Annotated[NetworkConfig, Wanted("a network", "{nat_gateways: one}")] | None = None
    """Left out: a network of its own, as the planner sizes it."""
    hybrid: (
        Annotated[
            HybridConfig,
            Wanted("networks of hybrid nodes", "{node_cidrs: [...], pod_cidrs: [...]}"),
        ]
        | None
    ) = None
    """Needed for tiers with `source: hybrid`."""


Installable = Literal[
    "amd-gpu-operator", "cluster-autoscaler", "leader-worker-set", "nvidia-gpu-operator"
]

_Install = Annotated[
    tuple[Annotated[Installable, Wanted("a part of the GPU software", "nvidia-gpu-operator")], ...],
    Wanted("a list of what to install", "[nvidia-gpu-operator]"),
]


class EksClusterRef(Config):
    """An EKS cluster that exists, and where in its network new nodes go."""

    name: ClusterName
    """Its name in EKS."""
    subnet_ids: SubnetsConfig
    """Private subnets for the node groups, as a list or by zone."""


class ExistingEksCluster(Config):
    """Node groups and model servers on an EKS cluster that exists."""

    eks_cluster: Annotated[EksClusterRef, Wanted("a cluster", "{name: ..., subnet_ids: [...]}")]
    """The cluster."""
    install: _Install = ()
    """What the cluster does not run yet and this stack installs; left out: it runs all."""


class ExistingCluster(Config):
    """A cluster that exists: everything but AWS resources is put on it."""

    kubeconfig: Annotated[Text, Wanted("the path of a kubeconfig file", "~/.kube/config")]
    """Path of a kubeconfig file."""
    context: Annotated[Text, Wanted("a context of the kubeconfig", "mi300x-prod")]
    """Which of the kubeconfig's contexts."""
    install: _Install = ()
    """What the cluster does not run yet and this stack installs; left out: it runs all."""


Cluster = NewCluster | ExistingEksCluster | ExistingCluster


def _chosen_cluster(value: object) -> str:
    """A cluster that exists where a key of one is given and no key of a new one."""
    if isinstance(value, ExistingCluster | ExistingEksCluster):
        return "eks" if isinstance(value, ExistingEksCluster) else "existing"
    given = set(value) if isinstance(value, Mapping) else set()
    if given & set(NewCluster.model_fields):
        return "new"
    if "eks_cluster" in given:
        return "eks"
    return "existing" if given & set(ExistingCluster.model_fields) else "new"


ClusterConfig = Annotated[
    Annotated[NewCluster, Tag("new")]
    | Annotated[ExistingEksCluster, Tag("eks")]
    | Annotated[ExistingCluster, Tag("existing")],
    Discriminator(_chosen_cluster),
    Wanted(
        "a new cluster, eks_cluster, or kubeconfig and context of one that exists",
        '{kubernetes_version: "1.35", endpoint: private}',
    ),
]
