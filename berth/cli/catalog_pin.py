"""`berth catalog pin`: the newest EKS AMI releases, read from AWS and written into the catalog."""

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import berth.catalog
from berth.catalog.pinned_text import with_value
from berth.catalog.region import load_regions
from berth.catalog.software import AMI_RELEASE_PATTERN, SOFTWARE_FILE, Software, parse_software
from berth.config.nearest import did_you_mean
from berth.config.problems import ConfigError, plain
from berth.config.read import read_stack_file
from berth.config.stack import NewCluster
from berth.engine.project import ProjectMissingError, find_project
from berth.engine.public_parameters import ParametersUnreadError, read_parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One release that the catalog has or gets."""

    region: str
    kubernetes_version: str
    ami_type: str
    was: str | None
    now: str


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "catalog pin",
        help="the newest EKS AMI releases, written into the catalog",
        description="Reads what AWS publishes in Systems Manager (ssm:GetParameters, any account) "
        "and writes the releases into the catalog; shows what changes.",
    )
    parser.add_argument(
        "--region",
        action="append",
        metavar="REGION",
        help="may be repeated; default: those of the stacks here",
    )
    parser.add_argument(
        "--kubernetes-version",
        action="append",
        metavar="VERSION",
        help="may be repeated; default: all that the catalog has",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change, write none")
    parser.add_argument("--file", type=Path, help="another software.yaml than that of the package")
    parser.add_argument("--json", action="store_true", help="the changes as JSON")


def run(args: argparse.Namespace) -> int:
    """Read, show and write; 2 if AWS cannot be asked or the file cannot be written."""
    path = args.file or Path(str(files(berth.catalog).joinpath(SOFTWARE_FILE)))
    text = path.read_text(encoding="utf-8")
    try:
        software = parse_software(text)
    except (ValidationError, ValueError):
        return _fail(f"{path}: is no software.yaml of this version of Berth; name another file")
    regions = args.region or sorted(_regions_of_stacks())
    versions = args.kubernetes_version or software.kubernetes.versions
    problem = _unknown(regions, versions, software)
    if problem is not None:
        return _fail(problem)
    pins: list[Pin] = []
    missing: list[str] = []
    try:
        for region in regions:
            found, absent = _read(region, versions, software)
            pins += found
            missing += absent
    except ParametersUnreadError as error:
        return _fail(f"{error}")
    pinned = _pinned(text, pins)
    parse_software(pinned)
    if not args.dry_run and pinned != text:
        _replace(path, pinned)
    _show(args, path, pins, missing)
    return 0


def _regions_of_stacks() -> set[str]:
    """Where the stacks of this project make clusters; those that cannot be read are left out."""
    try:
        folder = find_project(Path.cwd()) / "stacks"
    except ProjectMissingError:
        return set()
    found = set()
    for path in folder.glob("Pulumi.*.yaml"):
        try:
            config = read_stack_file(path, date.today())
        except ConfigError:
            continue
        if config.region is not None and isinstance(config.cluster, NewCluster):
            found.add(config.region)
    return found


def _unknown(regions: Sequence[str], versions: Sequence[str], software: Software) -> str | None:
    if not regions:
        return "no stack here names a region; give --region"
    known = load_regions()
    for region in regions:
        if region not in known:
            hint = did_you_mean(region, known, "use one of berth/catalog/regions.yaml")
            return f"--region {plain(region)}: is not in the catalog; {hint}"
    for version in versions:
        if version not in software.kubernetes.versions:
            listed = ", ".join(software.kubernetes.versions)
            return f"--kubernetes-version {plain(version)}: EKS has {listed}; use one of them"
    return None


def _read(region: str, versions: Sequence[str], software: Software) -> tuple[list[Pin], list[str]]:
    """What AWS publishes for the region, and the names of what it does not.

    Raises:
        ParametersUnreadError: if AWS cannot be asked, or answers with what is no release.
    """
    wanted = {
        path.replace("{version}", version): (version, ami_type)
        for version in versions
        for ami_type, path in software.ami_parameters.paths.items()
    }
    values = read_parameters(region, list(wanted))
    pins = [
        Pin(
            region=region,
            kubernetes_version=version,
            ami_type=ami_type,
            was=software.ami_release(region, version, ami_type),
            now=values[name],
        )
        for name, (version, ami_type) in wanted.items()
        if name in values
    ]
    if not pins:
        raise ParametersUnreadError(
            f"{region}: AWS publishes none of the {len(wanted)} parameters asked for, the first "
            f"{next(iter(wanted))}; check --region and --kubernetes-version"
        )
    for pin in pins:
        _check_release(pin)
    return pins, [f"{region}: {name}" for name in wanted if name not in values]


def _check_release(pin: Pin) -> None:
    """AL2023 releases begin with the version of Kubernetes; anything else is an odd answer."""
    of_version = pin.now.startswith(f"{pin.kubernetes_version}.")
    if re.fullmatch(AMI_RELEASE_PATTERN, pin.now) is None or (
        pin.ami_type.startswith("AL2023") and not of_version
    ):
        raise ParametersUnreadError(
            f"{pin.region}: {plain(pin.now)} is no release of {pin.ami_type} for Kubernetes "
            f"{pin.kubernetes_version}; nothing was written"
        )


def _pinned(text: str, pins: Sequence[Pin]) -> str:
    """The text with every release, and with today where the region was read."""
    for region in dict.fromkeys(pin.region for pin in pins):
        text = with_value(text, ("ami_releases", region, "checked"), str(date.today()))
    for pin in pins:
        where = ("ami_releases", pin.region, "releases", pin.kubernetes_version, pin.ami_type)
        text = with_value(text, where, pin.now)
    return text


def _replace(path: Path, text: str) -> None:
    """Write the whole file, or leave it as it was."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    new = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        new.chmod(path.stat().st_mode)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _show(
    args: argparse.Namespace, path: Path, pins: Sequence[Pin], missing: Sequence[str]
) -> None:
    changed = [pin for pin in pins if pin.was != pin.now]
    if args.json:
        document: Mapping[str, object] = {
            "file": str(path),
            "written": not args.dry_run,
            "changed": [asdict(pin) for pin in changed],
            "unchanged": len(pins) - len(changed),
            "not_published": list(missing),
        }
        print(json.dumps(document, indent=2))
        return
    for line in _lines(changed):
        print(line)
    verb = "would be pinned" if args.dry_run else "pinned"
    print(f"{path}: {len(changed)} {verb}, {len(pins) - len(changed)} as they were")
    for name in missing:
        print(f"not published in {name}", file=sys.stderr)


def _lines(changed: Sequence[Pin]) -> Iterator[str]:
    for pin in changed:
        where = f"{pin.region}  {pin.kubernetes_version}  {pin.ami_type}"
        yield f"{where}: {pin.was or 'none'} -> {pin.now}"


def _fail(line: str) -> int:
    print(f"berth catalog pin: {line}", file=sys.stderr)
    return 2
