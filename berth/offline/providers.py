"""Serves the stand-in providers on loopback ports, as long as a block runs."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc
from pulumi.runtime.proto import provider_pb2_grpc

from berth.offline.aws.control_plane import ControlPlaneAddress
from berth.offline.aws.package import aws_package
from berth.offline.cloud import Cloud
from berth.offline.kubernetes.package import kubernetes_package
from berth.offline.servicer import Package, Servicer

_THREADS = 16
_MESSAGE_BYTES = 400 * 1024 * 1024
"""What the engine allows itself: https://github.com/pulumi/pulumi sdk/go/common/util/rpcutil."""


class OfflineProviders:
    """The aws and kubernetes providers over the pretended cloud of `state_dir`.

    `debug_providers` is what the engine reads from PULUMI_DEBUG_PROVIDERS, valid inside the block.
    """

    debug_providers: str

    def __init__(self, state_dir: Path, control_plane: ControlPlaneAddress | None = None) -> None:
        """Pretend in `state_dir`.

        Args:
            state_dir: keeps what exists.
            control_plane: a real API server that the clusters are said to have; then the kubernetes
                provider is not pretended.
        """
        self.cloud = Cloud(state_dir)
        self._control_plane = control_plane
        self._servers: list[grpc.Server] = []

    def __enter__(self) -> Self:
        packages = [aws_package(self.cloud, self._control_plane)]
        if self._control_plane is None:
            packages.append(kubernetes_package(self.cloud))
        ports = [f"{package.name}:{self._serve(package)}" for package in packages]
        self.debug_providers = ",".join(ports)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stopped = [server.stop(grace=0) for server in self._servers]
        for event in stopped:
            event.wait()
        self._servers.clear()

    def _serve(self, package: Package) -> int:
        options = [
            ("grpc.max_receive_message_length", _MESSAGE_BYTES),
            ("grpc.max_send_message_length", _MESSAGE_BYTES),
            ("grpc.so_reuseport", 0),
        ]
        server = grpc.server(ThreadPoolExecutor(max_workers=_THREADS), options=options)
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(package), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self._servers.append(server)
        return port
