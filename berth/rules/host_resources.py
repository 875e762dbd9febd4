"""Rules about memory of the host that engines with GPUs need."""

import math
from collections.abc import Iterator
from typing import Final

from berth.rules.model_facts import known_model
from berth.rules.rule import Breach, Context, Rule, counted
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import parse_quantity, quantity_gib
from berth.rules.stack_view.pod import Container
from berth.rules.stack_view.volumes import mounted_volume

GIB: Final = 2**30
_NO_COLLECTIVES: Final = frozenset({"ollama", "tei"})
_SPREADS: Final = frozenset({"tgi", "nim", "triton"})


def _find_little_memory(container: Container, context: Context) -> Iterator[Breach]:
    limit_field = container.body.at("resources", "limits", "memory")
    if not container.engine or not container.asked_keys or limit_field.is_absent:
        return
    limit_gib = quantity_gib(limit_field.known())
    gpus = container.gpus
    if limit_gib is None or gpus is None:
        return
    buffers_gib = _buffers_gib(container)
    weights_gib = _weights_per_node_gib(container)
    base_gib = 4 + 2 * gpus + buffers_gib
    needed_gib = max(base_gib, 0.25 * weights_gib)
    if limit_gib >= needed_gib:
        return
    parts = (
        f"{counted(gpus, 'GPU')}, {buffers_gib:g} GiB of buffers, {weights_gib:.0f} GiB of weights"
    )
    yield Breach(
        where=container.resource.name,
        what=f"{container.name} may take {limit_gib:g} GiB of host memory and needs "
        f"{math.ceil(needed_gib * 10) / 10:g} ({parts})",
        change="raise the limit",
        fix=f"set {limit_field.path} to {math.ceil(needed_gib)}Gi",
        level="mandatory" if buffers_gib > limit_gib else None,
    )


def _buffers_gib(container: Container) -> float:
    """What the engine is told to keep in host memory, all ranks together."""
    arguments = container.engine_arguments
    ranks = arguments.ranks() if arguments else None
    tensor = (ranks.tensor if ranks else None) or 1
    stated = [
        arguments.number("--swap-space") if arguments else None,
        arguments.number("--cpu-offload-gb") if arguments else None,
    ]
    cache = container.literal_env.get("LMCACHE_MAX_LOCAL_CPU_SIZE")
    quantity = parse_quantity(cache) if cache else None
    sizes = [size for size in stated if size]
    return (sum(sizes) + (float(quantity) if quantity else 0)) * tensor


def _weights_per_node_gib(container: Container) -> float:
    """Weights that a node loads; 0 for a model that is not known."""
    model = known_model(container)
    if model is None:
        return 0.0
    arguments = container.engine_arguments
    stages = (arguments.ranks().pipeline if arguments else None) or 1
    nodes = stages if container.pod.role else 1
    return model.weights_bytes / GIB / nodes


HOST_MEMORY_TOO_SMALL = Rule(
    id="host-memory-too-small",
    title="An engine may take the host memory that loading and its buffers need.",
    severity="medium",
    level="advisory",
    scope="resource",
    reads="memory limit, GPUs, engine arguments and model of each container",
    why="the kernel ends the server while it loads: OOMKilled",
    source="https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    subjects=StackView.containers,
    judge=_find_little_memory,
)


def _find_little_shm(container: Container, context: Context) -> Iterator[Breach]:
    gpus = container.gpus
    if not container.is_model_server or gpus is None or gpus <= 1:
        return
    ranks = _ranks(container, gpus)
    if ranks is None or ranks <= 1 or _has_no_need(container):
        return
    volume = mounted_volume(container, "/dev/shm", exact=True)  # noqa: S108
    size = volume.source.at("emptyDir", "sizeLimit") if volume else None
    is_in_memory = bool(volume and volume.source.at("emptyDir", "medium").text() == "Memory")
    path = container.pod.spec.path
    if volume is None or not is_in_memory:
        yield Breach(
            where=container.resource.name,
            what=f"{container.name} runs {ranks} ranks and /dev/shm is the 64 MiB of the runtime",
            change="mount memory there",
            fix=f"add volume {{name: dshm, emptyDir: {{medium: Memory, sizeLimit: {2 * gpus}Gi}}}} "
            f"to {path} and mount it at /dev/shm",
        )
        return
    size_gib = quantity_gib(size.known()) if size else None
    if size and size_gib is not None and size_gib < gpus:
        yield Breach(
            where=container.resource.name,
            what=f"{container.name} runs {ranks} ranks with {size_gib:g} GiB at /dev/shm and "
            f"{gpus} GPUs need {gpus}",
            change="enlarge it",
            fix=f"set {size.path} to {2 * gpus}Gi",
        )


def _ranks(container: Container, gpus: int) -> int | None:
    """Processes that talk to each other; in a group and for other programs one per GPU."""
    engine = container.engine
    if engine in _NO_COLLECTIVES:
        return None
    if container.pod.role or engine is None or engine in _SPREADS:
        return gpus
    arguments = container.engine_arguments
    ranks = arguments.ranks() if arguments else None
    if ranks is None or None in (ranks.tensor, ranks.pipeline, ranks.data):
        return None
    return (ranks.tensor or 1) * (ranks.pipeline or 1) * (ranks.data or 1)


def _has_no_need(container: Container) -> bool:
    if container.pod.spec.at("hostIPC").boolean() is True:
        return True
    return container.literal_env.get("NCCL_SHM_DISABLE") == "1"


SHM_TOO_SMALL = Rule(
    id="shm-too-small",
    title="Ranks of one pod have shared memory to talk through.",
    severity="high",
    level="mandatory",
    scope="resource",
    reads="engine arguments, GPUs, volumes and volume mounts of each container",
    why="NCCL finds no room in /dev/shm and ends with a system error",
    source="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory",
    subjects=StackView.containers,
    judge=_find_little_shm,
)

RULES = (HOST_MEMORY_TOO_SMALL, SHM_TOO_SMALL)
