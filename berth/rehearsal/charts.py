"""The Helm charts of a stack: real ones from a folder or a network, else stand-ins of ours."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

import yaml

from berth.catalog.load import Catalog
from berth.planner.plan import Plan

REACH_LIMIT_S: Final = 3
MAP_FILE: Final = "charts.json"
Origin = Literal["repository", "folder", "stand-in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart of a stack and where it is taken from."""

    name: str
    version: str
    origin: Origin
    path: Path | None
    """None: the provider downloads it."""


class ChartMissingError(Exception):
    """A folder for charts that has none of them."""


def charts_of(plan: Plan) -> dict[str, str]:
    """The charts that a stack installs, with their versions."""
    found: dict[str, str] = {}
    if plan.gpu_software is not None:
        found["gpu-operator"] = plan.gpu_software.gpu_operator_version
    if plan.amd_gpu_software is not None:
        found["gpu-operator-charts"] = plan.amd_gpu_software.gpu_operator_version
        found["cert-manager"] = plan.amd_gpu_software.cert_manager_version
    if plan.autoscaler is not None:
        found["cluster-autoscaler"] = plan.autoscaler.chart_version
    if plan.efa_plugin_version is not None:
        found["aws-efa-k8s-device-plugin"] = plan.efa_plugin_version
    if plan.group_controller_version is not None:
        found["lws"] = plan.group_controller_version
    return found


def prepare_charts(
    wanted: Mapping[str, str], folder: Path, given: Path | None, catalog: Catalog
) -> list[Chart]:
    """Find each chart, or write a stand-in; what the provider is to use goes into `MAP_FILE`.

    Args:
        wanted: versions by name.
        folder: made; holds the stand-ins and the file.
        given: the caller's folder of charts, as `helm pull` leaves them.
        catalog: says where each chart is published.

    Raises:
        ChartMissingError: if `given` has none of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    own = {name: _in_folder(given, name, version) for name, version in wanted.items()}
    if given is not None and wanted and not any(own.values()):
        names = ", ".join(f"{name}-{version}.tgz" for name, version in wanted.items())
        raise ChartMissingError(
            f"{given}: none of the stack's charts is there; `helm pull` puts one of {names} in it"
        )
    urls = {name: str(catalog.software.charts[name].repository_url) for name in wanted}
    reached = _answering([urls[name] for name in wanted if own[name] is None])
    charts = []
    for name, version in wanted.items():
        path, origin = own[name], "folder"
        if path is None and urls[name] in reached:
            origin = "repository"
        elif path is None:
            path, origin = write_stand_in(name, version, folder), "stand-in"
        charts.append(Chart(name=name, version=version, origin=origin, path=path))  # type: ignore[arg-type]  # one of the three
    local = {chart.name: str(chart.path) for chart in charts if chart.path is not None}
    (folder / MAP_FILE).write_text(json.dumps(local), "utf-8")
    return charts


def write_stand_in(name: str, version: str, folder: Path) -> Path:
    """A chart of that name and version with the workloads and resource types of the real one."""
    chart = folder / name
    (chart / "templates").mkdir(parents=True, exist_ok=True)
    about = {"apiVersion": "v2", "name": name, "version": version, "description": "A stand-in."}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about), "utf-8")
    values = {"standIn": _stand_ins()[name]["workloads"], **_empty(_stand_ins()[name])}
    (chart / "values.yaml").write_text(yaml.safe_dump(values), "utf-8")
    template = _text("workloads.yaml")
    (chart / "templates" / "workloads.yaml").write_text(template, "utf-8")
    types = files("berth.rehearsal").joinpath("stand_in", f"crds-{name}.yaml")
    if types.is_file():
        (chart / "crds").mkdir(exist_ok=True)
        (chart / "crds" / "types.yaml").write_text(types.read_text("utf-8"), "utf-8")
    return chart


def _empty(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Every value that a workload looks at, left empty, so that a program need not set it."""
    values: dict[str, Any] = {}
    for workload in entry["workloads"]:
        for key in ("when", "tolerations", "selector"):
            path: Sequence[str] = workload.get(key, ())
            inner = values
            for step in path[:-1]:
                inner = inner.setdefault(step, {})
            if path:
                inner.setdefault(path[-1], {"when": False, "tolerations": []}.get(key, {}))
    return values


def _in_folder(folder: Path | None, name: str, version: str) -> Path | None:
    """The chart of that name in the caller's folder, unpacked or as an archive."""
    if folder is None:
        return None
    candidates: Iterator[Path] = (
        path
        for path in (folder / name, folder / f"{name}-{version}.tgz", folder / f"{name}.tgz")
        if path.is_file() or (path / "Chart.yaml").is_file()
    )
    return next((path.resolve() for path in candidates), None)


def _answering(urls: Sequence[str]) -> frozenset[str]:
    """The repositories that can be reached from here."""
    with ThreadPoolExecutor(max_workers=max(1, len(urls))) as pool:
        return frozenset(
            url for url, there in zip(urls, pool.map(_answers, urls), strict=True) if there
        )


def _answers(url: str) -> bool:
    request = urllib.request.Request(f"{url.rstrip('/')}/index.yaml", method="HEAD")  # noqa: S310  from the catalog
    try:
        with urllib.request.urlopen(request, timeout=REACH_LIMIT_S):  # noqa: S310  from the catalog
            return True
    except (OSError, ValueError):
        return False


@cache
def _stand_ins() -> Mapping[str, Any]:
    stand_ins: Mapping[str, Any] = yaml.safe_load(_text("charts.yaml"))
    return stand_ins


def _text(name: str) -> str:
    return files("berth.rehearsal").joinpath("stand_in", name).read_text("utf-8")
