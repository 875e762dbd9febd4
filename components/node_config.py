"""What a GPU node is told before it joins: nodeadm's NodeConfig, as EC2 user data."""

import base64
import json
from dataclasses import dataclass
from typing import Any, Final

from berth.planner.plan import PoolPlan
from components import naming

_BOUNDARY: Final = "berth"

IMAGE_PULLS: Final = {"serializeImagePulls": False, "maxParallelImagePulls": 3}
"""A small image need not wait behind one of many gigabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedCluster:
    """What a node with an AMI of one's own must be told; EKS tells the others itself."""

    name: str
    endpoint: str
    certificate_authority: str
    service_cidr: str


def kubelet_config(topology_policy: str, max_pods: int | None) -> dict[str, Any]:
    """Whole cores for a model server, on the GPUs' side of the host.

    `best-effort` where a server may need both sides: a host such as p5.48xlarge has two NUMA
    nodes of four GPUs each, and `single-numa-node` refuses a pod with all eight
    (TopologyAffinityError).

    Source:
        https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/
    """
    config = {
        "cpuManagerPolicy": "static",
        "topologyManagerPolicy": topology_policy,
        **IMAGE_PULLS,
    }
    return config | ({"maxPods": max_pods} if max_pods is not None else {})


def gpu_node_user_data(pool: PoolPlan, cluster: JoinedCluster | None = None) -> str:
    """User data in base64; EKS adds a part of its own that says which cluster to join.

    Args:
        pool: local disks become one volume that holds images, logs and the ephemeral volumes of
            pods.
        cluster: only for an AMI of one's own.

    Source:
        https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/
    """
    spec: dict[str, Any] = {
        "kubelet": {"config": kubelet_config(pool.topology_policy, pool.max_pods)}
    }
    if pool.local_nvme:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    if cluster is not None:
        spec["cluster"] = {
            "name": cluster.name,
            "apiServerEndpoint": cluster.endpoint,
            "certificateAuthority": cluster.certificate_authority,
            "cidr": cluster.service_cidr,
        }
        spec["kubelet"]["flags"] = [f"--node-labels={_labels(pool)}", _taint_flag(pool)]
    node_config = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}
    document = "\n".join(
        (
            "MIME-Version: 1.0",
            f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"',
            "",
            f"--{_BOUNDARY}",
            "Content-Type: application/node.eks.aws",
            "",
            json.dumps(node_config, indent=2, sort_keys=True),
            "",
            f"--{_BOUNDARY}--",
            "",
        )
    )
    return base64.b64encode(document.encode()).decode()


def _labels(pool: PoolPlan) -> str:
    labels = naming.node_labels("gpu", pool.tier, pool.accelerator, pool.mig_profile)
    return ",".join(f"{key}={value}" for key, value in labels.items())


def _taint_flag(pool: PoolPlan) -> str:
    key = naming.GPU_TAINT_KEY[pool.gpu_vendor]
    return f"--register-with-taints={key}={naming.GPU_TAINT_VALUE}:NoSchedule"
