"""The few mistakes that can be mended mechanically: what to change in the resource that has them.

Never among them: image tags, parallel sizes, memory shares, taints, secrets, types of Services.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from berth.rules.capacity import ROLLOUT_DEADLOCK
from berth.rules.edit import Edit, IsSealed, SealedError, apply_edits, path_of
from berth.rules.exceptions import is_excepted
from berth.rules.gpu_requests import GPU_REQUEST_LIMIT_MISMATCH
from berth.rules.host_resources import SHM_TOO_SMALL
from berth.rules.lifecycle import STARTUP_PROBE_TOO_SHORT, wanted_failures
from berth.rules.resource import Resource
from berth.rules.rule import Context, Rule
from berth.rules.stack_view import view_stack
from berth.rules.stack_view.accelerators import is_whole, parse_quantity
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.pod import Container, Pod
from berth.rules.stack_view.volumes import mounted_volume
from berth.rules.stack_view.workload import Workload
from berth.rules.unknown import KnownAfterApplyError

_KINDS: Final = frozenset(
    {"CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet"}
)
"""Whose pod templates stand in the resource as the rules see them."""
_SHM: Final = "/dev/shm"  # noqa: S108  a mount point in the container
_PERIOD_S: Final = 10

Edits = tuple[Edit, ...]
"""Made together or not at all."""


def remedied(
    rule_id: str,
    resource: Resource,
    props: Mapping[str, Any],
    options: Mapping[str, Any],
    is_sealed: IsSealed,
) -> dict[str, Any] | None:
    """The properties of a resource without the mistake; None where there is nothing to mend.

    Args:
        rule_id: one of `REMEDIES`.
        resource: as the rules read it.
        props: the same properties in the form that is to be changed.
        options: settings of the rule.
        is_sealed: tells in `props` what is secret or known after apply.
    """
    view = view_stack([resource])
    context = Context(view, options)
    if is_excepted(resource, rule_id):
        return None
    changed = dict(props)
    is_changed = False
    for workload in view.workloads:
        if workload.kind not in _KINDS:
            continue
        try:
            for edits in REMEDIES[rule_id](workload, context):
                changed, is_changed = apply_edits(changed, edits, is_sealed), True
        except (KnownAfterApplyError, SealedError):
            continue
    return changed if is_changed else None


def _containers(workload: Workload, rule: Rule, context: Context) -> Iterator[Container]:
    """The containers in which a rule finds something."""
    for pod in workload.pods:
        for container in (*pod.containers, *pod.init_containers):
            if any(rule.judge(container, context)):
                yield container


def _equal_requests(workload: Workload, context: Context) -> Iterator[Edits]:
    for container in _containers(workload, GPU_REQUEST_LIMIT_MISMATCH, context):
        limits, requests = container.quantities("limits"), container.quantities("requests")
        for key in {**limits, **requests}:
            limit, request = limits.get(key), requests.get(key)
            kept, other = (limit, "requests") if limit else (request, "limits")
            if kept is None or not _is_whole(kept) or (limit and request is None):
                continue
            target = container.body.at("resources", other, key)
            yield (Edit(path_of(target.path), copied_from=path_of(kept.path)),)


def _is_whole(field: Field) -> bool:
    quantity = parse_quantity(field.known())
    return quantity is not None and is_whole(quantity)


def _shared_memory(workload: Workload, context: Context) -> Iterator[Edits]:
    made: set[str] = set()
    for container in _containers(workload, SHM_TOO_SMALL, context):
        size = f"{2 * (container.gpus or 1)}Gi"
        volume = mounted_volume(container, _SHM, exact=True)
        spec = container.pod.spec
        if volume is None:
            names = {item.at("name").known() for item in spec.at("volumes").items()} | made
            name = next(n for n in ("dshm", *(f"dshm-{i}" for i in range(99))) if n not in names)
            made.add(name)
            source = {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": size}}
            mount = {"name": name, "mountPath": _SHM}
            mounts = container.body.at("volumeMounts").path
            yield (
                Edit(path_of(spec.at("volumes").path), source, append=True),
                Edit(path_of(mounts), mount, append=True),
            )
        elif not volume.source.at("emptyDir").is_absent:
            directory = volume.source.at("emptyDir")
            yield (
                Edit(path_of(directory.at("medium").path), "Memory"),
                Edit(path_of(directory.at("sizeLimit").path), size),
            )


def _longer_start(workload: Workload, context: Context) -> Iterator[Edits]:
    for container in _containers(workload, STARTUP_PROBE_TOO_SHORT, context):
        probe = container.body.at("startupProbe")
        path = path_of(probe.path)
        longer = (
            Edit((*path, "periodSeconds"), _PERIOD_S),
            Edit((*path, "failureThreshold"), wanted_failures(container)),
        )
        liveness = path_of(container.body.at("livenessProbe").path)
        start = (Edit(path, copied_from=liveness),) if probe.is_absent else ()
        yield (*start, *longer)


def _one_at_a_time(workload: Workload, context: Context) -> Iterator[Edits]:
    if workload.kind == "Deployment" and any(ROLLOUT_DEADLOCK.judge(workload, context)):
        yield (
            Edit(("spec", "strategy", "type"), "RollingUpdate"),
            Edit(("spec", "strategy", "rollingUpdate"), {"maxSurge": 0, "maxUnavailable": 1}),
        )


def _no_service_links(workload: Workload, context: Context) -> Iterator[Edits]:
    for pod in workload.pods:
        links = pod.spec.at("enableServiceLinks")
        serves = any(container.engine == "vllm" for container in pod.containers)
        if serves and links.boolean() is not False:
            yield (Edit(path_of(links.path), value=False),)


def _do_not_disrupt(workload: Workload, context: Context) -> Iterator[Edits]:
    for pod in workload.pods:
        annotation = pod.metadata.at("annotations", "karpenter.sh/do-not-disrupt")
        if _stays(pod, workload) and annotation.known() is None:
            yield (Edit(path_of(annotation.path), "true"),)


def _stays(pod: Pod, workload: Workload) -> bool:
    return pod.is_gpu_workload and not workload.is_job


REMEDIES: Final[Mapping[str, Callable[[Workload, Context], Iterator[Edits]]]] = {
    "disruption-unprotected": _do_not_disrupt,
    "gpu-request-limit-mismatch": _equal_requests,
    "rollout-deadlock": _one_at_a_time,
    "service-env-collision": _no_service_links,
    "shm-too-small": _shared_memory,
    "startup-probe-too-short": _longer_start,
}
"""By rule id. Those about a whole stack change every resource that could be part of the mistake."""
