"""The command lines of the programs of a control plane."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

SERVICE_CIDR: Final = "10.96.0.0/16"
REQUESTS_PER_S: Final = 500
"""Of each client; the programs' own limits are for clusters that last longer."""


class Ports(NamedTuple):
    """On the loopback address."""

    api: int
    etcd: int
    etcd_peers: int


def first_programs(
    programs: Mapping[str, Path], folder: Path, ports: Ports
) -> list[Mapping[str, Any]]:
    """The API server and where it keeps things; what is kept need not survive a power cut."""
    etcd, peers = f"http://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.etcd_peers}"
    key = folder / "signing.key"
    return [
        _program(
            programs,
            "etcd",
            f"--data-dir={folder / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--log-level=error",
        ),
        _program(
            programs,
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            f"--secure-port={ports.api}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--cert-dir={folder / 'certificates'}",
            f"--token-auth-file={folder / 'tokens.csv'}",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-cluster-ip-range={SERVICE_CIDR}",
            "--authorization-mode=RBAC",
            "--allow-privileged",
            "--endpoint-reconciler-type=none",
            "--max-requests-inflight=0",
            "--max-mutating-requests-inflight=0",
            "--enable-priority-and-fairness=false",
        ),
    ]


def later_programs(programs: Mapping[str, Path], folder: Path) -> list[Mapping[str, Any]]:
    """What talks to the API server."""
    config = f"--kubeconfig={folder / 'kubeconfig'}"
    rate = (f"--kube-api-qps={REQUESTS_PER_S}", f"--kube-api-burst={2 * REQUESTS_PER_S}")
    return [
        _program(
            programs,
            "kube-scheduler",
            config,
            "--leader-elect=false",
            "--secure-port=0",
            *rate,
        ),
        _program(
            programs,
            "kube-controller-manager",
            config,
            "--leader-elect=false",
            "--secure-port=0",
            "--controllers=*,-node-ipam-controller,-cloud-node-lifecycle-controller",
            f"--service-account-private-key-file={folder / 'signing.key'}",
            *rate,
        ),
        _program(
            programs,
            "kwok",
            config,
            "--manage-all-nodes=true",
            "--node-lease-duration-seconds=40",
            f"--config={folder / 'stages.yaml'}",
        ),
    ]


def _program(programs: Mapping[str, Path], name: str, *arguments: str) -> Mapping[str, Any]:
    return {"name": name, "command": [str(programs[name]), *arguments]}
