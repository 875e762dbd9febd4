"""Where images come from: the public registries, or the mirror of the stack."""

from collections.abc import Mapping
from dataclasses import dataclass

from berth.catalog.load import Catalog
from berth.catalog.software import PullSecretForm
from berth.config.stack import StackConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartImages:
    """What the values of one chart say about its images, where a stack says otherwise."""

    repositories: Mapping[str, str]
    """By path in the values; those of the mirror."""
    registry: str | None = None
    """The mirror, for what the values name with a tag of their own."""
    pull_secret: str | None = None
    pull_secret_forms: Mapping[str, PullSecretForm]
    """By path in the values."""


def chart_images(config: StackConfig, catalog: Catalog) -> Mapping[str, ChartImages]:
    """By chart; empty where the stack leaves images where they are."""
    images = config.images
    if images is None or (images.registry is None and images.pull_secret is None):
        return {}
    return {
        name: ChartImages(
            repositories={
                path: mirrored(repository, images.registry)
                for path, repository in chart.images.items()
                if images.registry is not None
            },
            registry=images.registry,
            pull_secret=images.pull_secret,
            pull_secret_forms=chart.pull_secrets,
        )
        for name, chart in catalog.software.charts.items()
    }


def mirrored(image: str, registry: str | None) -> str:
    """The image, or repository, below a registry that holds it under its usual name."""
    if registry is None:
        return image
    host, slash, rest = image.partition("/")
    is_host = slash and ("." in host or ":" in host)
    return f"{registry}/{rest if is_host else image}"
