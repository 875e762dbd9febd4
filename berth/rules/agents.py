"""Rules about the agents that make GPUs usable and visible: plugins, exporters, operators."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from berth.catalog.compatibility import load_compatibility
from berth.catalog.gpu_software import is_older, load_gpu_software
from berth.rules.finding import Level
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.chart import Chart
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.pod import Pod
from berth.rules.stack_view.pool import AL2_GPU, Pool
from berth.rules.unknown import KnownAfterApplyError

_EXPORTER_ADDONS: Final = frozenset({"amazon-cloudwatch-observability"})
_EXTERNAL: Final[Mapping[str, Any]] = {
    "externalComponents": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Components that another stack installs, such as device-plugin, "
        "dcgm-exporter, gpu-operator.",
    }
}


def _find_on_cpu_nodes(subject: Pod | Chart, context: Context) -> Iterator[Breach]:
    cpu_pool = next(filter(_is_cpu_pool, context.view.pools), None)
    if cpu_pool is None:
        return
    placement = subject.values if isinstance(subject, Chart) else subject.spec
    if isinstance(subject, Pod) and not _is_placed_agent(subject):
        return
    if _is_placed(placement) or (isinstance(subject, Chart) and subject.has_value_files):
        return
    yield Breach(
        where=subject.resource.name,
        what=f"a GPU agent goes to every node, also to those of CPU pool {cpu_pool.name}, where "
        "it finds no GPU",
        change="select the GPU nodes",
        fix=f"set {placement.at('nodeSelector').path} to a label that only GPU nodes have, such as "
        '{nvidia.com/gpu.present: "true"}',
    )


def _agent_subjects(view: StackView) -> Iterator[Pod | Chart]:
    yield from (pod for pod in view.pods() if pod.workload.kind == "DaemonSet")
    yield from view.charts_named("dcgm-exporter")


def _is_cpu_pool(pool: Pool) -> bool:
    try:
        return pool.has_no_gpus is True
    except KnownAfterApplyError:
        return False


def _is_placed_agent(pod: Pod) -> bool:
    images = [container.image for container in pod.containers if container.is_gpu_agent]
    return any(image and image.name != "node-feature-discovery" for image in images)


def _is_placed(placement: Field) -> bool:
    if placement.at("nodeSelector").known():
        return True
    required = placement.at(
        "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return bool(required.known())


GPU_AGENT_ON_CPU_NODES = Rule(
    id="gpu-agent-on-cpu-nodes",
    title="GPU agents run on GPU nodes only.",
    severity="medium",
    level="advisory",
    scope="stack",
    reads="node selector and affinity of GPU agents and of dcgm-exporter; instance types of pools",
    why="the agent crashes in a loop on nodes without a GPU",
    source="https://github.com/NVIDIA/k8s-device-plugin/blob/main/README.md",
    subjects=_agent_subjects,
    judge=_find_on_cpu_nodes,
)


def _find_no_plugin(pool: Pool, context: Context) -> Iterator[Breach]:
    if pool.kind != "node group" or pool.vendor != "nvidia":
        return
    ami_type = pool.ami_type or ""
    if not (ami_type == AL2_GPU or (ami_type.startswith("AL2023") and "NVIDIA" in ami_type)):
        return
    external = context.options.get("externalComponents") or ()
    view = context.view
    if {"device-plugin", "gpu-operator"} & set(external) or _has_plugin(view) or _is_auto(view):
        return
    yield Breach(
        where=pool.name,
        what=f"{ami_type} has no device plugin and nothing in this stack installs one, so its "
        "nodes show 0 GPUs",
        change="install the device plugin or the GPU Operator",
        fix="add chart nvidia-device-plugin of https://nvidia.github.io/k8s-device-plugin",
        level="mandatory" if any(pod.is_gpu_workload for pod in view.pods()) else None,
    )


def _has_plugin(view: StackView) -> bool:
    for chart in view.charts_named("gpu-operator"):
        if chart.has_value_files or chart.is_switched_on(
            chart.values.at("devicePlugin", "enabled")
        ):
            return True
    if any(
        view.charts_named("nvidia-device-plugin", "nvidia-dra-driver-gpu", "dra-driver-nvidia-gpu")
    ):
        return True
    return _runs(view, ("device-plugin", "dra-driver"))


def _runs(view: StackView, names: tuple[str, ...]) -> bool:
    """Whether a GPU agent of one of these names runs as a workload of the stack."""
    for container in view.containers():
        image = container.image
        if image and image.is_gpu_agent and any(name in image.name for name in names):
            return True
    return False


def _is_auto(view: StackView) -> bool:
    return any(
        Field(cluster.props).at("computeConfig", "enabled").value is True
        for cluster in view.of_type("aws:eks/cluster:Cluster")
    )


DEVICE_PLUGIN_MISSING = Rule(
    id="device-plugin-missing",
    title="Something announces the GPUs of the nodes to Kubernetes.",
    severity="high",
    level="advisory",
    scope="stack",
    reads="AMI types of node groups; device plugins, operators and DRA drivers of the stack",
    why="nodes with GPUs show a capacity of none, and pods wait for ever",
    source="https://docs.aws.amazon.com/eks/latest/userguide/device-management-nvidia.html",
    subjects=lambda view: view.pools,
    judge=_find_no_plugin,
    options=_EXTERNAL,
)


def _find_no_metrics(pool: Pool, context: Context) -> Iterator[Breach]:
    if pool.kind != "node group" or pool.vendor != "nvidia":
        return
    external = set(context.options.get("externalComponents") or ())
    if {"dcgm-exporter", "gpu-operator", "gpu-metrics"} & external or _has_exporter(context.view):
        return
    yield Breach(
        where=pool.name,
        what="nothing in this stack exports metrics of its GPUs",
        change="install dcgm-exporter, the GPU Operator or the CloudWatch add-on",
        fix="add chart dcgm-exporter of https://nvidia.github.io/dcgm-exporter/helm-charts",
    )


def _has_exporter(view: StackView) -> bool:
    for chart in view.charts_named("gpu-operator"):
        if chart.has_value_files or chart.is_switched_on(
            chart.values.at("dcgmExporter", "enabled")
        ):
            return True
    if any(view.charts_named("dcgm-exporter", "amazon-cloudwatch-observability")):
        return True
    for addon in view.of_type("aws:eks/addon:Addon"):
        if Field(addon.props).at("addonName").text() in _EXPORTER_ADDONS:
            return True
    return _runs(view, ("dcgm-exporter",))


NO_GPU_METRICS = Rule(
    id="no-gpu-metrics",
    title="Somebody can see what the GPUs do.",
    severity="medium",
    level="advisory",
    mandatory_in_prod=True,
    scope="stack",
    reads="GPU node groups; exporters, operators and add-ons of the stack",
    why="nobody sees idle or failing GPUs, and scaling on GPU metrics shows unknown",
    source="https://docs.nvidia.com/datacenter/dcgm/latest/gpu-telemetry/dcgm-exporter.html",
    subjects=lambda view: view.pools,
    judge=_find_no_metrics,
    options=_EXTERNAL,
)


def _find_old_toolkit(chart: Chart, context: Context) -> Iterator[Breach]:
    toolkit = chart.values.at("toolkit")
    if not chart.is_switched_on(toolkit.at("enabled")):
        return
    known = load_gpu_software()
    fixed = load_compatibility().current_floor("container_toolkit", "everything").minimum
    version = toolkit.at("version").text()
    level: Level | None = "mandatory" if context.options.get("multiTenant") is True else None
    if version and is_older(version, fixed):
        yield Breach(
            where=chart.resource.name,
            what=f"container toolkit {version} is older than {fixed}: a container can take over "
            "its node",
            change="use a fixed one",
            fix=f"set {toolkit.at('version').path} to v{fixed} or newer",
            level=level,
        )
    elif not version and is_older(
        chart.version or "v999", known.gpu_operator.first_with_fixed_toolkit
    ):
        first = known.gpu_operator.first_with_fixed_toolkit
        yield Breach(
            where=chart.resource.name,
            what=f"gpu-operator {chart.version} is older than {first} and brings a container "
            f"toolkit older than {fixed}: a container can take over its node",
            change="use a fixed one",
            fix=f"set version to {first} or newer",
            level=level,
        )


TOOLKIT_OUTDATED = Rule(
    id="toolkit-outdated",
    title="The NVIDIA container toolkit has no known container escape.",
    severity="critical",
    level="advisory",
    scope="resource",
    reads="version and values of the chart gpu-operator",
    why="an image can run code on the node: CVE-2024-0132, CVE-2025-23266",
    source="https://nvd.nist.gov/vuln/detail/CVE-2025-23266",
    subjects=lambda view: view.charts_named("gpu-operator"),
    judge=_find_old_toolkit,
    options={
        "multiTenant": {
            "type": "boolean",
            "default": False,
            "description": "Strangers run containers on these nodes.",
        }
    },
)


def _find_no_runtime_class(pod: Pod, context: Context) -> Iterator[Breach]:
    view = context.view
    asks = any(k.startswith("nvidia.com/") for c in pod.containers for k in c.asked_keys)
    if not asks or pod.spec.at("runtimeClassName").known():
        return
    reason = _why_not_default(context)
    if reason is None or any(pool.has_driver_image for pool in view.pools):
        return
    yield Breach(
        where=pod.resource.name,
        what=f"{reason} and its pod names no runtime class, so it runs without the GPU's libraries",
        change="name the class",
        fix=f"set {pod.spec.at('runtimeClassName').path} to nvidia",
    )


def _why_not_default(context: Context) -> str | None:
    for chart in context.view.charts_named("gpu-operator"):
        if _has_cdi(chart):
            return None
        for variable in chart.values.at("toolkit", "env").items():
            is_switch = variable.at("name").known() == "CONTAINERD_SET_AS_DEFAULT"
            if is_switch and str(variable.at("value").known()).lower() in ("false", "0"):
                return f"{chart.resource.name} leaves the default runtime as it is"
    if context.options.get("nvidiaRuntimeIsDefault") is False:
        return "NVIDIA's runtime is not the default here"
    return None


def _has_cdi(chart: Chart) -> bool:
    stated = chart.values.at("cdi", "enabled")
    if not stated.is_absent:
        return stated.boolean() is True
    first = load_gpu_software().gpu_operator.first_with_cdi
    return chart.has_value_files or not is_older(chart.version or "v999", first)


RUNTIME_CLASS_MISSING = Rule(
    id="runtime-class-missing",
    title="A GPU pod names NVIDIA's runtime where it is not the default.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="toolkit and CDI values of gpu-operator, runtime class of GPU pods",
    why="the container starts without the driver's libraries and finds no GPU",
    source="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/cdi.html",
    subjects=StackView.pods,
    judge=_find_no_runtime_class,
    options={
        "nvidiaRuntimeIsDefault": {
            "type": "boolean",
            "description": "Whether containers get NVIDIA's runtime without asking for it.",
        }
    },
)

RULES = (
    GPU_AGENT_ON_CPU_NODES,
    DEVICE_PLUGIN_MISSING,
    NO_GPU_METRICS,
    TOOLKIT_OUTDATED,
    RUNTIME_CLASS_MISSING,
)
