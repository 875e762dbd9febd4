"""The values of a chart with the images of the stack's own registry."""

from collections.abc import Mapping
from typing import Any, Final

from berth.catalog.software import PullSecretForm
from berth.planner.images import ChartImages, mirrored

SECRET_VALUE: Final[Mapping[PullSecretForm, Any]] = {
    "name": lambda secret: secret,
    "names": lambda secret: [secret],
    "object": lambda secret: {"name": secret},
    "objects": lambda secret: [{"name": secret}],
}


def with_images(values: Mapping[str, Any], images: ChartImages | None) -> dict[str, Any]:
    """The same values where the stack has no registry; the ones given stay as they are.

    What the values name themselves, with a tag, keeps its tag.
    """
    result = _copied(values)
    if images is None:
        return result
    for path, repository in images.repositories.items():
        parent, key = _place(result, path)
        named = parent.get(key)
        parent[key] = repository if named is None else mirrored(named, images.registry)
    if images.pull_secret is not None:
        for path, form in images.pull_secret_forms.items():
            parent, key = _place(result, path)
            parent[key] = SECRET_VALUE[form](images.pull_secret)
    return result


def _copied(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _copied(value) if isinstance(value, dict) else value for key, value in values.items()
    }


def _place(values: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """The mapping that holds the last key of a path; what is missing on the way is made."""
    *parents, key = path.split(".")
    for each in parents:
        values = values.setdefault(each, {})
    return values, key
