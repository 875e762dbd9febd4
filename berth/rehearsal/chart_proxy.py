"""Pulumi's Kubernetes plugin with some charts taken from folders: `... PLUGIN MAP VERSION ARGS`.

The engine starts this as the plugin. It starts the real one, hands every request on, and only in
those about Helm charts that the map names puts the chart's own folder in place of name and
repository, and back in the answer, so that the engine, the state and the policies see what the
program wrote.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import grpc
from google.protobuf.struct_pb2 import Struct, Value
from pulumi.runtime.proto import plugin_pb2, provider_pb2

SERVICE: Final = "/pulumirpc.ResourceProvider/"
RELEASE: Final = "kubernetes:helm.sh/v3:Release"
CHART: Final = "kubernetes:helm.sh/v4:Chart"
THREADS: Final = 32
LOOK_S: Final = 0.3
"""How soon an engine that was killed is noticed."""
MESSAGE_BYTES: Final = 400 * 1024 * 1024
OPTIONS: Final = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
]

Message = Any
SHAPES: Final[Mapping[str, tuple[Callable[[], Message], Callable[[], Message] | None]]] = {
    "Check": (provider_pb2.CheckRequest, provider_pb2.CheckResponse),
    "Diff": (provider_pb2.DiffRequest, None),
    "Create": (provider_pb2.CreateRequest, provider_pb2.CreateResponse),
    "Read": (provider_pb2.ReadRequest, provider_pb2.ReadResponse),
    "Update": (provider_pb2.UpdateRequest, provider_pb2.UpdateResponse),
    "Delete": (provider_pb2.DeleteRequest, None),
    "Construct": (provider_pb2.ConstructRequest, None),
}
"""Requests that may speak of a chart, and the answers that may too."""


class Charts:
    """Which charts are taken from folders."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    def put_folders(self, request: Message) -> Struct | None:
        """Folders in place of names; returns what stood there, or None if it is no such request."""
        kind = getattr(request, "type", "") or request.urn.split("::")[2].rpartition("$")[2]
        if kind not in (RELEASE, CHART):
            return None
        before: Struct | None = None
        for properties in _structs(request):
            name = properties.fields["chart"].string_value if "chart" in properties.fields else ""
            path = self._paths.get(name.rpartition("/")[2])  # of a chart in a registry, its name
            if path is not None:
                before = before or _kept(properties)
                properties.fields["chart"].string_value = path
                properties.fields.pop("repositoryOpts", None)
        return before

    def put_back(self, answer: Message, before: Struct) -> None:
        """Names in place of folders."""
        for properties in _structs(answer):
            if "chart" in properties.fields:
                for key in ("chart", "repositoryOpts"):
                    properties.fields.pop(key, None)
                    if key in before.fields:
                        properties.fields[key].CopyFrom(before.fields[key])


class Proxy(grpc.GenericRpcHandler):
    """Hands every call on to the real plugin."""

    def __init__(self, channel: grpc.Channel, charts: Charts, version: str) -> None:
        """Serve.

        Args:
            channel: to the real plugin.
            charts: those that are taken from folders.
            version: the one that the engine asked for, and is told.
        """
        self._channel, self._charts, self._version = channel, charts, version

    def service(self, handler_call_details: Any) -> Any:
        """The handler of one method, in bytes."""
        path = handler_call_details.method
        call: Callable[..., bytes] = self._channel.unary_unary(path)
        method = path.removeprefix(SERVICE)

        def handle(request: bytes, context: Any) -> bytes:
            try:
                return self._changed(method, request, call)
            except grpc.RpcError as error:
                context.set_trailing_metadata(error.trailing_metadata() or ())
                context.abort(error.code(), error.details())
                raise AssertionError("abort raises") from None

        return grpc.unary_unary_rpc_method_handler(handle)

    def _changed(self, method: str, data: bytes, call: Callable[[bytes], bytes]) -> bytes:
        if method == "GetPluginInfo":
            info: bytes = plugin_pb2.PluginInfo(version=self._version).SerializeToString()
            return info
        if method not in SHAPES:
            return call(data)
        make_request, make_answer = SHAPES[method]
        request = make_request()
        request.ParseFromString(data)
        before = self._charts.put_folders(request)
        if before is None:
            return call(data)
        answered = call(request.SerializeToString())
        if make_answer is None:
            return answered
        answer = make_answer()
        answer.ParseFromString(answered)
        self._charts.put_back(answer, before)
        changed: bytes = answer.SerializeToString()
        return changed


def _structs(message: Message) -> list[Struct]:
    """The property maps of a request or an answer."""
    return [value for field, value in message.ListFields() if isinstance(value, Struct)]


def _kept(properties: Struct) -> Struct:
    kept = Struct()
    for key in ("chart", "repositoryOpts"):
        if key in properties.fields:
            value: Value = properties.fields[key]
            kept.fields[key].CopyFrom(value)
    return kept


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def main() -> int:
    """Serve until the real plugin ends."""
    engine = os.getppid()
    plugin_path, map_file, version, *arguments = sys.argv[1:]
    plugin = subprocess.Popen(
        [plugin_path, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=_end_with_parent,  # no thread has been started
    )
    assert plugin.stdout is not None
    port = plugin.stdout.readline().strip()
    if not port:
        return plugin.wait()
    channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=OPTIONS)
    charts = Charts(json.loads(Path(map_file).read_text("utf-8")))
    server = grpc.server(ThreadPoolExecutor(max_workers=THREADS), options=OPTIONS)
    server.add_generic_rpc_handlers((Proxy(channel, charts, version),))
    own_port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(own_port, flush=True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine ends its plugins itself
    while plugin.poll() is None and os.getppid() == engine:
        time.sleep(LOOK_S)
    server.stop(grace=None).wait()
    return plugin.poll() or 0


if __name__ == "__main__":
    sys.exit(main())
