"""Rules about container images and charts."""

from collections.abc import Iterator

from berth.catalog.software import load_software
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.chart import Chart
from berth.rules.stack_view.image import Image
from berth.rules.stack_view.workload import Container


def _find_unpinned(subject: Container | Chart, context: Context) -> Iterator[Breach]:
    if isinstance(subject, Chart):
        yield from _unpinned_chart(subject)
    else:
        yield from _unpinned_image(subject)


def _subjects(view: StackView) -> Iterator[Container | Chart]:
    yield from view.all_containers()
    yield from view.charts


def _unpinned_image(container: Container) -> Iterator[Breach]:
    if container.body.at("image").is_unknown and not container.asked_keys:
        return
    image = container.image
    if image is None or image.is_pinned or not _is_gpu_image(container, image):
        return
    problem = "a tag that moves" if image.tag else "no tag, which means latest"
    yield Breach(
        where=container.resource.name,
        what=f"{container.name} runs {image.reference}, {problem}",
        change="pin a version or a digest",
        fix=f"set {container.body.at('image').path} to {_pinned(image)}",
    )


def _is_gpu_image(container: Container, image: Image) -> bool:
    if image.is_for_cpu:
        return False
    is_gpu_software = image.is_engine or image.is_gpu_base or image.is_gpu_agent
    return is_gpu_software or bool(container.asked_keys) or container.is_model_server


def _pinned(image: Image) -> str:
    """The image with the version that the catalog knows, else with what to put in its place."""
    for engine in load_software().vllm.values():
        if image.path == engine.repository:
            return f"{image.repository}:{engine.tag}"
    return f"{image.repository}@sha256:DIGEST, the digest that runs today"


def _unpinned_chart(chart: Chart) -> Iterator[Breach]:
    version = chart.version_field
    if chart.is_local or not chart.reference or version.is_unknown or version.value:
        return
    known = load_software().charts.get(chart.name)
    yield Breach(
        where=chart.resource.name,
        what=f"chart {chart.reference} has no version, which means the newest at each install",
        change="pin the version",
        fix=f"set {version.path} to "
        + (known.version if known else "the one that is installed today"),
    )


IMAGE_UNPINNED = Rule(
    id="image-unpinned",
    title="Images of GPU software and Helm charts are pinned to a version.",
    severity="medium",
    level="advisory",
    mandatory_in_prod=True,
    scope="resource",
    reads="images of containers that use GPUs; chart and version of Helm releases",
    why="an image that moves drifts from the driver, and a restart becomes an upgrade",
    source="https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy",
    subjects=_subjects,
    judge=_find_unpinned,
)

RULES = (IMAGE_UNPINNED,)
