"""What one stack may say. Whether it can be served is the planner's question."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from berth.config.values import (
    MOST_NETWORKS,
    AvailabilityZone,
    CachedShare,
    Day,
    DiskGib,
    GpuCount,
    KubernetesVersion,
    Milliseconds,
    Moment,
    Name,
    Network,
    NodeCount,
    NodeCountOrNone,
    PrincipalArn,
    Rate,
    Region,
    RequestCount,
    ReservationId,
    Share,
    Text,
    TokenCount,
    Usd,
)
from berth.config.wanted import Wanted

HF_TOKEN_KEY = "berth:hf_token"  # noqa: S105  (the name of a setting)
"""The one secret setting: a Hugging Face token. No part of `StackConfig`, so no plan shows it."""


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def _chosen_capacity(value: object) -> object:
    if isinstance(value, Mapping):
        return value.get("type")
    return value.type if isinstance(value, CapacityBlock) else "ON_DEMAND"


def _chosen_source(value: object) -> object:
    """The source given, else the one whose keys are there."""
    if isinstance(value, Mapping):
        return value.get("source", "existing" if "gpu" in value else "eks")
    return value.source if isinstance(value, ExistingTier) else "eks"


def _chosen_endpoint(value: object) -> str:
    return "public" if isinstance(value, Mapping | PublicEndpoint) else "private"


def _chosen_cluster(value: object) -> str:
    """A cluster that exists where a key of one is given and no key of a new one."""
    if isinstance(value, ExistingCluster):
        return "existing"
    given = set(value) if isinstance(value, Mapping) else set()
    if given & set(ExistingCluster.model_fields) and not given & set(NewCluster.model_fields):
        return "existing"
    return "new"


class OnDemandCapacity(_Config):
    """Instances at list price, started when needed, if the cloud has them."""

    type: Literal["ON_DEMAND"]


class CapacityBlock(_Config):
    """Instances paid in advance for a fixed time: an EC2 Capacity Block for ML."""

    type: Literal["CAPACITY_BLOCK"]
    reservation_id: ReservationId
    """The id that AWS gave the block."""
    availability_zone: AvailabilityZone
    """The one zone of the block."""
    starts_at: Moment
    """Start of the block, with its zone (`Z` for UTC)."""
    ends_at: Moment
    """End of the block; AWS takes the instances back 30 minutes before."""
    instance_count: NodeCount
    """Instances in the block."""
    fee_usd: Usd | None = None
    """What was paid; left out: the catalog's dated reading."""


CapacityConfig = Annotated[
    Annotated[OnDemandCapacity, Tag("ON_DEMAND")] | Annotated[CapacityBlock, Tag("CAPACITY_BLOCK")],
    Discriminator(_chosen_capacity),
    Wanted("how the instances are bought", "{type: ON_DEMAND}"),
]


class EksTier(_Config):
    """A pool of identical GPU nodes that this stack makes: an EKS managed node group."""

    source: Literal["eks"] = "eks"
    """`eks`: nodes that this stack makes."""
    instance_type: Annotated[Text, Wanted("an instance type", "p5.48xlarge")]
    """As the cloud spells it; a key of the catalog's instance types."""
    capacity: CapacityConfig
    """How the instances are bought."""
    min_nodes: NodeCountOrNone = 0
    """Nodes that run at any time."""
    max_nodes: NodeCount
    """Nodes that the autoscaler never exceeds; at most `instance_count` of a block."""
    root_disk_gib: DiskGib = 200
    """Disk of each node, for images and the container runtime."""


class ExistingTier(_Config):
    """GPU nodes that somebody else runs in a cluster that exists."""

    source: Literal["existing"]
    """`existing`: nodes that are there already."""
    gpu: Annotated[Text, Wanted("a GPU of the catalog", "MI300X")]
    """A GPU key of the catalog, or its everyday short name."""
    gpus_per_node: GpuCount
    """GPUs that one node has."""
    nodes: NodeCount
    """Nodes of this kind in the cluster."""
    usd_per_gpu_hour: Usd | None = None
    """What the owner pays; left out, the tier has no price and the total is "at least"."""


TierConfig = Annotated[
    Annotated[EksTier, Tag("eks")] | Annotated[ExistingTier, Tag("existing")],
    Discriminator(_chosen_source),
    Wanted("a tier", "{instance_type: g6.xlarge, capacity: {type: ON_DEMAND}, max_nodes: 1}"),
]


class PublicEndpoint(_Config):
    """A Kubernetes API that the named networks may reach."""

    public_cidrs: Annotated[
        tuple[Network, ...],
        Field(min_length=1, max_length=MOST_NETWORKS),
        Wanted("a list of networks", "[203.0.113.0/24]"),
    ]
    """Networks in CIDR form, such as `203.0.113.0/24`."""


EndpointConfig = Annotated[
    Annotated[Literal["private"], Tag("private")] | Annotated[PublicEndpoint, Tag("public")],
    Discriminator(_chosen_endpoint),
    Wanted("private or {public_cidrs: [...]}", "private"),
]


class NewCluster(_Config):
    """An EKS cluster that this stack makes, in a network of its own."""

    kubernetes_version: KubernetesVersion
    """Minor version, in quotes: `"1.35"`."""
    endpoint: EndpointConfig
    """`private`, or `{public_cidrs: [...]}`: from where the Kubernetes API can be reached."""
    admin_role_arns: Annotated[
        tuple[PrincipalArn, ...],
        Wanted("a list of role ARNs", "[arn:aws:iam::123456789012:role/platform-admin]"),
    ] = ()
    """IAM roles or users that administer the cluster, besides the one that creates it."""


class ExistingCluster(_Config):
    """A cluster that exists: everything but AWS resources is put on it."""

    kubeconfig: Annotated[Text, Wanted("the path of a kubeconfig file", "~/.kube/config")]
    """Path of a kubeconfig file."""
    context: Annotated[Text, Wanted("a context of the kubeconfig", "mi300x-prod")]
    """Which of the kubeconfig's contexts."""


ClusterConfig = Annotated[
    Annotated[NewCluster, Tag("new")] | Annotated[ExistingCluster, Tag("existing")],
    Discriminator(_chosen_cluster),
    Wanted(
        "a new cluster, or kubeconfig and context of one that exists",
        '{kubernetes_version: "1.35", endpoint: private}',
    ),
]


class LoadConfig(_Config):
    """Requests to one model server, all replicas together; one of the first two keys."""

    requests_per_s: Rate | None = None
    """Requests that arrive per second."""
    concurrency: RequestCount | None = None
    """Clients that ask again as soon as they are answered."""
    input_tokens: TokenCount
    """Mean length of a prompt."""
    output_tokens: TokenCount
    """Mean length of an answer."""
    prefix_cache_share: CachedShare = 0.0
    """Of a prompt, found in the prefix cache."""


class GoalsConfig(_Config):
    """Mean latencies that must hold."""

    ttft_ms: Milliseconds | None = None
    """Time to the first token."""
    itl_ms: Milliseconds | None = None
    """Time per token after the first."""


def _one_or_several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


TierNames = Annotated[
    tuple[Name, ...],
    Field(min_length=1),
    BeforeValidator(_one_or_several, json_schema_input_type=Name | tuple[Name, ...]),
    Wanted("a name in berth:tiers, a list of them, or auto", "l4"),
]


class ModelConfig(_Config):
    """One model, served by one or more identical replicas."""

    model: Annotated[Text, Wanted("a catalog key", "meta-llama/Llama-3.1-8B-Instruct")]
    """A key of the catalog's models, spelled as on the Hugging Face hub."""
    tier: TierNames
    """A key of `berth:tiers`; several, of which the first that serves is taken; or `auto`: the
    cheapest of all that serves."""
    quantization: Literal["auto", "none", "fp8"] = "auto"
    """`auto`: the widest format that fits; never below 8 bits."""
    kv_cache_dtype: Literal["auto", "fp8"] = "auto"
    """Number format of the KV cache; `auto`: that of the model."""
    max_model_len: TokenCount | None = None
    """Longest request, prompt and answer together, in tokens; left out: the model's limit."""
    max_num_seqs: RequestCount | None = None
    """Requests that one replica runs at once; left out: vLLM's default."""
    max_num_batched_tokens: TokenCount | None = None
    """Tokens of one scheduler step; left out: vLLM's default."""
    gpu_memory_utilization: Share | None = None
    """Share of each GPU's memory that vLLM may use; left out: vLLM's default."""
    tensor_parallel_size: GpuCount | None = None
    """GPUs of one replica; left out: the smallest number that fits."""
    replicas: NodeCountOrNone | None = None
    """Identical servers of this model; left out: as many as `load` needs, without one 1."""
    load: (
        Annotated[LoadConfig, Wanted("a load", "{requests_per_s: 12, input_tokens: 2000, ...}")]
        | None
    ) = None
    """What all replicas together are asked; without it the plan says nothing of speed."""
    goals: Annotated[GoalsConfig, Wanted("goals", "{ttft_ms: 1500, itl_ms: 40}")] | None = None
    """Latencies that must hold under the load, on the high side of the estimate."""


class BudgetConfig(_Config):
    """What the stack may cost."""

    monthly_usd: Usd
    """Recurring cost of the plan in a month of 730 hours; above it the stack is refused."""


class StackConfig(_Config):
    """All settings of one stack: `stacks/Pulumi.<stack>.yaml` without the `berth:` prefix."""

    region: Region | None = None
    """`aws:region`; needed when the stack makes AWS resources."""
    environment: Literal["dev", "prod"]
    """Some policies are mandatory only in `prod`."""
    as_of: Day
    """Prices and the calendar of reservations as of this day; left out: today."""
    cluster: ClusterConfig
    """A new EKS cluster, or one that exists."""
    tiers: Annotated[
        dict[Name, TierConfig],
        Field(min_length=1),
        Wanted("a mapping of tiers by name", "{l4: {instance_type: g6.xlarge, ...}}"),
    ]
    """Pools of identical GPU nodes, by name."""
    models: Annotated[
        dict[Name, Annotated[ModelConfig, Wanted("a model server", "{model: ..., tier: ...}")]],
        Field(min_length=1),
        Wanted("a mapping of model servers by name", "{chat: {model: ..., tier: ...}}"),
    ]
    """Model servers, by name."""
    budget: Annotated[BudgetConfig, Wanted("a budget", "{monthly_usd: 90000}")] | None = None
    """Above it the stack is refused."""
