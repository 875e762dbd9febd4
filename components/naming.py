"""Names, labels, taints and tags: the only place that builds them.

Resource names come from stack keys, never from positions, so that adding or reordering tiers and
servers leaves all others alone. They never hold the stack's name either: `pulumi stack rename`
would otherwise replace everything. Tags carry it instead.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from berth.planner.spanning import GROUP_SUFFIX

GpuVendor = Literal["nvidia", "amd"]
NodeRole = Literal["gpu", "system"]

TIER_LABEL: Final = "berth-gpu/tier"
"""Which tier a node belongs to. The prefix is the name of the distribution, so it takes nobody's
domain. On nodes that the stack does not make, their owner sets it."""

NODE_ROLE_LABEL: Final = "berth-gpu/role"
"""`gpu`, or `system` for nodes that run everything but model servers."""

ACCELERATOR_LABEL: Final = "k8s.amazonaws.com/accelerator"
"""Tells the cluster autoscaler that a GPU is coming while the device plugin has not yet published
it. Source: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md"""

MIG_CONFIG_LABEL: Final = "nvidia.com/mig.config"
"""How the MIG manager of the GPU Operator cuts the GPUs of a node.
Source: https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html"""

GPU_TAINT_KEY: Final[Mapping[GpuVendor, str]] = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu"}
"""The vendors' own convention: the taint is called like the resource.
Source: https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html"""

GPU_TAINT_VALUE: Final = "present"

SCALE_FROM_ZERO_PREFIX: Final = "k8s.io/cluster-autoscaler/node-template"
"""Tags with this prefix stand for a node while an Auto Scaling group has none."""

EFA_RESOURCE: Final = "vpc.amazonaws.com/efa"
"""What pods ask for to get an EFA interface."""

MODEL_NAMESPACE: Final = "inference"
GPU_OPERATOR_NAMESPACE: Final = "gpu-operator"
AMD_GPU_OPERATOR_NAMESPACE: Final = "kube-amd-gpu"
CERT_MANAGER_NAMESPACE: Final = "cert-manager"
GROUP_CONTROLLER_NAMESPACE: Final = "lws-system"
SYSTEM_NAMESPACE: Final = "kube-system"
AUTOSCALER_SERVICE_ACCOUNT: Final = "cluster-autoscaler"

HF_TOKEN_SECRET: Final = "hf-token"  # noqa: S105  a name
"""Name of the Kubernetes Secret in the namespace of the model servers."""
HF_TOKEN_KEY: Final = "HF_TOKEN"  # noqa: S105  a name
"""Key in that Secret, and the variable that the Hugging Face libraries read."""


def resource_name(*parts: str) -> str:
    """A Pulumi resource name from stack keys, such as `berth-h100`."""
    return "-".join(parts)


def principal_key(arn: str) -> str:
    """A short stable key for an IAM role or user: account, kind and name without its path."""
    account, principal = arn.split(":")[4:6]
    kind, *path = principal.split("/")
    return "-".join((account, kind, path[-1])) if path else f"{account}-{kind}"


def stack_tags(stack: str, environment: str) -> dict[str, str]:
    """Tags of every AWS resource of a stack."""
    return {"berth:stack": stack, "berth:environment": environment}


def name_tag(stack: str, *parts: str) -> dict[str, str]:
    """What AWS consoles show as the name, with the stack in it."""
    return {"Name": "-".join((stack, *parts))}


def tier_tags(tier: str) -> dict[str, str]:
    """Tags of the AWS resources of one tier."""
    return {"berth:tier": tier}


def node_labels(
    role: NodeRole, tier: str | None, accelerator: str | None, mig_profile: str | None = None
) -> dict[str, str]:
    """Static labels of a node group: every label that a selector of ours uses is among them."""
    labels: dict[str, str] = {NODE_ROLE_LABEL: role}
    if tier is not None:
        labels[TIER_LABEL] = tier
    if accelerator is not None:
        labels[ACCELERATOR_LABEL] = accelerator
    if mig_profile is not None:
        labels[MIG_CONFIG_LABEL] = f"all-{mig_profile}"
    return labels


def gpu_toleration(vendor: GpuVendor) -> dict[str, Any]:
    """What lets a pod onto the tainted nodes of a vendor, whatever the taint's value."""
    return {"key": GPU_TAINT_KEY[vendor], "operator": "Exists", "effect": "NoSchedule"}


def scale_from_zero_name(tag_key: str) -> str:
    """A stable part of a resource name from a tag's key: kind and last word, such as `label-tier`.

    No two keys of ours share both.
    """
    kind, _, key = tag_key.removeprefix(f"{SCALE_FROM_ZERO_PREFIX}/").partition("/")
    return f"{kind}-{key.replace('/', '-').replace('.', '-')}"


def autoscaling_group_pattern(prefix: str, tier: str) -> str:
    """A regular expression for the Auto Scaling group that EKS makes for a tier's node group.

    EKS calls it `eks-NODEGROUP-UUID`; Pulumi ends the node group's name with seven hex digits,
    which keeps tier `h100` apart from `h100-spot`.
    """
    return f"^eks-{resource_name(prefix, tier)}-[0-9a-f]{{7}}-[0-9a-f-]{{36}}$"


def object_labels(component: str) -> dict[str, str]:
    """Recommended labels of every Kubernetes object of ours."""
    return {
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/part-of": "berth",
        "app.kubernetes.io/managed-by": "pulumi",
    }


def server_selector(server: str) -> dict[str, str]:
    """Labels that tell the pods of one model server from all others; never change them."""
    return {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": server}


def group_name(server: str) -> str:
    """The LeaderWorkerSet of a server over several nodes.

    Its controller makes a Service that is called like it, so it cannot have the server's own name.
    """
    return f"{server}{GROUP_SUFFIX}"


def leader_selector(server: str) -> dict[str, str]:
    """Labels of the pods of a server over several nodes that answer requests.

    Source:
        https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables/
    """
    return server_selector(server) | {"leaderworkerset.sigs.k8s.io/worker-index": "0"}


def server_labels(server: str) -> dict[str, str]:
    """Labels of the objects and pods of one model server."""
    return {**server_selector(server), **object_labels("model-server")}


def aws_partition(region: str) -> str:
    """The part of the AWS cloud that a region belongs to, as ARNs spell it."""
    for prefix, partition in (("us-gov-", "aws-us-gov"), ("cn-", "aws-cn")):
        if region.startswith(prefix):
            return partition
    return "aws"
