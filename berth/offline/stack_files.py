"""Keeps the author's stack files as they were: making a stack writes a salt into its file."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

_SALT = "encryptionsalt:"
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d:\d\d)(?:Z| \+0000 UTC)?)?")
"""A day or a moment, as an author writes it and as the CLI writes it anew."""


def find_project_dir(start: Path) -> Path | None:
    """The nearest folder with a Pulumi.yaml, `start` itself or one above it."""
    folders = (start, *start.parents)
    return next((folder for folder in folders if (folder / "Pulumi.yaml").is_file()), None)


@contextmanager
def without_salt(project_dir: Path | None) -> Iterator[None]:
    """Take salts that appear inside the block out of the stack files again.

    A change that is more than a salt is the author's and stays.
    """
    if project_dir is None:
        yield
        return
    before = _texts(project_dir)
    try:
        yield
    finally:
        for path, text in _texts(project_dir).items():
            _restore(path, before.get(path), text)


def _restore(path: Path, before: str | None, now: str) -> None:
    if before is not None and _SALT in before:
        return
    bare = "".join(line for line in now.splitlines(True) if not line.startswith(_SALT))
    if bare == now:
        return
    if before is None:
        if not bare.strip():
            path.unlink()
    elif _meaning(bare) == _meaning(before):
        path.write_text(before, encoding="utf-8")


def _meaning(text: str) -> object:
    """What a stack file says, however it is written."""
    every_value_as_text = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  # makes no objects
    return _normal(every_value_as_text or {})


def _normal(value: object) -> object:
    if isinstance(value, dict):
        return {key: _normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normal(item) for item in value]
    if isinstance(value, str):
        moment = _MOMENT.fullmatch(value)
        if moment:
            return (moment[1], moment[2] or "00:00:00")
        return "" if value in ("null", "~") else value
    return value


def _texts(project_dir: Path) -> dict[Path, str]:
    return {
        path: path.read_text(encoding="utf-8")
        for folder in _folders(project_dir)
        for path in sorted(folder.glob("Pulumi.*.yaml"))
    }


def _folders(project_dir: Path) -> list[Path]:
    try:
        project = yaml.safe_load((project_dir / "Pulumi.yaml").read_text(encoding="utf-8"))
    except yaml.YAMLError:
        project = None
    settings = project.get("stackConfigDir") if isinstance(project, dict) else None
    return [project_dir, project_dir / str(settings)] if settings else [project_dir]
