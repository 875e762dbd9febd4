"""Rules about GPUs that several pods share: time-slicing and MIG."""

from collections.abc import Iterator
from typing import Final

from berth.catalog.gpu_software import is_older
from berth.rules.rule import Breach, Context, Rule, counted
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import GPU_KEY, mig_profile
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.image_software import vllm_version
from berth.rules.stack_view.nodes import INSTANCE_TYPE_OPTION
from berth.rules.stack_view.pod import Container, Pod
from berth.rules.stack_view.pool import Pool
from berth.rules.stack_view.sharing import mig_layout, mig_strategy, sharing_of

_WHOLE: Final = GPU_KEY["nvidia"]
_SHARED: Final = "nvidia.com/gpu.shared"
_MOST_SHARE: Final = 0.95


def _find_slice_misuse(subject: Pod | Pool, context: Context) -> Iterator[Breach]:
    if isinstance(subject, Pool):
        yield from _overbooked(subject, context.view)
        return
    pools = context.view.pools_for(subject)
    sharing = sharing_of(pools[0] if pools else None, context.view)
    if sharing is None:
        return
    for container in subject.containers:
        for key in container.asked_keys:
            if key not in (_WHOLE, _SHARED):
                continue
            path = container.body.at("resources", "limits", key).path
            if key == _WHOLE and sharing.renames:
                yield Breach(
                    where=subject.resource.name,
                    what=f"{container.name} asks for {_WHOLE}, which {sharing.source} renames to "
                    f"{_SHARED}",
                    change="ask for the new name",
                    fix=f"replace {path} by {_SHARED}",
                )
            elif sharing.refuses_several and (container.gpus or 0) > 1:
                yield Breach(
                    where=subject.resource.name,
                    what=f"{container.name} asks for {container.gpus} {key}, and {sharing.source} "
                    "fails requests above 1: several slices may be one GPU",
                    change="ask for one slice, or for GPUs that are not shared",
                    fix=f"set {path} to 1",
                )


def _slice_subjects(view: StackView) -> Iterator[Pod | Pool]:
    yield from view.pods()
    yield from view.pools


def _overbooked(pool: Pool, view: StackView) -> Iterator[Breach]:
    """Servers that must share one GPU and together claim more than its memory."""
    sharing = sharing_of(pool, view)
    if sharing is None or pool.vendor != "nvidia":
        return
    nodes = pool.node_bound("maxSize")
    if nodes != 1 or {node.count for node in pool.nodes} != {1}:
        return
    shares = [
        (container, pod.count, _share(container))
        for pod in view.pods()
        if view.pools_for(pod) == (pool,)
        for container in pod.containers
        if container.engine == "vllm" and {_WHOLE, _SHARED} & set(container.asked_keys)
    ]
    total = sum(count * share for _, count, share in shares)
    servers = sum(count for _, count, _ in shares)
    if total > _MOST_SHARE:
        yield Breach(
            where=pool.name,
            what=f"{servers} servers share its one GPU and together claim {total:.2f} of its "
            f"memory, above {_MOST_SHARE}",
            change="lower their memory shares",
            fix=f"set --gpu-memory-utilization of each to {_MOST_SHARE / servers:.2f} or lower",
        )


def _share(container: Container) -> float:
    arguments = container.engine_arguments
    stated = arguments.number("--gpu-memory-utilization") if arguments else None
    version = vllm_version(container.image)
    return stated or (0.92 if version and not is_older(version, "0.21") else 0.9)


TIME_SLICING_MISUSE = Rule(
    id="time-slicing-misuse",
    title="Pods on shared GPUs ask for one slice by its name, and fit the memory together.",
    severity="medium",
    level="mandatory",
    scope="stack",
    reads="sharing in the values of gpu-operator or nvidia-device-plugin or in a ConfigMap; "
    "accelerators and memory shares of pods",
    why="slices are not isolated: the pod is refused, or the second one finds no memory",
    source="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html",
    subjects=_slice_subjects,
    judge=_find_slice_misuse,
)


def _find_wrong_slice(pod: Pod, context: Context) -> Iterator[Breach]:
    for container in pod.containers:
        for key in container.asked_keys:
            profile = mig_profile(key)
            if profile is None and key != _WHOLE:
                continue
            found = _unlike_strategy(pod, key, profile, context) or _unknown_profile(
                pod, profile, context
            )
            if found:
                what, fix = found
                yield Breach(
                    where=pod.resource.name,
                    what=f"{container.name} asks for {key}, {what}",
                    change="ask for what the nodes have",
                    fix=f"replace {container.body.at('resources', 'limits', key).path} by {fix}",
                )


def _unlike_strategy(
    pod: Pod, key: str, profile: str | None, context: Context
) -> tuple[str, str] | None:
    strategy = mig_strategy(context.view)
    if strategy in ("single", "none") and profile:
        return f"and MIG strategy {strategy} counts every device as {_WHOLE}", _WHOLE
    pools = context.view.pools_for(pod)
    layouts = [_all_sliced(pool) for pool in pools]
    if strategy != "mixed" or not layouts or not all(layouts):
        return None
    if profile and any(layout in (profile, "balanced") for layout in layouts):
        return None
    layout = layouts[0] or ""
    name = f"nvidia.com/mig-{layout}" if layout[:1].isdigit() else "one of the MIG profiles"
    return f"and every GPU of pool {pools[0].name} is cut by all-{layout}", name


def _all_sliced(pool: Pool) -> str | None:
    stated = pool.labels.at("nvidia.com/mig.config").text()
    return "balanced" if stated == "all-balanced" else mig_layout(pool)


def _unknown_profile(pod: Pod, profile: str | None, context: Context) -> tuple[str, str] | None:
    if profile is None:
        return None
    for nodes in context.view.nodes_of(pod, context.options):
        models = [(name, gpu) for name, gpu in nodes.gpus]
        if any(profile in {p.name for p in gpu.mig_profiles} for _, gpu in models):
            return None
        if len(models) != len(nodes.kinds):
            return None
        name, gpu = models[0]
        known = ", ".join(p.name for p in gpu.mig_profiles)
        if not known and gpu.capability >= (9, 0):
            return None
        fix = f"nvidia.com/mig-{gpu.mig_profiles[0].name}" if known else _WHOLE
        return f"and the GPU of {name} has {known or 'no MIG'}", fix
    return None


MIG_RESOURCE_MISMATCH = Rule(
    id="mig-resource-mismatch",
    title="A pod asks for GPUs by the names that MIG leaves on its nodes.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="MIG strategy of gpu-operator or the device plugin, nvidia.com/mig.config of pools, "
    "accelerators of pods",
    why="no node has the name that it asks for, and the pod stays Pending",
    source="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html",
    subjects=StackView.pods,
    judge=_find_wrong_slice,
    options=INSTANCE_TYPE_OPTION,
)


def _find_several_devices(container: Container, context: Context) -> Iterator[Breach]:
    keys = [key for key in container.asked_keys if mig_profile(key)]
    if not keys or context.options.get("allowMultiDevice") is True:
        return
    arguments = container.engine_arguments
    tensor = arguments.ranks().tensor if arguments else None
    devices = container.gpus or 0
    if devices <= 1 and (tensor or 1) <= 1:
        return
    limit: Field = container.body.at("resources", "limits", keys[0])
    split = f" with tensor parallel {tensor}" if tensor and tensor > 1 else ""
    yield Breach(
        where=container.resource.name,
        what=f"{container.name} asks for {counted(devices, 'MIG device')}{split}: "
        "one process uses only one",
        change="use one larger slice, or whole GPUs",
        fix=f"set {limit.path} to 1" + (" and tensor parallel to 1" if split else ""),
    )


MIG_MULTI_DEVICE = Rule(
    id="mig-multi-device",
    title="A container uses one MIG device.",
    severity="high",
    level="mandatory",
    scope="resource",
    reads="accelerators and engine arguments of each container",
    why="there is no peer access between slices: the others stay idle, or the engine fails",
    source="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
    subjects=StackView.containers,
    judge=_find_several_devices,
    options={
        "allowMultiDevice": {
            "type": "boolean",
            "default": False,
            "description": "NCCL over MIG devices is known to work here.",
        }
    },
)

RULES = (TIME_SLICING_MISUSE, MIG_RESOURCE_MISMATCH, MIG_MULTI_DEVICE)
