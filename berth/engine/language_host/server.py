"""Serves the engine that has started this process, until it ends or says so."""

import logging
import os
import queue
import signal
import stat
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
from pulumi.runtime.proto import language_pb2_grpc

from berth.engine.language_host.children import Children
from berth.engine.language_host.service import LanguageHost

POLL_S = 0.5
MESSAGE_LIMIT = [("grpc.max_receive_message_length", 400 * 1024 * 1024)]
"""What the SDK's own servers take (`pulumi/runtime/_grpc_settings.py`)."""


def main() -> int:
    """Print a port, serve there until told to end, then end what was started."""
    end: queue.SimpleQueue[str] = queue.SimpleQueue()  # put() may be called in a signal handler
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: end.put("signal"))
    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if not addresses:
        print("berth language host: started without the engine's address", file=sys.stderr)
        return 2
    logging.getLogger("grpc").setLevel(logging.CRITICAL)
    children = Children()
    server = grpc.server(ThreadPoolExecutor(max_workers=32), options=MESSAGE_LIMIT)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(
        LanguageHost(addresses[-1], children), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    threading.Thread(target=watch_engine, args=(end,), daemon=True).start()
    end.get()
    children.end()
    server.stop(grace=None)
    return 0


def watch_engine(end: "queue.SimpleQueue[str]") -> None:
    """Say so when the engine is gone.

    The engine holds the other end of our standard input, which closes with it however it ends.
    Started otherwise, we watch for another parent.
    """
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        while os.read(0, 4096):
            pass
    else:
        parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(POLL_S)
    end.put("engine")
