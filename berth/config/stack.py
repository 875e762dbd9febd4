"""What one stack may say. Whether it can be served is the planner's question."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from berth.config.budget import BudgetConfig
from berth.config.capacity import (
    BlockPurchase,
    CapacityBlock,
    OnDemandCapacity,
    ReservedCapacity,
    SpotCapacity,
)
from berth.config.cluster import (
    ClusterConfig,
    EksClusterRef,
    ExistingCluster,
    ExistingEksCluster,
    HybridConfig,
    NetworkConfig,
    NewCluster,
    PublicEndpoint,
    RolesAnywhere,
)
from berth.config.model import Config
from berth.config.prices import Prices
from berth.config.tier import EksTier, ExistingTier, HybridTier, TierConfig
from berth.config.values import (
    CachedShare,
    Day,
    Flag,
    GpuCount,
    Image,
    Milliseconds,
    Name,
    NodeCountOrNone,
    Rate,
    Region,
    Registry,
    RequestCount,
    SecretName,
    Share,
    Text,
    TokenCount,
)
from berth.config.wanted import Wanted

__all__ = [
    "HF_TOKEN_KEY",
    "BlockPurchase",
    "BudgetConfig",
    "CapacityBlock",
    "EksClusterRef",
    "EksTier",
    "ExistingCluster",
    "ExistingEksCluster",
    "ExistingTier",
    "HybridConfig",
    "HybridTier",
    "ImagesConfig",
    "ModelConfig",
    "NetworkConfig",
    "NewCluster",
    "OnDemandCapacity",
    "PublicEndpoint",
    "ReservedCapacity",
    "RolesAnywhere",
    "SpotCapacity",
    "StackConfig",
    "TierConfig",
]

HF_TOKEN_KEY = "berth:hf_token"  # noqa: S105  (the name of a setting)
"""The one secret setting: a Hugging Face token. No part of `StackConfig`, so no plan shows it."""


def _chosen_tier(value: object) -> str:
    return "list" if isinstance(value, list | tuple) else "one"


TierChoice = Annotated[
    Annotated[Name, Tag("one")]
    | Annotated[
        tuple[Annotated[Name, Wanted("a name in berth:tiers", "l4")], ...],
        Field(min_length=1),
        Tag("list"),
    ],
    Discriminator(_chosen_tier),
    Wanted("a name in berth:tiers", "l4"),
]


class LoadConfig(Config):
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


class GoalsConfig(Config):
    """Mean latencies that must hold."""

    ttft_ms: Milliseconds | None = None
    """Time to the first token."""
    itl_ms: Milliseconds | None = None
    """Time per token after the first."""


class ModelConfig(Config):
    """One model, served by one or more identical replicas."""

    model: Annotated[Text, Wanted("a catalog key", "meta-llama/Llama-3.1-8B-Instruct")]
    """A key of the catalog's models, spelled as on the Hugging Face hub."""
    tier: TierChoice
    """A key of `berth:tiers`, several in order of preference, all with the same GPUs, or `auto`:
    the cheapest tier that holds the load and its goals."""
    quantization: Literal[
        "auto", "none", "fp8", "bitsandbytes", "awq", "gptq", "nvfp4", "mxfp4"
    ] = "auto"
    """`auto`: the checkpoint's own, of a 16-bit one the widest that fits and never below 8 bits;
    `fp8` and `bitsandbytes` are made of 16 bits while loading, others must be the checkpoint's."""
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
    """GPUs that share each layer; left out: the smallest number that fits."""
    pipeline_parallel_size: GpuCount | None = None
    """Stages one after the other, over several nodes where one has too few GPUs; left out: 1, with
    a `load` searched, and one for each node where the model fits on none."""
    data_parallel_size: GpuCount | None = None
    """Copies of the attention part in one replica, in one node; left out: 1, with a `load` and
    latent attention searched."""
    expert_parallel: Flag = False
    """Experts divided between the GPUs of a replica in place of each being split."""
    replicas: NodeCountOrNone | None = None
    """Identical servers of this model; left out: as many as `load` needs, without one 1."""
    load: (
        Annotated[LoadConfig, Wanted("a load", "{requests_per_s: 12, input_tokens: 2000, ...}")]
        | None
    ) = None
    """What all replicas together are asked; without it the plan says nothing of speed."""
    goals: Annotated[GoalsConfig, Wanted("goals", "{ttft_ms: 1500, itl_ms: 40}")] | None = None
    """Latencies that must hold under the load, on the high side of the estimate."""
    image: Image | None = None
    """An image of one's own with the planned version of vLLM, such as one with the libraries of
    EFA; left out: vLLM's own."""
    calibration: Annotated[Text, Wanted("a file of berth calibrate", "stacks/chat.json")] | None = (
        None
    )
    """File of `berth calibrate`, as seen from the project's folder; for the same GPU and split."""

    @property
    def tiers(self) -> tuple[str, ...]:
        """The tiers in order of preference."""
        return (self.tier,) if isinstance(self.tier, str) else self.tier


class ImagesConfig(Config):
    """Where images come from, where the public registries may not be used."""

    registry: Registry | None = None
    """A mirror that holds every image below its usual name, such as `mirror.example.com/hub`; those
    of EKS add-ons stay with AWS's own registry of the region."""
    pull_secret: SecretName | None = None
    """A Secret of type `kubernetes.io/dockerconfigjson`, in the namespace of the model servers and
    of every operator that the stack installs."""


class StackConfig(Config):
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
    images: Annotated[ImagesConfig, Wanted("a mirror", "{registry: mirror.example.com}")] | None = (
        None
    )
    """A mirror for every image, and the secret to pull from it."""
    prices: Annotated[Prices, Wanted("prices by instance type", "{p5.48xlarge: {usd: 31.20}}")] = (
        Field(default_factory=dict)
    )
    """What the owner pays in place of a list price: savings plans, contracts. Those of
    `prices.yaml` beside Pulumi.yaml hold where the stack says nothing."""
    budget: Annotated[BudgetConfig, Wanted("a budget", "{monthly_usd: 90000}")] | None = None
    """Limits, above which the stack is refused or warned of."""
