"""What a GPU node is told before it joins: nodeadm's NodeConfig, as EC2 user data."""

import base64
import json
from typing import Any, Final

_BOUNDARY: Final = "berth"

KUBELET: Final = {"cpuManagerPolicy": "static", "topologyManagerPolicy": "best-effort"}
"""Whole cores for a model server, on the GPUs' side of the host where that is possible. Never
`single-numa-node`: a host such as p5.48xlarge has two NUMA nodes of four GPUs each, and that
policy refuses a pod with all eight (TopologyAffinityError).
Source: https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/"""


def gpu_node_user_data(local_nvme: bool) -> str:
    """User data in base64; EKS adds a part of its own that says which cluster to join.

    Args:
        local_nvme: whether the local disks become one volume that holds images, logs and the
            ephemeral volumes of pods.

    Source:
        https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/
    """
    spec: dict[str, Any] = {"kubelet": {"config": KUBELET}}
    if local_nvme:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
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
