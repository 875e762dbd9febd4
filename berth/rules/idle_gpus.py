"""Rules about GPUs that are paid for and do nothing."""

from collections.abc import Iterator
from typing import Final

from berth.rules.rule import Breach, Context, Rule, counted
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import GPU_KEY
from berth.rules.stack_view.engine_arguments import Engine
from berth.rules.stack_view.pod import Container, Pod
from berth.rules.stack_view.pool import Pool
from berth.rules.stack_view.sharing import sharing_of

_STATES_ITS_RANKS: Final[frozenset[Engine]] = frozenset(
    {"vllm", "sglang", "lmdeploy", "tensorrt-llm"}
)
"""Engines that use one GPU unless told otherwise; the others spread by themselves."""
_WHOLE: Final = frozenset({GPU_KEY["nvidia"], GPU_KEY["amd"]})
_NO_CONSUMERS: Final = frozenset(
    {
        "argo-cd",
        "aws-ebs-csi-driver",
        "aws-efa-k8s-device-plugin",
        "aws-efs-csi-driver",
        "aws-for-fluent-bit",
        "aws-fsx-csi-driver",
        "aws-load-balancer-controller",
        "aws-node-termination-handler",
        "aws-vpc-cni",
        "cert-manager",
        "cilium",
        "cluster-autoscaler",
        "dcgm-exporter",
        "external-dns",
        "external-secrets",
        "fluent-bit",
        "gpu-operator",
        "gpu-operator-charts",
        "grafana",
        "ingress-nginx",
        "istio-base",
        "istiod",
        "jobset",
        "karpenter",
        "karpenter-crd",
        "keda",
        "kserve",
        "kserve-crd",
        "kube-prometheus-stack",
        "kuberay-operator",
        "kueue",
        "loki",
        "lws",
        "metrics-server",
        "node-feature-discovery",
        "nvidia-device-plugin",
        "nvidia-dra-driver-gpu",
        "opentelemetry-collector",
        "prometheus",
        "prometheus-adapter",
        "secrets-store-csi-driver",
        "velero",
        "volcano",
    }
)
"""Charts that use no GPU; what any other brings is not shown."""


def _find_idle(subject: Container | Pool, context: Context) -> Iterator[Breach]:
    if isinstance(subject, Pool):
        yield from _idle_pool(subject, context)
    elif subject.pod.role != "worker":
        yield from _idle_in_pod(subject, context.view)


def _subjects(view: StackView) -> Iterator[Container | Pool]:
    yield from view.containers()
    yield from view.pools


def _idle_in_pod(container: Container, view: StackView) -> Iterator[Breach]:
    arguments = container.engine_arguments
    if arguments is None or not arguments.words or container.engine not in _STATES_ITS_RANKS:
        return
    keys = container.asked_keys
    if len(keys) != 1 or keys[0] not in _WHOLE or "--device-map" in arguments.words:
        return
    ranks = arguments.ranks()
    data = arguments.tokens("--data-parallel-size", "-dp", "--dp", "--dp-size") or ranks.data
    own = container.gpus
    if own is None or None in (ranks.tensor, ranks.pipeline, data):
        return
    pool = next(iter(view.pools_for(container.pod)), None)
    if sharing_of(pool, view) is not None:
        return
    total = _gpus_of_group(container, own)
    used = (ranks.tensor or 1) * (ranks.pipeline or 1) * (data or 1)
    if total is None or total <= 1 or total <= used:
        return
    yield Breach(
        where=container.resource.name,
        what=f"{container.name} has {total} GPUs and its engine uses {used}",
        change="split the model over them, or ask for fewer",
        fix=f"set {ranks.tensor_option} to {own}, or {_limit(container)} to {used}",
    )


def _limit(container: Container) -> str:
    return container.body.at("resources", "limits", container.asked_keys[0]).path


def _gpus_of_group(container: Container, own: int) -> int | None:
    """GPUs of all pods that work together; None where one is not known."""
    pod = container.pod
    if not pod.role:
        return own
    if pod.workload.kind.startswith("Dynamo"):
        return own * (pod.pods_per_replica.integer() or 1)
    total = 0
    workload_pods: tuple[Pod, ...] = getattr(pod.workload, "pods", ())
    for other in workload_pods:
        asked = other.gpus_by_key
        if asked is None:
            return None
        total += sum(asked.values()) * (other.pods_per_replica.integer() or 1)
    return total


def _idle_pool(pool: Pool, context: Context) -> Iterator[Breach]:
    if context.options.get("allowWarmPools") is True or pool.vendor is None:
        return
    least = pool.node_bound("minSize")
    if not least or least < 1 or _has_consumers(context.view):
        return
    path = "scalingConfig.minSize" if pool.kind == "node group" else "minSize"
    types = ", ".join(pool.gpu_types) or "an image for GPUs"
    yield Breach(
        where=pool.name,
        what=f"{path} keeps {counted(least, 'node')} of {types} and nothing in this stack "
        "uses a GPU",
        change="let it shrink to none, or set allowWarmPools for a stack without workloads",
        fix=f"set {path} to 0",
    )


def _has_consumers(view: StackView) -> bool:
    if any(chart.name not in _NO_CONSUMERS for chart in view.charts):
        return True
    return any(pod.is_gpu_workload for pod in view.pods())


IDLE_GPUS = Rule(
    id="idle-gpus",
    title="Every GPU that is asked for or kept running is used.",
    severity="medium",
    level="advisory",
    scope="stack",
    reads="parallel sizes in engine arguments and accelerators of pods; smallest size of pools",
    why="a GPU costs the same whether it computes or not",
    source="https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html",
    subjects=_subjects,
    judge=_find_idle,
    options={
        "allowWarmPools": {
            "type": "boolean",
            "default": False,
            "description": "Workloads of the pools live in another stack.",
        }
    },
)

RULES = (IDLE_GPUS,)
