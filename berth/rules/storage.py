"""Rules about volumes: where weights are kept, whether they fit, who may mount them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from berth.catalog.model import load_models
from berth.catalog.model_shape import Model
from berth.rules.model_facts import known_model
from berth.rules.resource import Resource
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import quantity_gib
from berth.rules.stack_view.chart import Chart
from berth.rules.stack_view.config_maps import name_of, namespace_of
from berth.rules.stack_view.engine_arguments import Engine
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.pod import Container, Pod
from berth.rules.stack_view.volumes import Volume, mounted_volume
from berth.rules.stack_view.workload import Workload

GIB: Final = 2**30
_ROOM: Final = 1.05
_STREAMED: Final = frozenset(
    {"runai_streamer", "runai_streamer_sharded", "tensorizer", "instanttensor", "remote"}
)
_CACHES: Final[Mapping[Engine, str]] = {
    "vllm": "/root/.cache/huggingface/hub",
    "sglang": "/root/.cache/huggingface/hub",
    "tensorrt-llm": "/root/.cache/huggingface/hub",
    "lmdeploy": "/root/.cache/huggingface/hub",
    "tgi": "/data",
    "tei": "/data",
    "ollama": "/root/.ollama",
    "nim": "/opt/nim/.cache",
}
_VARIABLES: Final[Mapping[Engine, tuple[tuple[str, str], ...]]] = {
    "ollama": (("OLLAMA_MODELS", ""),),
    "nim": (("NIM_CACHE_PATH", ""),),
}
_HF_VARIABLES: Final = (
    ("HF_HUB_CACHE", ""),
    ("HUGGINGFACE_HUB_CACHE", ""),
    ("HF_HOME", "/hub"),
    ("XDG_CACHE_HOME", "/huggingface/hub"),
    ("HOME", "/.cache/huggingface/hub"),
)


def weights_path(container: Container) -> tuple[str, bool] | None:
    """Where an engine looks for its weights, and whether it downloads them there.

    Returns:
        None where it streams them or nobody can say.

    Raises:
        KnownAfterApplyError: if that rests on what is known after apply.
    """
    engine, arguments = container.engine, container.engine_arguments
    if engine is None or engine not in _CACHES or arguments is None:
        return None
    model = container.model
    if (arguments.text("--load-format") or "").lower() in _STREAMED or _is_remote(model):
        return None
    if model and model.startswith((".", "/")):
        return model, False
    if model is None and engine not in ("ollama", "nim"):
        return None
    return _download_path(container, engine), True


def _is_remote(model: str | None) -> bool:
    return bool(model) and "://" in str(model)


def _download_path(container: Container, engine: Engine) -> str:
    arguments, env = container.engine_arguments, container.literal_env
    stated = arguments.text("--download-dir", "--huggingface-hub-cache") if arguments else None
    if stated:
        return stated
    for name, below in _VARIABLES.get(engine, _HF_VARIABLES):
        if env.get(name) and not (engine in ("tgi", "tei") and name in ("HOME", "XDG_CACHE_HOME")):
            return env[name].rstrip("/") + below
    return _CACHES[engine]


def _find_ephemeral(container: Container, context: Context) -> Iterator[Breach]:
    found = weights_path(container)
    if found is None:
        return
    path, downloads = found
    volume = mounted_volume(container, path)
    if volume is None and not downloads:
        return
    spec = container.pod.spec.path
    if volume is None:
        yield Breach(
            where=container.resource.name,
            what=f"{container.name} downloads its model to {path}, where no volume is mounted",
            change="keep it on a volume",
            fix=f"mount a persistentVolumeClaim at {path.removesuffix('/hub')} in {spec}",
        )
        return
    scratch = volume.source.at("emptyDir")
    if scratch.value is not None and scratch.at("sizeLimit").is_absent:
        yield Breach(
            where=container.resource.name,
            what=f"{container.name} keeps its model in an emptyDir without a size limit at "
            f"{volume.mount_path}: it is gone with the pod and may fill the node's disk",
            change="keep it on a volume that stays, or limit it",
            fix=f"replace {scratch.path} by a persistentVolumeClaim, or set sizeLimit",
        )


EPHEMERAL_MODEL_CACHE = Rule(
    id="ephemeral-model-cache",
    title="Downloaded weights are kept on a volume.",
    severity="medium",
    level="advisory",
    scope="resource",
    reads="engine arguments, cache variables, volumes and volume mounts of each container",
    why="every restart downloads again, and the node's disk fills until pods are evicted",
    source="https://docs.vllm.ai/en/latest/deployment/k8s.html",
    subjects=StackView.containers,
    judge=_find_ephemeral,
)


@dataclass(frozen=True, slots=True)
class _Room:
    where: str
    size: Field
    model: Model


def _find_small_volume(subject: Container | Chart, context: Context) -> Iterator[Breach]:
    rooms = (
        _chart_rooms(subject)
        if isinstance(subject, Chart)
        else _container_rooms(subject, context.view)
    )
    for room in rooms:
        size_gib = quantity_gib(room.size.known())
        weights_gib = room.model.weights_bytes / GIB
        if size_gib is None or size_gib >= _ROOM * weights_gib:
            continue
        yield Breach(
            where=room.where,
            what=f"a volume of {size_gib:g} GiB is to hold {room.model.name}, whose weights take "
            f"{weights_gib:.1f} GiB",
            change="enlarge it; a second revision needs twice as much",
            fix=f"set {room.size.path} to {int(-(-2.2 * weights_gib // 10) * 10)}Gi",
            level=None if size_gib < weights_gib else "advisory",
        )


def _volume_subjects(view: StackView) -> Iterator[Container | Chart]:
    yield from view.containers()
    yield from view.charts_named("vllm-stack")


def _container_rooms(container: Container, view: StackView) -> Iterator[_Room]:
    model, found = known_model(container), weights_path(container)
    volume = mounted_volume(container, found[0]) if found and model else None
    claim = _claim(volume, container, view) if volume else None
    if claim is not None and model is not None:
        size = claim.at("spec", "resources", "requests", "storage")
        yield _Room(container.resource.name, size, model)


def _claim(volume: Volume, container: Container, view: StackView) -> Field | None:
    if volume.template is not None:
        return volume.template
    for resource in view.of_kind("PersistentVolumeClaim"):
        is_same = namespace_of(resource) == container.pod.namespace
        if volume.claim and is_same and name_of(resource) == volume.claim:
            return Field(resource.props)
    return None


def _chart_rooms(chart: Chart) -> Iterator[_Room]:
    for spec in chart.values.at("servingEngineSpec", "modelSpec").items():
        name = spec.at("modelURL").text() or ""
        model = load_models().get(name)
        size = spec.at("pvcStorage")
        if model is not None and not size.is_absent:
            yield _Room(chart.resource.name, size, model)


MODEL_VOLUME_TOO_SMALL = Rule(
    id="model-volume-too-small",
    title="The volume for weights holds the model.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="size of claims, engine arguments and model of the containers that mount them; values "
    "of vllm-stack",
    why="the download ends with no space left, and the pod restarts for ever",
    source="https://kubernetes.io/docs/concepts/storage/persistent-volumes/",
    subjects=_volume_subjects,
    judge=_find_small_volume,
)


class _ClaimSubject:
    """A claim as a subject."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource


def _find_shared_claim(claim: _ClaimSubject, context: Context) -> Iterator[Breach]:
    modes_field = Field(claim.resource.props).at("spec", "accessModes")
    modes = {mode.text() for mode in modes_field.items()}
    name = name_of(claim.resource)
    if name is None or not modes or not modes <= {"ReadWriteOnce", "ReadWriteOncePod"}:
        return
    users = [pod for pod in context.view.pods() if _mounts(pod, name, claim.resource)]
    pods = sum(pod.count for pod in users)
    if len(users) < 2 and pods < 2:
        return
    if all(map(_stays_on_one_node, users)) and "ReadWriteOncePod" not in modes:
        return
    names = ", ".join(sorted({pod.resource.name for pod in users}))
    yield Breach(
        where=claim.resource.name,
        what=f"{modes_field.path} is {' and '.join(sorted(map(str, modes)))} and {pods} pods "
        f"({names}) mount the claim",
        change="use storage that many nodes may mount, or one claim each",
        fix=f"set {modes_field.path} to [ReadWriteMany] on EFS or FSx, or give each its own claim",
    )


def _claims(view: StackView) -> Iterator[_ClaimSubject]:
    return map(_ClaimSubject, view.of_kind("PersistentVolumeClaim"))


def _mounts(pod: Pod, name: str, claim: Resource) -> bool:
    workload = pod.workload
    if pod.namespace != namespace_of(claim):
        return False
    if isinstance(workload, Workload) and workload.is_job:
        return False
    return any(
        volume.at("persistentVolumeClaim", "claimName").text() == name
        for volume in pod.spec.at("volumes").items()
    )


def _stays_on_one_node(pod: Pod) -> bool:
    if not pod.spec.at("nodeSelector", "kubernetes.io/hostname").is_absent:
        return True
    required = pod.spec.at(
        "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return any(
        term.at("topologyKey").text() == "kubernetes.io/hostname" for term in required.items()
    )


RWO_SHARED_VOLUME = Rule(
    id="rwo-shared-volume",
    title="A volume that one node may mount is used by one pod.",
    severity="medium",
    level="mandatory",
    scope="stack",
    reads="access modes of claims; volumes, replicas and affinity of the workloads that use them",
    why="the second pod waits with a Multi-Attach error",
    source="https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes",
    subjects=_claims,
    judge=_find_shared_claim,
)

RULES = (EPHEMERAL_MODEL_CACHE, MODEL_VOLUME_TOO_SMALL, RWO_SHARED_VOLUME)
