"""Volumes of a container by the path that they are mounted at."""

from collections.abc import Iterator
from dataclasses import dataclass

from berth.rules.stack_view.field import Field
from berth.rules.stack_view.pod import Container


@dataclass(frozen=True, slots=True)
class Volume:
    """One volume of a pod, as one container sees it."""

    mount_path: str
    source: Field
    """The pod's entry; absent for a claim template of a StatefulSet."""
    claim: str | None
    """Name of the claim that it is."""
    template: Field | None
    """Claim template of a StatefulSet, or of the volume itself."""


def mounted_volumes(container: Container) -> Iterator[Volume]:
    """The volumes that a container mounts.

    Raises:
        KnownAfterApplyError: if one is known after apply.
    """
    volumes = container.pod.spec.at("volumes").items()
    templates = Field(container.resource.props).at("spec", "volumeClaimTemplates")
    for mount in container.body.at("volumeMounts").items():
        path, name = mount.at("mountPath").text(), mount.at("name").known()
        if not path:
            continue
        source = next((v for v in volumes if v.at("name").known() == name), Field(None))
        template = next(
            (t for t in templates.items() if t.at("metadata", "name").known() == name), None
        )
        own = source.at("ephemeral", "volumeClaimTemplate")
        claim = source.at("persistentVolumeClaim", "claimName").text()
        yield Volume(path, source, claim, own if not own.is_absent else template)


def mounted_volume(container: Container, path: str, *, exact: bool = False) -> Volume | None:
    """The volume that holds a path: mounted there or, nearest first, at a folder above it.

    Raises:
        KnownAfterApplyError: if one is known after apply.
    """
    wanted = _clean(path)
    found = [
        volume
        for volume in mounted_volumes(container)
        if _clean(volume.mount_path) == wanted
        or (not exact and wanted.startswith(_clean(volume.mount_path).rstrip("/") + "/"))
    ]
    return max(found, key=lambda volume: len(volume.mount_path), default=None)


def _clean(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))
