"""Workloads that use no GPU and share nothing: no rule looks at them beside another resource."""

from berth.rules.stack_view import StackView
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.pod import Container, Pod
from berth.rules.stack_view.workload import PLAIN_KINDS, Workload
from berth.rules.unknown import KnownAfterApplyError


def is_apart(view: StackView) -> bool:
    """Whether the one resource of a view is such a workload; never where it is in doubt."""
    if len(view.workloads) != 1 or len(view.resources) != 1:
        return False
    (workload,) = view.workloads
    try:
        return (
            workload.kind in PLAIN_KINDS
            and not _has_notes(workload)
            and all(map(_is_beside, workload.pods))
        )
    except KnownAfterApplyError:
        return False


def _has_notes(workload: Workload) -> bool:
    """Annotations of ours, which are told of when all has been judged, or claims of its own."""
    claims = workload.body.at("spec", "volumeClaimTemplates")
    notes = workload.body.at("metadata", "annotations").entries()
    return not claims.is_absent or any(key.startswith("berth.dev/") for key in notes)


def _is_beside(pod: Pod) -> bool:
    if pod.is_gpu_workload or not pod.spec.at("resourceClaims").is_absent:
        return False
    if any(not v.at("persistentVolumeClaim").is_absent for v in pod.spec.at("volumes").items()):
        return False
    return all(map(_asks_for_nothing, (*pod.containers, *pod.init_containers)))


def _asks_for_nothing(container: Container) -> bool:
    if container.is_gpu_agent or container.asked_keys or _reads_config_maps(container.body):
        return False
    return container.engine_arguments is None


def _reads_config_maps(body: Field) -> bool:
    """Its variables are in another resource, which may say that it runs an engine."""
    if not body.at("envFrom").is_absent:
        return True
    return any(
        not item.at("valueFrom", "configMapKeyRef").is_absent for item in body.at("env").items()
    )
