"""Looks at the cluster all the time and writes down when what happened."""

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from berth.rehearsal.api import Api, ApiError, Object
from berth.rehearsal.stages import MODEL_SERVER, SERVER_LABEL

LOOK_S: Final = 0.25
ASIDE: Final = re.compile(r" (?:no new claims|preemption:)")
"""Where the scheduler begins to tell that taking room from others would not help."""


@dataclass(slots=True, kw_only=True)
class PodTimes:
    """Seconds since the rehearsal began; None: not yet."""

    seen_s: float
    scheduled_s: float | None = None
    ready_s: float | None = None
    waited: str = ""
    """The scheduler's words, where the pod had to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One line of the time line."""

    at_s: float
    text: str
    main: bool
    """About a step, a node or a model server; not about one of the many other pods."""


class Observer(threading.Thread):
    """The pods and nodes of a cluster as they come and go."""

    def __init__(self, api: Api) -> None:
        super().__init__(name="observer", daemon=True)
        self._api = api
        self._stopped = threading.Event()
        self._started_s = time.monotonic()
        self._nodes: set[str] = set()
        self.pods: list[Object] = []
        """As of the last look."""
        self.nodes: list[Object] = []
        self.times: dict[str, PodTimes] = {}
        """By namespace and name, of pods that are gone too."""
        self.moments: list[Moment] = []

    @property
    def movement(self) -> tuple[int, ...]:
        """Changes when anything in the cluster does."""
        versions = (o["metadata"]["resourceVersion"] for o in (*self.pods, *self.nodes))
        return (len(self.moments), *sorted(map(int, versions)))

    @property
    def now_s(self) -> float:
        """Seconds since the rehearsal began."""
        return time.monotonic() - self._started_s

    def run(self) -> None:
        """Look until stopped."""
        while not self._stopped.is_set():
            try:
                self.look()
            except (OSError, ApiError, ValueError):  # it is being ended
                if self._stopped.is_set():
                    return
            self._stopped.wait(LOOK_S)

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()
        if self.is_alive():
            self.join()

    def note(self, text: str, *, main: bool = True) -> None:
        """Write a line into the time line."""
        self.moments.append(Moment(at_s=self.now_s, text=text, main=main))

    def look(self) -> None:
        """Read everything once."""
        self.nodes = self._api.items("/api/v1/nodes")
        self.pods = self._api.items("/api/v1/pods")
        names = {node["metadata"]["name"] for node in self.nodes}
        for name in sorted(names - self._nodes):
            self.note(f"node {name} joins")
        for name in sorted(self._nodes - names):
            self.note(f"node {name} is gone")
        self._nodes = names
        for pod in self.pods:
            self._follow(pod)

    def _follow(self, pod: Mapping[str, Any]) -> None:
        key = pod_key(pod)
        times = self.times.setdefault(key, PodTimes(seen_s=self.now_s))
        words = scheduler_words(pod)
        if words and not times.waited:
            times.waited = words
            self.note(f"pod {key} waits: {words}", main=bool(server_of(pod)))
        node, main = pod["spec"].get("nodeName"), bool(server_of(pod))
        if node and times.scheduled_s is None:
            times.scheduled_s = self.now_s
            self.note(f"pod {key} is placed on {node}", main=main)
        if is_ready(pod) and times.ready_s is None:
            times.ready_s = self.now_s
            self.note(f"pod {key} is ready", main=main)


def server_of(pod: Mapping[str, Any]) -> str:
    """The model server that a pod is a replica of, or nothing."""
    labels = pod["metadata"].get("labels") or {}
    label, value = MODEL_SERVER
    return str(labels.get(SERVER_LABEL, "")) if labels.get(label) == value else ""


def pod_key(pod: Mapping[str, Any]) -> str:
    """Namespace and name."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Whether it answers, or has done its work."""
    status = pod["status"]
    conditions = status.get("conditions") or ()
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready or status.get("phase") == "Succeeded"


def scheduler_words(pod: Mapping[str, Any]) -> str:
    """Why the scheduler has found no node for it; empty where it has, or has not looked yet."""
    if pod["spec"].get("nodeName"):
        return ""
    for condition in pod["status"].get("conditions") or ():
        if condition.get("reason") == "Unschedulable":
            return ASIDE.split(str(condition.get("message", "")))[0].rstrip(" .")
    return ""
