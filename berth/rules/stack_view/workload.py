"""Workloads: resources that make pods, and where in each the pod templates are."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml

from berth.rules.resource import Resource
from berth.rules.stack_view.config_maps import ConfigMaps
from berth.rules.stack_view.engine_arguments import Engine
from berth.rules.stack_view.engine_file import options_as_words
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.pod import Container, Pod, Role
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError

__all__ = ["Container", "Pod", "Role", "Workload", "as_workload"]

_TEMPLATE = "spec.template"
_POD_TEMPLATES = {
    ("", "Pod"): "",
    ("apps", "DaemonSet"): _TEMPLATE,
    ("apps", "Deployment"): _TEMPLATE,
    ("apps", "ReplicaSet"): _TEMPLATE,
    ("apps", "StatefulSet"): _TEMPLATE,
    ("batch", "CronJob"): "spec.jobTemplate.spec.template",
    ("batch", "Job"): _TEMPLATE,
}
PLAIN_KINDS = frozenset(kind for _, kind in _POD_TEMPLATES)
"""Workloads of Kubernetes itself."""
_REPLICAS = {"CronJob": "spec.jobTemplate.spec.parallelism", "Job": "spec.parallelism"}
_RAY_CLUSTERS = {
    "RayCluster": "spec",
    "RayJob": "spec.rayClusterSpec",
    "RayService": "spec.rayClusterConfig",
}
_KSERVE_SERVERS: Mapping[str, Engine] = {"huggingface": "vllm", "triton": "triton"}
"""Fields of a predictor that stand for a model and its engine at once."""
_MODEL_FORMATS: Mapping[str, Engine] = {"huggingface": "vllm", "vllm": "vllm"}
_GROUP_OF_KIND = {
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io",
    "InferenceService": "serving.kserve.io",
    "LLMInferenceService": "serving.kserve.io",
    "ClusterServingRuntime": "serving.kserve.io",
    "ServingRuntime": "serving.kserve.io",
    "DynamoGraphDeployment": "nvidia.com",
    "DynamoComponentDeployment": "nvidia.com",
    **dict.fromkeys(_RAY_CLUSTERS, "ray.io"),
}


@dataclass(frozen=True, eq=False)
class Workload:
    """One resource that makes pods."""

    resource: Resource
    kind: str
    config_maps: ConfigMaps = field(default_factory=dict)

    @property
    def body(self) -> Field:
        """All its properties."""
        return Field(self.resource.props)

    @property
    def is_ray(self) -> bool:
        """A Ray cluster."""
        return self.kind in _RAY_CLUSTERS

    @property
    def is_job(self) -> bool:
        """It ends."""
        return self.kind in ("Job", "CronJob", "RayJob")

    @property
    def is_group(self) -> bool:
        """Its pods work as one: a LeaderWorkerSet, a Ray cluster, several nodes of one server."""
        return self.kind == "LeaderWorkerSet" or self.is_ray or self._has_nodes

    @property
    def _has_nodes(self) -> bool:
        if self.kind == "LLMInferenceService":
            return not self.body.at("spec", "worker").is_absent
        return any(pod.role == "leader" for pod in self.pods)

    @property
    def group_size(self) -> int:
        """Pods of one group.

        Raises:
            KnownAfterApplyError: if it is known after apply.
        """
        return self.body.at("spec", "leaderWorkerTemplate", "size").integer() or 1

    @cached_property
    def serve_words(self) -> tuple[str, ...]:
        """Engine options in the application that a RayService runs, as words."""
        text = self.body.at("spec", "serveConfigV2").value if self.kind == "RayService" else None
        if not isinstance(text, str):
            return ()
        try:
            return tuple(_engine_words(yaml.load(text, Loader=yaml.CSafeLoader)))
        except (yaml.YAMLError, RecursionError):
            return ()

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """Its pod templates."""
        find = _FINDERS.get(self.kind)
        if find:
            try:
                return tuple(find(self))
            except KnownAfterApplyError as error:
                return (Pod(self, Field(UNKNOWN, error.field)),)
        path = next(path for (_, kind), path in _POD_TEMPLATES.items() if kind == self.kind)
        template = self.body.at(*path.split(".")) if path else self.body
        replicas = self.body.at(*_REPLICAS.get(self.kind, "spec.replicas").split("."))
        return (Pod(self, template.at("spec"), "", template.at("metadata"), replicas=replicas),)


def _of_leader_worker_set(workload: Workload) -> Iterator[Pod]:
    template = workload.body.at("spec", "leaderWorkerTemplate")
    replicas = workload.body.at("spec", "replicas")
    size = template.at("size")
    leader, worker = template.at("leaderTemplate"), template.at("workerTemplate")
    if not leader.is_absent:
        yield Pod(workload, leader.at("spec"), "leader", leader.at("metadata"), replicas=replicas)
        count = size.value if size.is_unknown else max(0, (size.integer() or 1) - 1)
        size = Field(count, size.path)
    yield Pod(workload, worker.at("spec"), "worker", worker.at("metadata"), size, replicas)


def _of_ray(workload: Workload) -> Iterator[Pod]:
    cluster = workload.body.at(*_RAY_CLUSTERS[workload.kind].split("."))
    head = cluster.at("headGroupSpec", "template")
    yield Pod(workload, head.at("spec"), "leader", head.at("metadata"))
    groups = cluster.at("workerGroupSpecs")
    for group in [] if groups.is_unknown else groups.items():
        template = group.at("template")
        hosts = group.at("numOfHosts")
        yield Pod(
            workload,
            template.at("spec"),
            "worker",
            template.at("metadata"),
            hosts,
            group.at("replicas"),
        )


def _of_inference_service(workload: Workload) -> Iterator[Pod]:
    for part in ("predictor", "transformer", "explainer"):
        spec = workload.body.at("spec", part)
        if spec.is_absent or spec.is_unknown or not isinstance(spec.value, Mapping):
            continue
        server = next(filter(spec.value.__contains__, _KSERVE_SERVERS), "model")
        model = spec.at(server)
        stated = spec.value.get("containers")
        containers = list(stated) if isinstance(stated, list) else []
        is_model = isinstance(model.value, Mapping)
        if is_model:
            containers.insert(0, {"name": "kserve-container", **model.value})
        model_format = str(model.at("modelFormat", "name").value).lower()
        worker, metadata = spec.at("workerSpec"), workload.body.at("metadata")
        if is_model and not worker.is_absent:
            containers[0] = _with_sizes(containers[0], worker)
        synthetic = Field({**spec.value, "containers": containers}, spec.path)
        replicas = spec.at("minReplicas")
        yield Pod(
            workload,
            synthetic if is_model else spec,
            "" if worker.is_absent else "leader",
            metadata,
            replicas=replicas,
            default_engine=_KSERVE_SERVERS.get(server) or _MODEL_FORMATS.get(model_format),
        )
        if not worker.is_absent:
            stages = worker.at("pipelineParallelSize")
            others = stages.value if stages.is_unknown else max(0, (stages.integer() or 1) - 1)
            yield Pod(workload, worker, "worker", metadata, Field(others, stages.path), replicas)


def _with_sizes(server: dict[str, Any], worker: Field) -> dict[str, Any]:
    """A server with the sizes that KServe hands to it from `workerSpec`, 1 where none is stated.

    https://kserve.github.io/website/docs/model-serving/generative-inference/multi-node
    """
    stated = server.get("args", [])
    if not isinstance(stated, list):
        return server
    tensor, stages = worker.at("tensorParallelSize"), worker.at("pipelineParallelSize")
    sizes = [
        *("--tensor-parallel-size", 1 if tensor.is_absent else tensor.value),
        *("--pipeline-parallel-size", 1 if stages.is_absent else stages.value),
    ]
    return {**server, "args": [*stated, *sizes]}


def _of_llm_inference_service(workload: Workload) -> Iterator[Pod]:
    spec = workload.body.at("spec")
    for part in (spec, spec.at("prefill")):
        worker = part.at("worker")
        role: Role = "" if worker.is_absent else "leader"
        replicas = part.at("replicas")
        if not part.at("template").is_absent:
            yield Pod(workload, part.at("template"), role, replicas=replicas)
        if not worker.is_absent:
            yield Pod(workload, worker, "worker", replicas=replicas)


def _of_serving_runtime(workload: Workload) -> Iterator[Pod]:
    yield Pod(workload, workload.body.at("spec"), replicas=Field(0))


def _of_dynamo(workload: Workload) -> Iterator[Pod]:
    spec = workload.body.at("spec")
    services = spec.at("services")
    parts = [spec] if services.is_absent else list(services.entries().values())
    for service in parts:
        extra = service.at("extraPodSpec")
        if extra.is_unknown or not isinstance(extra.value, Mapping):
            continue
        main = extra.at("mainContainer")
        body = dict(main.value) if isinstance(main.value, Mapping) else {}
        body.setdefault("name", "main")
        if not service.at("resources").is_absent:
            body["resources"] = _dynamo_resources(service.at("resources"))
        others = extra.value.get("containers")
        containers = [body, *others] if isinstance(others, list) else [body]
        synthetic = {**extra.value, "containers": containers}
        _add_dynamo_volumes(synthetic, body, service)
        nodes = service.at("multinode", "nodeCount")
        role: Role = "leader" if not nodes.is_absent and nodes.value != 1 else ""
        yield Pod(
            workload,
            Field(synthetic, extra.path),
            role,
            service.at("extraPodMetadata"),
            nodes,
            service.at("replicas"),
        )


_DYNAMO_SHARED_MEMORY = "8Gi"
"""What Dynamo's operator mounts at /dev/shm where a service says nothing of `sharedMemory`.

https://docs.nvidia.com/dynamo/latest/kubernetes/dynamo_operator.html, read 2026-12-01
"""


def _add_dynamo_volumes(pod: dict[str, Any], main: dict[str, Any], service: Field) -> None:
    """Add the volumes that Dynamo's operator mounts: claims by name, and shared memory."""
    volumes: list[Any] = []
    mounts: list[Any] = []
    for mount in service.at("volumeMounts").items():
        name, path = mount.at("name").value, mount.at("mountPoint").value
        if isinstance(name, str) and isinstance(path, str):
            volumes.append({"name": name, "persistentVolumeClaim": {"claimName": name}})
            mounts.append({"name": name, "mountPath": path})
    shared = service.at("sharedMemory")
    if shared.is_unknown or shared.at("disabled").value is not True:
        size = shared.at("size")
        limit = _DYNAMO_SHARED_MEMORY if size.is_absent else size.value
        memory = UNKNOWN if shared.is_unknown else {"medium": "Memory", "sizeLimit": limit}
        volumes.append({"name": "shared-memory", "emptyDir": memory})
        mounts.append({"name": "shared-memory", "mountPath": _SHARED_MEMORY_PATH})
    # what the author wrote comes first, and is what a path is looked up by
    for holder, key, added in ((pod, "volumes", volumes), (main, "volumeMounts", mounts)):
        stated = holder.get(key)
        if stated is None or isinstance(stated, list):
            holder[key] = [*(stated or ()), *added]


_SHARED_MEMORY_PATH = "/dev/shm"  # noqa: S108


def _dynamo_resources(resources: Field) -> Any:
    """Resources in the spelling of Kubernetes: Dynamo counts under `gpu` and `custom`."""
    if resources.is_unknown:
        return UNKNOWN
    translated: dict[str, Any] = {}
    for kind in ("limits", "requests"):
        stated = resources.at(kind)
        if stated.is_unknown or stated.is_absent:
            translated |= {} if stated.is_absent else {kind: UNKNOWN}
            continue
        entries = {key: entry.value for key, entry in stated.entries().items()}
        custom = entries.pop("custom", None)
        if "gpu" in entries:
            gpu_type = entries.pop("gpuType", None)
            key = gpu_type if isinstance(gpu_type, str) else "nvidia.com/gpu"
            entries[key] = entries.pop("gpu")
        translated[kind] = {**entries, **(custom if isinstance(custom, Mapping) else {})}
    return translated


_FINDERS: Mapping[str, Callable[[Workload], Iterator[Pod]]] = {
    "LeaderWorkerSet": _of_leader_worker_set,
    "InferenceService": _of_inference_service,
    "LLMInferenceService": _of_llm_inference_service,
    "ServingRuntime": _of_serving_runtime,
    "ClusterServingRuntime": _of_serving_runtime,
    "DynamoGraphDeployment": _of_dynamo,
    "DynamoComponentDeployment": _of_dynamo,
    **dict.fromkeys(_RAY_CLUSTERS, _of_ray),
}


def _engine_words(data: object, depth: int = 0) -> list[str]:
    """Options under `engine_kwargs`, wherever an application has them, and its model."""
    if depth > 8:
        return []
    if isinstance(data, list):
        return [word for item in data for word in _engine_words(item, depth + 1)]
    if not isinstance(data, Mapping):
        return []
    words: list[str] = []
    for key, value in data.items():
        if key == "engine_kwargs" and isinstance(value, Mapping):
            words += options_as_words(value)
        elif key in ("model_source", "model_id") and isinstance(value, str) and key not in words:
            words += [f"--model={value}"] if key == "model_source" else []
        else:
            words += _engine_words(value, depth + 1)
    return words


def as_workload(resource: Resource, config_maps: ConfigMaps | None = None) -> Workload | None:
    """The resource as a workload, if it is one of Kubernetes' or of a group that is known here."""
    owner, _, kind = resource.type.rpartition(":")
    provider, _, group_version = owner.partition(":")
    if provider != "kubernetes":
        return None
    group = group_version.partition("/")[0]
    is_workload = ("" if group == "core" else group, kind) in _POD_TEMPLATES or (
        _GROUP_OF_KIND.get(kind) == group
    )
    return Workload(resource, kind, config_maps or {}) if is_workload else None
