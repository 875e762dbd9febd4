"""Which Pulumi project a command is about."""

from pathlib import Path


class ProjectMissingError(LookupError):
    """No Pulumi project here; the text says where it was looked for."""


def find_project(start: Path) -> Path:
    """The nearest folder with a Pulumi.yaml, `start` itself or one above it.

    Raises:
        ProjectMissingError: if there is none.
    """
    for folder in (start, *start.parents):
        if (folder / "Pulumi.yaml").is_file():
            return folder
    raise ProjectMissingError(
        f"{start}: no Pulumi.yaml here or above; run this in a checkout of the program"
    )
