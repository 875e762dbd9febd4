"""Small valid resources; a test names only what it is about."""

from typing import Any

from berth.rules.check import check
from berth.rules.environment import Environment
from berth.rules.finding import Finding
from berth.rules.resource import Resource

GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}

ABSENT: Any = object()
"""Takes a default away."""


def container(**changes: Any) -> dict[str, Any]:
    """A vLLM server on one GPU."""
    defaults = {
        "name": "server",
        "image": "vllm/vllm-openai:v0.18.0",
        "args": ["--model", "meta-llama/Llama-3.1-8B-Instruct"],
        "resources": {"limits": {"nvidia.com/gpu": 1}, "requests": {"nvidia.com/gpu": 1}},
    }
    return _changed(defaults, changes)


def gpus(limit: Any, request: Any = ABSENT, key: str = "nvidia.com/gpu") -> dict[str, Any]:
    """`resources` with an accelerator."""
    stated = {"limits": limit, "requests": request}
    return {kind: {key: value} for kind, value in stated.items() if value is not ABSENT}


def pod_spec(*containers: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A pod that tolerates the usual taint."""
    defaults = {"tolerations": [GPU_TOLERATION], "containers": list(containers) or [container()]}
    return _changed(defaults, changes)


def deployment(
    spec: Any = None, *, name: str = "chat", kind: str = "Deployment", **more: Any
) -> Resource:
    """A workload of the apps group with this pod."""
    props = {"spec": {"template": {"spec": pod_spec() if spec is None else spec}}, **more}
    return Resource(f"kubernetes:apps/v1:{kind}", name, f"urn:{name}", props)


def server(**changes: Any) -> Resource:
    """A Deployment of one container."""
    return deployment(pod_spec(container(**changes)))


def leader_worker_set(leader: Any, *, size: Any = 2, worker: Any = None) -> Resource:
    """A group of pods, named `group`."""
    template = {
        "size": size,
        "leaderTemplate": {"spec": pod_spec(leader)},
        "workerTemplate": {"spec": pod_spec(worker or container(command=["join.sh"], args=ABSENT))},
    }
    return Resource(
        "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet",
        "group",
        "urn:group",
        {"spec": {"leaderWorkerTemplate": template}},
    )


def node_group(name: str = "pool", **changes: Any) -> Resource:
    """A tainted node group of one-GPU nodes with the driver in their image."""
    defaults = {
        "instanceTypes": ["g6.xlarge"],
        "amiType": "AL2023_x86_64_NVIDIA",
        "labels": {"pool": name},
        "taints": [GPU_TAINT],
    }
    return Resource("aws:eks/nodeGroup:NodeGroup", name, f"urn:{name}", _changed(defaults, changes))


def launch_template(name: str = "template", /, **props: Any) -> Resource:
    return Resource("aws:ec2/launchTemplate:LaunchTemplate", name, f"urn:{name}", props)


def auto_scaling_group(name: str = "asg", /, **props: Any) -> Resource:
    return Resource("aws:autoscaling/group:Group", name, f"urn:{name}", props)


def node_pool(name: str = "pool", *, requirements: Any = None, **spec: Any) -> Resource:
    """A Karpenter node pool."""
    wanted = requirements or [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g6.xlarge"]}
    ]
    props = {
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"requirements": wanted, **spec}}},
    }
    return Resource("kubernetes:karpenter.sh/v1:NodePool", name, f"urn:{name}", props)


def release(chart: Any = "gpu-operator", /, *, values: Any = None, **changes: Any) -> Resource:
    """A Helm release from a repository, pinned, named as its chart."""
    defaults = {
        "chart": chart,
        "version": "v26.3.3",
        "repositoryOpts": {"repo": "https://charts.example.com"},
        "values": {} if values is None else values,
    }
    name = str(chart).rpartition("/")[2]
    return Resource(
        "kubernetes:helm.sh/v3:Release", name, f"urn:{name}", _changed(defaults, changes)
    )


def found(
    kind: str,
    *resources: Resource,
    environment: Environment | None = "dev",
    options: dict[str, Any] | None = None,
) -> list[Finding]:
    """Findings of one kind; anything that a rule chokes on fails the test."""
    report = check(resources, environment, options={kind: options or {}})
    assert report.surprises == ()
    return [finding for finding in report.findings if finding.kind == kind]


def not_checked(kind: str, *resources: Resource) -> list[str]:
    """What one rule says it could not judge yet; it may not have found anything either."""
    report = check(resources, "dev")
    assert report.surprises == ()
    assert [finding for finding in report.findings if finding.kind == kind] == []
    return [entry.message for entry in report.not_checked if entry.kind == kind]


def _changed(defaults: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = {**defaults, **changes}
    return {key: value for key, value in merged.items() if value is not ABSENT}
