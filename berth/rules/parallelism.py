"""Rules about how a model is split over GPUs."""

from collections.abc import Iterator

from berth.catalog.instance import load_instances
from berth.rules.rule import Breach, Context, Rule, counted
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import GPU_KEY
from berth.rules.stack_view.chart import Chart
from berth.rules.stack_view.engine_arguments import Ranks
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.workload import Container


def _find_too_many_ranks(subject: Container | Chart, context: Context) -> Iterator[Breach]:
    if isinstance(subject, Chart):
        yield from _in_chart(subject)
    elif not subject.pod.role:
        yield from _in_pod(subject)
    elif _speaks_for_group(subject):
        yield from _in_group(subject)


def _speaks_for_group(container: Container) -> bool:
    pod, workload = container.pod, container.pod.workload
    return pod.role == "leader" or bool(workload.serve_words) or pod is workload.pods[0]


def _subjects(view: StackView) -> Iterator[Container | Chart]:
    yield from view.containers()
    yield from (chart for chart in view.charts if chart.name == "vllm-stack")


def _in_pod(container: Container) -> Iterator[Breach]:
    ranks = _ranks(container)
    gpus = None if container.has_mig_devices else container.gpus
    if ranks is None or gpus is None:
        return
    tensor, pipeline, data, nodes = _sizes(ranks)
    if None in (ranks.tensor, ranks.pipeline, ranks.data, ranks.nodes):
        return
    wanted, available = tensor * pipeline * data, gpus * nodes
    if wanted <= available:
        return
    product = _product(tensor=tensor, pipeline=pipeline, data=data)
    over = f" on each of {nodes} nodes" if nodes > 1 else ""
    yield Breach(
        where=container.resource.name,
        what=f"{product} needs {wanted} GPUs and {container.name} has {gpus}{over}",
        change="lower the parallel size or ask for more GPUs",
        fix=_fix(container, ranks, wanted, available, gpus_per_pod=-(-wanted // nodes)),
    )


def _in_group(container: Container) -> Iterator[Breach]:
    ranks = _ranks(container)
    gpus = None if container.has_mig_devices else container.gpus
    if ranks is None or gpus is None or ranks.tensor is None:
        return
    tensor, pipeline, _, _ = _sizes(ranks)
    if tensor > gpus and ranks.nodes == 1:  # else it is told to span nodes, as by `--nnodes`
        yield Breach(
            where=container.resource.name,
            what=f"tensor parallel {tensor} needs {tensor} GPUs in one pod and each pod has {gpus}",
            change="keep tensor parallel inside a pod and spread by pipeline parallel",
            fix=f"set {ranks.tensor_option} to {gpus}",
        )
        return
    size = _pods_in_group(container) or ranks.nodes
    if size is None or ranks.pipeline is None or tensor * pipeline <= size * gpus:
        return
    wanted = -(-tensor * pipeline // gpus)
    yield Breach(
        where=container.resource.name,
        what=(
            f"{_product(tensor=tensor, pipeline=pipeline, data=1)} needs {tensor * pipeline} GPUs "
            f"and {counted(size, 'pod')} of {gpus} have {size * gpus}"
        ),
        change="lower the parallel size or enlarge the group",
        fix=f"set the group to {counted(wanted, 'pod')} of {counted(gpus, 'GPU')}",
    )


def _pods_in_group(container: Container) -> int | None:
    """Pods of one LeaderWorkerSet group; a Ray cluster grows by itself."""
    workload = container.pod.workload
    if workload.kind == "LeaderWorkerSet":
        return workload.group_size
    return container.pod.pods_per_replica.integer() if workload.kind.startswith("Dynamo") else None


def _in_chart(chart: Chart) -> Iterator[Breach]:
    specs = chart.values.at("servingEngineSpec", "modelSpec")
    for spec in specs.items():
        tensor_field = spec.at("vllmConfig", "tensorParallelSize")
        gpu_field = spec.at("requestGPU")
        resource = spec.at("requestGPUType").text() or "nvidia.com/gpu"
        tensor = 1 if tensor_field.is_absent else tensor_field.integer()
        gpus = 1 if gpu_field.is_absent else gpu_field.integer()
        if tensor is None or gpus is None or "mig-" in resource or tensor <= gpus:
            continue
        name = spec.at("name").value
        yield Breach(
            where=chart.resource.name,
            what=(
                f"model {name if isinstance(name, str) else spec.path} has "
                f"tensor parallel {tensor} and requestGPU {gpus}"
            ),
            change="lower the parallel size or ask for more GPUs",
            fix=f"set {gpu_field.path} to {tensor}, or {tensor_field.path} to {gpus}",
        )


def _ranks(container: Container) -> Ranks | None:
    arguments = container.engine_arguments
    return arguments.ranks() if arguments else None


def _sizes(ranks: Ranks) -> tuple[int, int, int, int]:
    return ranks.tensor or 1, ranks.pipeline or 1, ranks.data or 1, ranks.nodes or 1


def _product(*, tensor: int, pipeline: int, data: int) -> str:
    sizes = [("tensor", tensor), ("pipeline", pipeline), ("data", data)]
    shown = [f"{name} parallel {size}" for name, size in sizes if size > 1 or name == "tensor"]
    return " x ".join(shown)


def _fix(
    container: Container, ranks: Ranks, wanted: int, available: int, *, gpus_per_pod: int
) -> str:
    key = next(iter(container.asked_keys), GPU_KEY["nvidia"])
    more = f"{_limit(container, key).path} to {gpus_per_pod}"
    fits_a_node = gpus_per_pod <= _largest_node()
    _, pipeline, data, _ = _sizes(ranks)
    if available % (pipeline * data) == 0:
        lower = f"set {ranks.tensor_option} to {available // (pipeline * data)}"
        return f"{lower}, or {more}" if fits_a_node else lower
    if fits_a_node:
        return f"set {more}"
    return f"set the parallel sizes so that they multiply to {available} or less"


def _largest_node() -> int:
    """GPUs of the largest node that the catalog knows."""
    return max(instance.gpu_count for instance in load_instances().values())


def _limit(container: Container, key: str) -> Field:
    return container.body.at("resources", "limits", key)


TP_EXCEEDS_GPUS = Rule(
    id="tp-exceeds-gpus",
    title="A model server has as many GPUs as its parallel sizes multiply to.",
    severity="high",
    level="mandatory",
    scope="resource",
    reads="engine arguments and accelerator quantities of each container; values of vllm-stack",
    why="the engine refuses to start, or waits for ever for GPUs that its pod does not have",
    source="https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html",
    subjects=_subjects,
    judge=_find_too_many_ranks,
)

RULES = (TP_EXCEEDS_GPUS,)
