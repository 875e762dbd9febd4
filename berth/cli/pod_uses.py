"""The GPUs that the pods of any team's stack ask for, and the model servers among them."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from berth.cli.check_inputs import engine_resources
from berth.cli.pod_places import PodPlaces
from berth.costs.resources.documents import Side
from berth.costs.resources.estimate_resources import Pods
from berth.costs.resources.node_pool import (
    AUTO_SCALING_GROUP,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
)
from berth.costs.resources.resource import Declared
from berth.costs.servers import ServerUse
from berth.rules.resource import Resource
from berth.rules.stack_view import StackView, view_stack
from berth.rules.stack_view.workload import Pod, Workload
from berth.rules.unknown import KnownAfterApplyError

_POOLS: Final = frozenset({NODE_GROUP, AUTO_SCALING_GROUP, LAUNCH_TEMPLATE})
_CONFIG_MAP: Final = ":ConfigMap"
_WHOLE_GPUS: Final = frozenset({"nvidia.com/gpu", "amd.com/gpu"})
_ASKS: Final = re.compile(rb"(nvidia|amd)\.com/")
"""What every name of a GPU has, whole or a part of one."""


def pod_uses(side: Side) -> Pods:
    """What the pods of `side` ask for, pool by pool.

    Where one pod's GPUs or nodes are not to be seen, no pool's are, so that nothing is called idle
    that may be in use.
    """
    view = _view(side)
    if view is None:
        return Pods()
    places = PodPlaces(view.pools)
    servers: list[ServerUse] = []
    gpus_by_pool: Counter[str] = Counter()
    is_whole = True
    for workload in view.workloads:
        for pod in workload.pods:
            try:
                found = _use(places, workload, pod)
            except KnownAfterApplyError:
                is_whole = False
                continue
            if found is None:
                continue
            pool, gpus, server = found
            servers += [] if server is None else [server]
            if pool is None:
                is_whole = False
            else:
                gpus_by_pool[pool] += gpus
    return Pods(servers=servers, gpus_by_pool=gpus_by_pool if is_whole else {})


def _view(side: Side) -> StackView | None:
    """The pools of `side` and what may run on them; None where nothing asks for a GPU."""
    asking = [
        each
        for each in side.resources.values()
        if each.type.startswith("kubernetes:") and _ASKS.search(each.raw_inputs)
    ]
    if not asking:
        return None
    around = (
        each
        for each in side.resources.values()
        if each.type in _POOLS or each.type.endswith(_CONFIG_MAP)
    )
    return view_stack([found for each in (*asking, *around) for found in _resources(each)])


def _resources(declared: Declared) -> Iterator[Resource]:
    state: dict[str, Any] = {
        "urn": declared.urn,
        "type": declared.type,
        "inputs": declared.inputs,
        "propertyDependencies": {key: list(urns) for key, urns in declared.links.items()},
    }
    return engine_resources(state)


Use = tuple[str | None, int, ServerUse | None]
"""Its pool, None where it is not sure; its GPUs; itself, where it is a model server."""


def _use(places: PodPlaces, workload: Workload, pod: Pod) -> Use | None:
    """What a pod template asks for; None: no GPU.

    Raises:
        KnownAfterApplyError: if that is known after apply.
    """
    asked = pod.gpus_by_key
    if asked is not None and not any(asked.values()):
        return None
    pools = places.pools_for(pod)
    pool = pools[0].name if len(pools) == 1 else None
    is_countable = asked is not None and set(asked) <= _WHOLE_GPUS
    if not is_countable or workload.kind == "DaemonSet":
        return None, 0, None
    gpus = sum((asked or {}).values()) * pod.count
    names = [container.model for container in pod.containers if container.is_model_server]
    if not names or workload.is_job or not gpus:
        return pool, gpus, None
    tier = pool or " or ".join(each.name for each in pools) or "nodes of others"
    model = next((name for name in names if name), "a model that its arguments do not name")
    server = ServerUse(name=workload.resource.name, tier=tier, model=model, gpus=gpus)
    return pool, gpus, server
