"""What a plan is: frozen values that components declare, costs price and commands print."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # what plans of one model need not load
    from berth.config.capacity import Capacity
    from berth.config.cluster import Cluster
    from berth.config.prices import OwnPrice
    from berth.config.stack import BudgetConfig, LoadConfig
    from berth.planner.images import ChartImages


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Where the memory of one GPU goes, as vLLM accounts for it; GiB per GPU."""

    visible_gib: float
    requested_gib: float
    weights_gib: float
    non_torch_gib: float
    activation_peak_gib: float
    cuda_graphs_gib: float
    kv_cache_gib: float
    kv_cache_tokens: int
    """Tokens that the KV cache of one replica holds."""
    max_concurrency: float
    """Requests of `max_model_len` that the cache holds at once."""
    needed_kv_gib: float
    """Cache that one request of `max_model_len` needs."""
    error_gib: float
    """Half width of the band around `kv_cache_gib`."""
    cold_start_extra_gib: float
    """What a first start without a compile cache takes besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedPlan:
    """How fast a model server answers under its load, all replicas together; means."""

    ttft_ms: float | None
    """None: more arrives than is answered, so the queue grows without end."""
    ttft_ms_low: float | None
    ttft_ms_high: float | None
    itl_ms: float
    itl_ms_low: float
    itl_ms_high: float
    output_tokens_per_s: float
    requests_per_s: float
    capacity_requests_per_s: float
    """At saturation; a plan uses a part of it."""
    running_per_replica: float
    decode_ceiling_tokens_per_s: float
    """One request at nothing but memory bandwidth."""
    single_stream_tokens_per_s: float
    """One request alone, as the model expects it."""
    tensor_parallel_tax_ms: float
    """All-reduces in each token's time."""
    evidence: Literal["calibrated", "measured", "low"]
    """`low`: fewer than ten runs on this GPU are behind the constants."""
    constants: str
    """Which set of constants, or the calibration and its day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupPlan:
    """Seconds from a new pod to its first answer."""

    image_s: int
    weights_s: int
    compile_and_graphs_s: int
    total_s: int
    budget_s: int
    """How long the start-up probe waits before it gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlan:
    """One model server: where it runs, how it is split, and with which arguments."""

    name: str
    model: str
    tier: str
    gpu: str
    instance_type: str | None
    """None on nodes that the stack does not make."""
    quantization: str
    kv_cache_dtype: str
    tensor_parallel_size: int
    pipeline_parallel_size: int
    gpus_per_replica: int
    nodes_per_replica: int = 1
    """Above 1, a replica is a pod on each of so many nodes, with all GPUs of it."""
    replicas: int
    nodes: int
    """Nodes that all replicas together fill, the last one perhaps in part."""
    fits: bool
    reasons: tuple[str, ...]
    memory: MemoryPlan
    speed: SpeedPlan | None = None
    """None where the stack states no load."""
    load: "LoadConfig | None" = None
    vllm_args: tuple[str, ...]
    """Arguments of `vllm serve`'s API server, `--model` first."""
    vllm_version: str
    image: str
    """Image with its tag."""
    gpu_resource: str
    """Resource name that a pod asks for, such as `nvidia.com/gpu`."""
    max_model_len: int
    max_num_seqs: int
    weights_bytes: int
    """Weights as downloaded, all files of the repository that are loaded."""
    cpu_request_cores: int
    """Per pod, as what follows."""
    host_memory_request_gib: int
    """Request and limit are equal."""
    shm_gib: int
    """Memory-backed /dev/shm; part of the memory request."""
    model_cache_gib: int
    """Size limit of the volume that takes the downloaded weights."""
    startup_budget_s: int
    """How long the start-up probe waits before it gives up."""
    tiers: tuple[str, ...] = ()
    """Tiers that its pods may run on, the preferred one first; empty: `tier` alone."""
    tier_replicas: Mapping[str, int] = field(default_factory=dict)
    """Replicas that each of these tiers is planned for."""
    pull_secret: str | None = None
    """Secret that the image is pulled with."""
    rollout: Literal["surge", "one_by_one", "recreate"]
    """`surge`: a new replica starts before an old one ends, on spare GPUs; `one_by_one`: an old one
    ends first; `recreate`: all end first, the service is down meanwhile."""

    @property
    def gpus_per_pod(self) -> int:
        """GPUs of a replica on one node."""
        return self.gpus_per_replica // self.nodes_per_replica

    @property
    def pods(self) -> int:
        """Of all replicas."""
        return self.replicas * self.nodes_per_replica


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """One tier: its nodes and what sets them apart."""

    tier: str
    source: Literal["eks", "existing", "hybrid"]
    gpu: str
    gpu_vendor: Literal["nvidia", "amd"]
    gpu_resource: str
    gpus_per_node: int
    instance_type: str | None
    accelerator: str | None
    """Value of the label `k8s.amazonaws.com/accelerator`; None on nodes the stack does not make."""
    capacity: "Capacity | None"
    """Of a block, the one that serves as of the plan's day."""
    ami_type: str | None
    root_disk_gib: int | None
    local_nvme: bool
    """The instance type has local disks, which then hold images and weights."""
    min_nodes: int
    planned_nodes: int
    """Nodes that the planned replicas need, at least `min_nodes`."""
    max_nodes: int
    gpus_requested: int
    """GPUs that the planned replicas ask for."""
    cpu_arch: Literal["x86_64", "arm64"]
    ami_id: str | None = None
    """An AMI of one's own, with the type CUSTOM."""
    ami_release: str | None = None
    """Release of the EKS AMI, where the catalog has one pinned."""
    spot_types: tuple[str, ...] = ()
    """Instance types besides the first, all with the same GPUs."""
    scarce: bool = False
    """No second node can be had during an update."""
    root_disk_throughput_mib_per_s: int | None = None
    """None: what every gp3 volume has."""
    max_pods: int | None = None
    """Per node, as the kubelet is told; None on nodes that the stack does not make."""
    topology_policy: Literal["best-effort", "single-numa-node"] = "best-effort"
    """The kubelet's topology manager policy."""
    nodes_per_replica: int = 1
    """Most nodes that one replica takes; above 1 they are next to each other, in one zone."""
    efa_interfaces: int = 0
    """EFA interfaces of each node; 0 unless a server spans nodes."""
    efa_on_first_card: bool = True
    """The network card that carries the node's address has an EFA interface too."""
    vcpus_per_node: int | None = None
    """Of a hybrid host, as EKS bills it."""
    mig_profile: str | None = None
    """Into which each GPU is cut; `gpus_per_node` and `gpus_requested` then count slices."""
    autoscaler_priority: int = 0
    """Among tiers that one server may use, the highest grows first; 0: in no list."""

    @property
    def device(self) -> str:
        """What pods ask for one or several of, for a person."""
        return "MIG slice" if self.mig_profile else "GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPool:
    """Nodes without a GPU for everything that is not a model server."""

    instance_type: str
    nodes: int
    root_disk_gib: int = 20
    """What EKS gives a node when nothing is said."""
    ami_release: str | None = None
    """Release of the EKS AMI, where the catalog has one pinned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """The network of a new cluster."""

    cidr: str
    zones: tuple[str, ...]
    """Availability zones, each with a public and a private subnet; each block's zone is one."""
    nat_gateways: int
    interface_endpoints: tuple[str, ...]
    """Services reached without the NAT gateway, such as `ecr.api`; S3 has a gateway endpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingNetwork:
    """Subnets of a VPC that exists, for nodes of this stack."""

    subnet_ids: Mapping[str, str]
    """Private subnets by zone."""
    free_addresses: Mapping[str, int]
    """By zone, where they were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EksClusterFacts:
    """An EKS cluster that exists, as its account tells it."""

    name: str
    arn: str
    endpoint: str
    certificate_authority: str
    """In base64, as a kubeconfig has it."""
    vpc_id: str
    security_group_id: str
    """The one that EKS gives all nodes."""
    service_cidr: str
    kubernetes_version: str | None = None
    """Minor version, such as `1.35`; None: not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdGpuSoftware:
    """What turns a node with AMD GPUs into one that pods can ask for."""

    gpu_operator_version: str
    cert_manager_version: str
    device_plugin_tag: str
    node_labeller_tag: str
    metrics_exporter_tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoscalerPlan:
    """What adds nodes for waiting pods and takes idle ones away."""

    chart_version: str
    image_tag: str
    """Of the minor version of Kubernetes that the cluster has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSoftware:
    """What turns a node with NVIDIA GPUs into one that pods can ask for."""

    gpu_operator_version: str
    cuts_slices: bool = False
    """A pool has a MIG profile, into which something must cut its GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that a stack is about to declare; complete before the first resource."""

    environment: Literal["dev", "prod"]
    region: str | None
    as_of: date
    cluster: "Cluster"
    network: NetworkPlan | None
    """None where the network exists."""
    existing_network: ExistingNetwork | None = None
    """None where the stack makes the network, or no nodes."""
    eks_cluster: EksClusterFacts | None = None
    """None but on an EKS cluster that exists."""
    system_pool: SystemPool | None
    gpu_software: GpuSoftware | None
    """None where no pool of the stack has NVIDIA GPUs that it makes."""
    amd_gpu_software: AmdGpuSoftware | None = None
    """None where the stack installs no operator for AMD GPUs."""
    autoscaler: AutoscalerPlan | None = None
    """None where the stack makes no nodes, or the cluster has an autoscaler."""
    efa_plugin_version: str | None = None
    """Of the chart that hands out EFA interfaces; None where no server spans nodes."""
    group_controller_version: str | None = None
    """Of the chart that starts pods on several nodes as one replica; None where none does."""
    chart_images: Mapping[str, "ChartImages"] = field(default_factory=dict)
    """By chart; empty where images come from the public registries."""
    pools: Mapping[str, PoolPlan]
    servers: Mapping[str, ServerPlan]
    usd_per_gpu_hour: Mapping[str, Decimal]
    """The owner's own price per tier, where the stack states one."""
    prices: Mapping[str, "OwnPrice"] = field(default_factory=dict)
    """What the owner pays in place of a list price, by instance type or service."""
    budget: "BudgetConfig | None"
