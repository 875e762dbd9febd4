"""Rules about CUDA in images, the drivers of nodes and the GPUs that both must know."""

import re
from collections.abc import Iterator
from datetime import date

from berth.catalog.compatibility import load_compatibility
from berth.catalog.gpu_software import is_older, load_gpu_software
from berth.rules.finding import Level
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.image import Image
from berth.rules.stack_view.image_software import ImageCuda, cuda_of, vllm_version
from berth.rules.stack_view.nodes import INSTANCE_TYPE_OPTION
from berth.rules.stack_view.pod import Container
from berth.rules.stack_view.pool import Pool

_DRIVER_LABELS = (
    ("nvidia.com/cuda.driver.major", "nvidia.com/cuda.driver.minor"),
    ("nvidia.com/cuda.driver-version.major", "nvidia.com/cuda.driver-version.minor"),
)
_FULL_LABEL = "nvidia.com/cuda.driver-version.full"
_RELEASE_DAY = re.compile(r"(?:^|[-v])(\d{4})(\d{2})(\d{2})$")
_COMPILES = frozenset({"vllm", "sglang", "tensorrt-llm"})
"""Engines that build kernels while they run, which minor-version compatibility leaves out."""


def driver_of(pool: Pool | None, view: StackView) -> str | None:
    """The NVIDIA driver of a pool's nodes; None where the stack does not say.

    Args:
        pool: the pool; None for nodes that no pool of the stack makes.
        view: the stack.

    Raises:
        KnownAfterApplyError: if it is known after apply.
    """
    if pool is None:
        return None if view.pools else _operator_driver(view)
    brings_driver = pool.has_driver_image
    if not brings_driver and (installed := _operator_driver(view)):
        return installed
    labelled = _labelled_driver(pool)
    if labelled or not brings_driver:
        return labelled
    return _image_driver(pool)


def _operator_driver(view: StackView) -> str | None:
    for chart in view.charts_named("gpu-operator"):
        if not chart.is_switched_on(chart.values.at("driver", "enabled")):
            continue
        version = chart.values.at("driver", "version")
        if not version.is_absent:
            return str(version.known())
        return load_gpu_software().gpu_operator.drivers.get(chart.version)
    return None


def _labelled_driver(pool: Pool) -> str | None:
    labels = pool.labels
    full = labels.at(_FULL_LABEL).text()
    if full:
        return full
    for major_key, minor_key in _DRIVER_LABELS:
        major, minor = labels.at(major_key).known(), labels.at(minor_key).known()
        if major is not None:
            return f"{major}.{minor}" if minor is not None else str(major)
    return None


def _image_driver(pool: Pool) -> str | None:
    if not (pool.ami_type or "").startswith("AL2023"):
        return None
    found = _RELEASE_DAY.search(pool.body.at("releaseVersion").text() or "")
    if not found:
        return None
    try:
        day = date(*map(int, found.groups()))
    except ValueError:
        return None
    known = load_gpu_software().eks_nvidia_ami.drivers_from
    return next((entry.driver for entry in reversed(known) if entry.day <= day), None)


def _find_old_driver(subject: Container | Pool, context: Context) -> Iterator[Breach]:
    if isinstance(subject, Pool):
        yield from _older_than_gpu(subject, context.view)
    elif subject.is_model_server or subject.asked_keys:
        yield from _older_than_image(subject, context)


def _subjects(view: StackView) -> Iterator[Container | Pool]:
    yield from view.containers()
    yield from view.pools


def _older_than_gpu(pool: Pool, view: StackView) -> Iterator[Breach]:
    if pool.vendor != "nvidia":
        return
    driver = driver_of(pool, view)
    for name in pool.gpu_types:
        gpu = pool.accelerators[name].gpu
        least = gpu.minimum_driver if gpu else None
        if driver and least and is_older(driver, least):
            yield Breach(
                where=pool.name,
                what=f"driver {driver} does not know the GPU of {name}, which needs {least}",
                change="use a node image or an operator with a newer driver",
                fix=f"use a driver of branch {least} or newer",
            )
            return


def _older_than_image(container: Container, context: Context) -> Iterator[Breach]:
    cuda = cuda_of(container.image)
    need = load_gpu_software().cuda_drivers.versions.get(cuda.version) if cuda else None
    if cuda is None or need is None or container.image is None:
        return
    drivers = _drivers(container, context)
    if not drivers:
        return
    image = container.image.reference
    least = load_compatibility().oldest_driver(cuda.version)
    if all(is_older(driver, least) for driver in drivers):
        yield Breach(
            where=container.resource.name,
            what=f"{image} holds CUDA {cuda.version}, which needs driver {least}, and its nodes "
            f"have {drivers[0]}",
            change="use an older image or a newer driver",
            fix=f"use a driver of {least} or newer, or an image of an older CUDA",
        )
        return
    built = need.released
    if not built or not cuda.is_exact or container.engine not in _COMPILES:
        return
    if all(is_older(driver, built) for driver in drivers):
        yield Breach(
            where=container.resource.name,
            what=f"{image} compiles kernels for CUDA {cuda.version}, which came with driver "
            f"{built}, and its nodes have {drivers[0]}",
            change="use the driver that came with it",
            fix=f"use a driver of {built} or newer",
            level="advisory",
        )


def _drivers(container: Container, context: Context) -> list[str]:
    """Drivers of all nodes that it may get; empty if one is not known."""
    view = context.view
    if container.init or not any(k.startswith("nvidia.com/") for k in container.asked_keys):
        return []
    pools: list[Pool | None] = [*view.pools_for(container.pod)]
    drivers = [driver_of(pool, view) for pool in pools or [None]]
    return [driver for driver in drivers if driver] if all(drivers) else []


def refuses_driver(container: Container, context: Context) -> bool:
    """Whether the engine does not start under the driver of its nodes."""
    return any(breach.level is None for breach in _older_than_image(container, context))


CUDA_DRIVER_MISMATCH = Rule(
    id="cuda-driver-mismatch",
    title="The driver of the nodes is new enough for the CUDA of the image and for the GPU.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="images, release versions and labels of node groups, driver version of gpu-operator",
    why="the container is refused, or ends with error 803 or unsupported PTX",
    source="https://docs.nvidia.com/deploy/cuda-compatibility/",
    subjects=_subjects,
    judge=_find_old_driver,
)


def _find_missing_kernels(container: Container, context: Context) -> Iterator[Breach]:
    image = container.image
    if image is None or not container.is_model_server:
        return
    cuda = cuda_of(image)
    if cuda is None:
        return
    path = container.body.at("image").path
    problems = []
    for nodes in context.view.nodes_of(container.pod, context.options):
        each = (
            _kernel_problem(name, gpu.capability, image, cuda, path)
            for name, gpu in nodes.gpus
            if gpu.vendor == "nvidia"
        )
        problems.append(next(filter(None, each), None))
    if problems and all(problems) and problems[0]:
        what, fix, level = problems[0]
        yield Breach(
            where=container.resource.name,
            what=f"{image.reference} {what}",
            change="use an image that was built for this GPU",
            fix=fix,
            level=level,
        )


def _kernel_problem(
    instance_type: str, capability: tuple[int, int], image: Image, cuda: ImageCuda, path: str
) -> tuple[str, str, Level | None] | None:
    known = load_gpu_software().vllm_images
    gpu = f"the GPU of {instance_type} (compute capability {capability[0]}.{capability[1]})"
    if capability < (7, 5):
        version = vllm_version(image) if image.is_called(known.repository) else None
        if version and not is_older(version, known.first_without_volta):
            return f"holds no kernels for {gpu}", f"set {path} to {known.repository}:v0.8.5", None
        if not is_older(cuda.version, "13"):
            text = f"holds CUDA {cuda.version}, which dropped {gpu}"
            return text, f"set {path} to an image of CUDA 12.8 or older", None
        return None
    if capability < (10, 0):
        return None
    least = "13.0" if capability == (10, 3) else "12.8"
    if not is_older(cuda.version, least):
        return None
    text = f"holds CUDA {cuda.version}, and {gpu} needs {least}"
    is_sure = cuda.is_exact or is_older(cuda.version, least.partition(".")[0])
    return text, f"set {path} to an image of CUDA {least} or newer", None if is_sure else "advisory"


def refuses_image(container: Container, context: Context) -> bool:
    """Whether the image holds no kernels for the GPU."""
    return any(breach.level is None for breach in _find_missing_kernels(container, context))


IMAGE_GPU_ARCH_MISMATCH = Rule(
    id="image-gpu-arch-mismatch",
    title="The image holds kernels for the GPU that it runs on.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="images of model servers, and the GPUs that their pods may get",
    why="the first kernel fails: no kernel image is available for execution on the device",
    source="https://docs.nvidia.com/cuda/blackwell-compatibility-guide/",
    subjects=StackView.containers,
    judge=_find_missing_kernels,
    options=INSTANCE_TYPE_OPTION,
)

RULES = (CUDA_DRIVER_MISMATCH, IMAGE_GPU_ARCH_MISMATCH)
