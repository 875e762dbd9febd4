"""Where charts come from, and that the engine never sees a stand-in's folder."""

import json
from pathlib import Path

import pytest
import yaml
from pulumi.runtime.proto import provider_pb2

from berth.catalog.load import load_catalog
from berth.rehearsal import charts
from berth.rehearsal.chart_proxy import Charts
from berth.rehearsal.charts import MAP_FILE, ChartMissingError, prepare_charts

CATALOG = load_catalog()
WANTED = {"gpu-operator": "v26.3.3", "cert-manager": "v1.15.1"}
URN = "urn:pulumi:s::p::kubernetes:helm.sh/v3:Release::r"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "_answers", lambda _url: False)


def test_without_a_network_every_chart_is_a_stand_in_of_the_same_version(tmp_path: Path) -> None:
    found = prepare_charts(WANTED, tmp_path, None, CATALOG)

    assert [(chart.name, chart.origin) for chart in found] == [
        ("gpu-operator", "stand-in"),
        ("cert-manager", "stand-in"),
    ]
    about = yaml.safe_load((tmp_path / "gpu-operator" / "Chart.yaml").read_text("utf-8"))
    assert (about["name"], about["version"]) == ("gpu-operator", "v26.3.3")


def test_a_real_chart_of_the_callers_comes_first(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "cert-manager-v1.15.1.tgz").touch()

    found = prepare_charts(WANTED, tmp_path / "made", own, CATALOG)

    assert {chart.name: chart.origin for chart in found} == {
        "gpu-operator": "stand-in",
        "cert-manager": "folder",
    }
    paths = json.loads((tmp_path / "made" / MAP_FILE).read_text("utf-8"))
    assert paths["cert-manager"] == str(own / "cert-manager-v1.15.1.tgz")


def test_a_folder_without_any_of_them_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ChartMissingError, match="none of the stack's charts is there; `helm pull`"):
        prepare_charts(WANTED, tmp_path / "made", tmp_path, CATALOG)


def test_a_repository_that_answers_serves_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "_answers", lambda url: "jetstack" in url)

    found = prepare_charts(WANTED, tmp_path, None, CATALOG)

    assert {chart.name: chart.origin for chart in found}["cert-manager"] == "repository"
    assert "cert-manager" not in json.loads((tmp_path / MAP_FILE).read_text("utf-8"))


@pytest.mark.parametrize("name", sorted(CATALOG.software.charts))
def test_there_is_a_stand_in_of_every_chart_in_the_catalog(name: str, tmp_path: Path) -> None:
    charts.write_stand_in(name, "1.0.0", tmp_path)

    values = yaml.safe_load((tmp_path / name / "values.yaml").read_text("utf-8"))
    assert {workload["kind"] for workload in values["standIn"]} <= {"Deployment", "DaemonSet"}


def test_a_release_is_made_of_the_folder_and_shown_with_its_name() -> None:
    request = provider_pb2.CheckRequest(urn=URN, type="kubernetes:helm.sh/v3:Release")
    request.news.update({"chart": "gpu-operator", "repositoryOpts": {"repo": "https://x"}})
    swapped = Charts({"gpu-operator": "/made/gpu-operator"})

    before = swapped.put_folders(request)

    assert dict(request.news) == {"chart": "/made/gpu-operator"}
    assert before is not None
    answer = provider_pb2.CheckResponse()
    answer.inputs.CopyFrom(request.news)
    swapped.put_back(answer, before)
    assert answer.inputs["chart"] == "gpu-operator"
    assert "https://x" in str(answer.inputs["repositoryOpts"])


def test_a_chart_in_a_registry_is_known_by_its_last_name() -> None:
    request = provider_pb2.CheckRequest(urn=URN, type="kubernetes:helm.sh/v3:Release")
    request.news.update({"chart": "oci://registry.k8s.io/lws/charts/lws"})
    swapped = Charts({"lws": "/made/lws"})

    before = swapped.put_folders(request)

    assert dict(request.news) == {"chart": "/made/lws"}
    assert before is not None
    answer = provider_pb2.CheckResponse()
    answer.inputs.CopyFrom(request.news)
    swapped.put_back(answer, before)
    assert answer.inputs["chart"] == "oci://registry.k8s.io/lws/charts/lws"


def test_a_stand_in_brings_the_resource_types_of_its_chart(tmp_path: Path) -> None:
    charts.write_stand_in("lws", "0.10.0", tmp_path)

    made = yaml.safe_load((tmp_path / "lws" / "crds" / "types.yaml").read_text("utf-8"))
    assert made["metadata"]["name"] == "leaderworkersets.leaderworkerset.x-k8s.io"


@pytest.mark.parametrize(
    ("kind", "chart"),
    [
        pytest.param("kubernetes:helm.sh/v3:Release", "another", id="another-chart"),
        pytest.param("kubernetes:core/v1:ConfigMap", "gpu-operator", id="no-release"),
    ],
)
def test_everything_else_is_left_alone(kind: str, chart: str) -> None:
    request = provider_pb2.CreateRequest(urn=URN.replace("kubernetes:helm.sh/v3:Release", kind))
    request.properties.update({"chart": chart})

    assert Charts({"gpu-operator": "/made"}).put_folders(request) is None
    assert request.properties["chart"] == chart
