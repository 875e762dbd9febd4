"""The pod of one replica of a model server."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import pulumi_kubernetes as kubernetes
from pulumi_kubernetes.core import v1 as core

from berth.planner.plan import PoolPlan, ServerPlan
from components import naming

HTTP_PORT: Final = 8000
"""Default of vLLM's API server."""

MODEL_CACHE_PATH: Final = "/root/.cache/huggingface"
"""Where the images download weights to."""

PROBE_PERIOD_S: Final = 10
PROBE_TIMEOUT_S: Final = 5
"""One second flaps while a long prefill holds the engine."""

PRE_STOP_S: Final = 15
"""Until no proxy sends new requests any more; KServe's template for vLLM has the same.
Source: https://github.com/kserve/kserve/tree/master/config/llmisvcconfig"""

TERMINATION_MARGIN_S: Final = 30
"""For the engine to free its GPUs after the last answer."""

SECCOMP_PROFILE: Final[Mapping[naming.GpuVendor, str]] = {
    "nvidia": "RuntimeDefault",
    "amd": "Unconfined",
}
"""ROCm sets memory policies and maps memory between processes, which the runtime's profile
forbids. Source: https://docs.vllm.ai/en/stable/getting_started/installation/gpu.html (AMD ROCm)"""

ADDED_CAPABILITIES: Final[Mapping[naming.GpuVendor, Sequence[str]]] = {
    "nvidia": (),
    "amd": ("SYS_PTRACE",),
}
"""As above."""


KEEP_RUNNING: Final[Mapping[str, str]] = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
"""The autoscaler empties no node on which a replica serves: loading it again takes minutes.
Source: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md"""


PodRole = Literal["alone", "leader", "worker"]
"""Whether a pod is a replica of its own, or which part of one over several nodes."""

GROUP_ARGS: Final = (
    *("--node-rank", "$(LWS_WORKER_INDEX)"),
    *("--master-addr", "$(LWS_LEADER_ADDRESS)"),
)
"""LeaderWorkerSet puts both variables into every container.
Source: https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables/"""


def pod_template(
    server: ServerPlan, pool: PoolPlan, role: PodRole = "alone"
) -> core.PodTemplateSpecArgs:
    """One container on a node of the tier; it alone holds the GPUs it asks for."""
    return core.PodTemplateSpecArgs(
        metadata=kubernetes.meta.v1.ObjectMetaArgs(
            labels=naming.server_labels(server.name), annotations=dict(KEEP_RUNNING)
        ),
        spec=core.PodSpecArgs(
            containers=[_container(server, pool, role)],
            volumes=_volumes(server),
            node_selector={naming.TIER_LABEL: pool.tier} if len(server.tiers) < 2 else None,
            affinity=_preferred_tiers(server.tiers),
            image_pull_secrets=_pull_secrets(server),
            tolerations=[core.TolerationArgs(**naming.gpu_toleration(pool.gpu_vendor))],
            termination_grace_period_seconds=termination_grace_s(server.vllm_args),
            automount_service_account_token=False,
            # A Service called `vllm` would set VLLM_PORT, which vLLM reads as its own.
            enable_service_links=False,
            security_context=core.PodSecurityContextArgs(
                seccomp_profile=core.SeccompProfileArgs(type=SECCOMP_PROFILE[pool.gpu_vendor])
            ),
        ),
    )


def _preferred_tiers(tiers: Sequence[str]) -> core.AffinityArgs | None:
    """On one of several tiers, the earlier the better."""
    if len(tiers) < 2:
        return None

    def on(values: Sequence[str]) -> list[core.NodeSelectorRequirementArgs]:
        return [
            core.NodeSelectorRequirementArgs(
                key=naming.TIER_LABEL, operator="In", values=list(values)
            )
        ]

    return core.AffinityArgs(
        node_affinity=core.NodeAffinityArgs(
            required_during_scheduling_ignored_during_execution=core.NodeSelectorArgs(
                node_selector_terms=[core.NodeSelectorTermArgs(match_expressions=on(tiers))]
            ),
            preferred_during_scheduling_ignored_during_execution=[
                core.PreferredSchedulingTermArgs(
                    weight=max(1, 100 - 100 * index // len(tiers)),
                    preference=core.NodeSelectorTermArgs(match_expressions=on([tier])),
                )
                for index, tier in enumerate(tiers)
            ],
        )
    )


def _pull_secrets(server: ServerPlan) -> list[core.LocalObjectReferenceArgs] | None:
    if server.pull_secret is None:
        return None
    return [core.LocalObjectReferenceArgs(name=server.pull_secret)]


def _container(server: ServerPlan, pool: PoolPlan, role: PodRole) -> core.ContainerArgs:
    resources = _resources(server, pool)
    answers = role != "worker"
    return core.ContainerArgs(
        name="vllm",
        image=server.image,
        args=_args(server, role),
        env=[_hf_token()] if role == "alone" else [_hf_token(), _host_address()],
        ports=[core.ContainerPortArgs(name="http", container_port=HTTP_PORT)] if answers else None,
        # Equal, so that the pod is of the Guaranteed class: evicted last, on cores of its own.
        resources=core.ResourceRequirementsArgs(requests=resources, limits=resources),
        # A worker listens on no port; when it ends, its whole group begins anew.
        startup_probe=(
            _probe(failures=-(-server.startup_budget_s // PROBE_PERIOD_S)) if answers else None
        ),
        readiness_probe=_probe(failures=3) if answers else None,
        liveness_probe=_probe(failures=6) if answers else None,
        lifecycle=core.LifecycleArgs(
            pre_stop=core.LifecycleHandlerArgs(sleep=core.SleepActionArgs(seconds=PRE_STOP_S))
        ),
        volume_mounts=[
            core.VolumeMountArgs(name="shm", mount_path="/dev/shm"),  # noqa: S108  tensors of the workers
            core.VolumeMountArgs(name="model-cache", mount_path=MODEL_CACHE_PATH),
        ],
        security_context=core.SecurityContextArgs(
            allow_privilege_escalation=False,
            capabilities=core.CapabilitiesArgs(
                drop=["ALL"], add=_capabilities(server, pool) or None
            ),
        ),
    )


def _args(server: ServerPlan, role: PodRole) -> list[str]:
    if role == "alone":
        return list(server.vllm_args)
    return [*server.vllm_args, *GROUP_ARGS, *(["--headless"] if role == "worker" else [])]


def _resources(server: ServerPlan, pool: PoolPlan) -> dict[str, str]:
    """A pod of several that make one replica takes all network interfaces of its node too."""
    interfaces = _interfaces(server, pool)
    return {
        "cpu": str(server.cpu_request_cores),
        "memory": f"{server.host_memory_request_gib}Gi",
        server.gpu_resource: str(server.gpus_per_pod),
        **({naming.EFA_RESOURCE: str(interfaces)} if interfaces else {}),
    }


def _interfaces(server: ServerPlan, pool: PoolPlan) -> int:
    return pool.efa_interfaces if server.nodes_per_replica > 1 else 0


def _capabilities(server: ServerPlan, pool: PoolPlan) -> list[str]:
    """Interfaces that write into memory by themselves need it locked.

    Source:
        https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html
    """
    locked = ("IPC_LOCK",) if _interfaces(server, pool) else ()
    return [*ADDED_CAPABILITIES[pool.gpu_vendor], *locked]


def _host_address() -> core.EnvVarArgs:
    """The address under which other ranks reach this one.

    Source:
        https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html
    """
    return core.EnvVarArgs(
        name="VLLM_HOST_IP",
        value_from=core.EnvVarSourceArgs(
            field_ref=core.ObjectFieldSelectorArgs(field_path="status.podIP")
        ),
    )


def _hf_token() -> core.EnvVarArgs:
    """The token by reference, never by value; without the Secret the pod waits and says so."""
    return core.EnvVarArgs(
        name=naming.HF_TOKEN_KEY,
        value_from=core.EnvVarSourceArgs(
            secret_key_ref=core.SecretKeySelectorArgs(
                name=naming.HF_TOKEN_SECRET, key=naming.HF_TOKEN_KEY
            )
        ),
    )


def _probe(failures: int) -> core.ProbeArgs:
    """`/health` refuses connections until the weights are loaded, so it serves all three probes."""
    return core.ProbeArgs(
        http_get=core.HTTPGetActionArgs(path="/health", port="http"),
        period_seconds=PROBE_PERIOD_S,
        timeout_seconds=PROBE_TIMEOUT_S,
        failure_threshold=failures,
    )


def _volumes(server: ServerPlan) -> list[core.VolumeArgs]:
    """Both have a limit: the first counts as memory of the pod, the second as disk of the node."""
    return [
        core.VolumeArgs(
            name="shm",
            empty_dir=core.EmptyDirVolumeSourceArgs(
                medium="Memory", size_limit=f"{server.shm_gib}Gi"
            ),
        ),
        core.VolumeArgs(
            name="model-cache",
            empty_dir=core.EmptyDirVolumeSourceArgs(size_limit=f"{server.model_cache_gib}Gi"),
        ),
    ]


def termination_grace_s(vllm_args: Sequence[str]) -> int:
    """Seconds from the order to stop until the kill: the pause, vLLM's own drain, and a margin."""
    return PRE_STOP_S + _shutdown_timeout_s(vllm_args) + TERMINATION_MARGIN_S


def _shutdown_timeout_s(vllm_args: Sequence[str]) -> int:
    """What `--shutdown-timeout` says; vLLM's own default is 0, which cuts answers off."""
    words: list[Any] = [word for arg in vllm_args for word in arg.split("=", 1)]
    if "--shutdown-timeout" not in words:
        return 0
    return int(words[words.index("--shutdown-timeout") + 1])
