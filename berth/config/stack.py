"""What one stack may say. Whether it can be served is the planner's question."""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$")]
"""A tier or a model server: part of resource names, labels and DNS names."""


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class OnDemandCapacity(_Config):
    """Instances at list price, started when needed, if the cloud has them."""

    type: Literal["ON_DEMAND"]


class CapacityBlock(_Config):
    """Instances paid in advance for a fixed time: an EC2 Capacity Block for ML."""

    type: Literal["CAPACITY_BLOCK"]
    reservation_id: Annotated[str, Field(pattern=r"^cr-[0-9a-f]{17}$")]
    availability_zone: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d[a-z]$")]
    """The one zone of the block."""
    starts_at: datetime
    ends_at: datetime
    instance_count: Annotated[int, Field(ge=1)]
    """Instances in the block."""
    fee_usd: Annotated[Decimal, Field(gt=0)] | None = None
    """What was paid; left out: the catalog's dated reading."""


class EksTier(_Config):
    """A pool of identical GPU nodes that this stack makes: an EKS managed node group."""

    source: Literal["eks"] = "eks"
    instance_type: str
    """As the cloud spells it; a key of the catalog's instance types."""
    capacity: Annotated[OnDemandCapacity | CapacityBlock, Field(discriminator="type")]
    min_nodes: Annotated[int, Field(ge=0)] = 0
    max_nodes: Annotated[int, Field(ge=1)]
    root_disk_gib: Annotated[int, Field(ge=100)] = 200


class ExistingTier(_Config):
    """GPU nodes that somebody else runs in a cluster that exists."""

    source: Literal["existing"]
    gpu: str
    """A GPU key of the catalog, or its everyday short name."""
    gpus_per_node: Annotated[int, Field(ge=1, le=16)]
    nodes: Annotated[int, Field(ge=1)]
    usd_per_gpu_hour: Annotated[Decimal, Field(gt=0)] | None = None
    """What the owner pays; left out, the tier has no price and the total is "at least"."""


TierConfig = Annotated[EksTier | ExistingTier, Field(discriminator="source")]


class PublicEndpoint(_Config):
    """A Kubernetes API that the named networks may reach."""

    public_cidrs: Annotated[tuple[str, ...], Field(min_length=1)]


class NewCluster(_Config):
    """An EKS cluster that this stack makes, in a network of its own."""

    kubernetes_version: Annotated[str, Field(pattern=r"^1\.\d{2}$")]
    endpoint: Literal["private"] | PublicEndpoint
    """`private`, or `{public_cidrs: [...]}`: from where the Kubernetes API can be reached."""
    admin_role_arns: tuple[
        Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::\d{12}:.+$")], ...
    ] = ()
    """IAM roles or users that administer the cluster, besides the one that creates it."""


class ExistingCluster(_Config):
    """A cluster that exists: everything but AWS resources is put on it."""

    kubeconfig: str
    """Path of a kubeconfig file."""
    context: str


class ModelConfig(_Config):
    """One model, served by one or more identical replicas."""

    model: str
    """A key of the catalog's models, spelled as on the Hugging Face hub."""
    tier: Name
    """A key of `berth:tiers`."""
    quantization: Literal["auto", "none", "fp8"] = "auto"
    """`auto`: the widest format that fits; never below 8 bits."""
    kv_cache_dtype: Literal["auto", "fp8"] = "auto"
    max_model_len: Annotated[int, Field(ge=1)] | None = None
    """Longest request, prompt and answer together, in tokens; left out: the model's limit."""
    max_num_seqs: Annotated[int, Field(ge=1)] | None = None
    max_num_batched_tokens: Annotated[int, Field(ge=1)] | None = None
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    tensor_parallel_size: Annotated[int, Field(ge=1)] | None = None
    """GPUs of one replica; left out: the smallest number that fits."""
    replicas: Annotated[int, Field(ge=0)] = 1


class BudgetConfig(_Config):
    """What the stack may cost."""

    monthly_usd: Annotated[Decimal, Field(gt=0)]
    """Recurring cost of the plan in a month of 730 hours; above it the stack is refused."""


class StackConfig(_Config):
    """All settings of one stack, as in `stacks/Pulumi.<stack>.yaml`, without the `berth:` prefix."""

    region: str | None = None
    """`aws:region`; needed when the stack makes AWS resources."""
    environment: Literal["dev", "prod"]
    as_of: date
    """Prices and the calendar of reservations as of this day; today when the stack file leaves it out."""
    cluster: NewCluster | ExistingCluster
    tiers: Annotated[dict[Name, TierConfig], Field(min_length=1)]
    models: Annotated[dict[Name, ModelConfig], Field(min_length=1)]
    budget: BudgetConfig | None = None
