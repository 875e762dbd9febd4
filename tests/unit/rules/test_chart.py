"""Helm charts: name and version as Helm reads them, values with those of files, defaults."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view.chart import Chart
from berth.rules.stack_view.chart_sources import read_charts
from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import ABSENT, found, node_group, release

VALUES_FILE = """
driver: {enabled: false, version: "580.95.05"}
toolkit: {enabled: false}
daemonsets: {tolerations: [{key: gpu, operator: Exists}]}
"""


def chart(**changes: Any) -> Chart:
    return Chart(release(**{"values": ABSENT, **changes}))


@pytest.mark.parametrize(
    ("stated", "name"),
    [
        ("gpu-operator", "gpu-operator"),
        ("nvidia/gpu-operator", "gpu-operator"),
        ("oci://registry.example.com/charts/karpenter", "karpenter"),
        ("./charts/vllm-stack/", "vllm-stack"),
        (UNKNOWN, ""),
        (5, ""),
    ],
)
def test_a_chart_is_called_by_the_last_part_of_its_reference(stated: Any, name: str) -> None:
    assert chart(chart=stated).name == name


@pytest.mark.parametrize(
    ("stated", "version"), [("v26.3.3", "v26.3.3"), ("4.6.0", "v4.6.0"), (ABSENT, ""), ("", "")]
)
def test_versions_are_compared_in_one_spelling(stated: Any, version: str) -> None:
    assert chart(version=stated).version == version


@pytest.mark.parametrize(
    ("reference", "repository", "is_local"),
    [
        ("./charts/server", ABSENT, True),
        ("/srv/charts/server", ABSENT, True),
        ("charts/server", ABSENT, True),
        ("server-1.0.0.tgz", ABSENT, True),
        ("server-1.0.0.tar.gz", ABSENT, True),
        ("server", ABSENT, False),
        ("server", {"repo": "https://charts.example.com"}, False),
        ("nvidia/gpu-operator", {"repo": "https://charts.example.com"}, False),
        ("oci://registry.example.com/charts/server", ABSENT, False),
        ("https://charts.example.com/server-1.0.0.tgz", ABSENT, True),
    ],
)
def test_folders_and_archives_hold_one_version(
    reference: str, repository: Any, is_local: bool
) -> None:
    assert chart(chart=reference, repositoryOpts=repository).is_local is is_local


def test_values_of_a_file_are_read_where_its_text_is_shown() -> None:
    read = chart(valueYamlFiles=[VALUES_FILE])

    assert read.values.at("driver", "version").text() == "580.95.05"
    assert read.values.at("driver", "version").path == "values.driver.version"
    assert not read.has_value_files


def test_stated_values_win_over_those_of_a_file_key_by_key() -> None:
    read = chart(
        valueYamlFiles=[VALUES_FILE], values={"driver": {"enabled": True}, "toolkit": None}
    )

    assert read.values.at("driver").value == {"enabled": True, "version": "580.95.05"}
    assert read.values.at("toolkit", "enabled").boolean() is False


def test_a_later_file_takes_the_place_of_an_earlier_one() -> None:
    read = chart(valueYamlFiles=[VALUES_FILE, "driver: {enabled: true}"])

    assert read.values.at("driver").value == {"enabled": True}
    assert read.values.at("toolkit", "enabled").boolean() is False


def test_a_stated_list_replaces_that_of_a_file() -> None:
    read = chart(valueYamlFiles=["tolerations: [{key: a}, {key: b}]"], values={"tolerations": []})

    assert read.values.at("tolerations").value == []


@pytest.mark.parametrize(
    ("files", "is_hidden"),
    [
        (ABSENT, False),
        ([], False),
        ([VALUES_FILE], False),
        (["# nothing yet\n"], False),
        ([None], True),
        ([VALUES_FILE, None], True),
        ([UNKNOWN], True),
        (UNKNOWN, True),
        (["./values.yaml"], True),
        (["a: [1"], True),
        (["- a\n- list"], True),
    ],
)
def test_a_file_that_cannot_be_read_may_hold_any_value(files: Any, is_hidden: bool) -> None:
    assert chart(valueYamlFiles=files).has_value_files is is_hidden


def test_unknown_values_stay_unknown_beside_a_file() -> None:
    assert chart(valueYamlFiles=[VALUES_FILE], values=UNKNOWN).values.is_unknown


def test_values_that_are_no_mapping_say_nothing() -> None:
    read = chart(valueYamlFiles=[VALUES_FILE], values="text")

    assert read.values.at("toolkit", "enabled").boolean() is False


@pytest.mark.parametrize(
    ("switch", "files", "is_on"),
    [
        ({"enabled": True}, ABSENT, True),
        ({"enabled": False}, ABSENT, False),
        ({"enabled": "false"}, ABSENT, False),
        ({}, ABSENT, True),
        ({}, [None], False),
        ({}, ["driver: {enabled: false}"], False),
        ({}, ["toolkit: {enabled: false}"], True),
    ],
)
def test_a_part_is_installed_unless_its_switch_says_no(
    switch: dict[str, Any], files: Any, is_on: bool
) -> None:
    read = chart(values={"driver": switch}, valueYamlFiles=files)

    assert read.is_switched_on(read.values.at("driver", "enabled")) is is_on


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("gpu-operator", "nvidia"),
        ("gpu-operator-charts", "amd"),
        ("dcgm-exporter", "nvidia"),
        ("cert-manager", None),
    ],
)
def test_charts_of_gpu_agents_are_known_by_name(name: str, vendor: str | None) -> None:
    assert chart(chart=name).vendor == vendor


OPERATOR_LISTS = [
    ("daemonsets", "tolerations"),
    ("node-feature-discovery", "worker", "tolerations"),
]


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({}, OPERATOR_LISTS),
        ({"values": {"nfd": {"enabled": False}}}, OPERATOR_LISTS[:1]),
        ({"values": {"nfd": {"enabled": True}}}, OPERATOR_LISTS),
        ({"valueYamlFiles": [None]}, []),
        (
            {"valueYamlFiles": [None], "values": {"daemonsets": {"tolerations": []}}},
            OPERATOR_LISTS[:1],
        ),
        ({"valueYamlFiles": [VALUES_FILE]}, OPERATOR_LISTS),
        ({"chart": "cert-manager"}, []),
    ],
)
def test_tolerations_that_agents_get(changes: dict[str, Any], paths: list[tuple[str, ...]]) -> None:
    assert [entry.path for entry in chart(**changes).toleration_lists()] == paths


AMD_LISTS = {
    ("node-feature-discovery", "worker", "tolerations"),
    ("deviceConfig", "spec", "devicePlugin", "devicePluginTolerations"),
    ("deviceConfig", "spec", "devicePlugin", "nodeLabellerTolerations"),
    ("deviceConfig", "spec", "metricsExporter", "tolerations"),
}


@pytest.mark.parametrize(
    ("values", "paths"),
    [
        ({}, AMD_LISTS),
        (
            {"crds": {"defaultCR": {"install": False}}},
            {path for path in AMD_LISTS if path[0] != "deviceConfig"},
        ),
        (
            {"deviceConfig": {"spec": {"metricsExporter": {"enable": False}}}},
            {path for path in AMD_LISTS if path[2] != "metricsExporter"},
        ),
    ],
)
def test_agents_of_amds_operator_tolerate_nothing_by_default(
    values: dict[str, Any], paths: set[tuple[str, ...]]
) -> None:
    lists = chart(chart="gpu-operator-charts", values=values).toleration_lists()

    assert {entry.path for entry in lists} == paths


def test_a_tainted_pool_of_amd_gpus_keeps_the_agents_of_the_operator_away() -> None:
    taint = {"key": "amd.com/gpu", "effect": "NO_SCHEDULE"}
    pool = node_group(instanceTypes=["g4ad.xlarge"], amiType="CUSTOM", taints=[taint])

    findings = found("missing-toleration", release("gpu-operator-charts"), pool)
    assert len(findings) == len(AMD_LISTS)


def test_a_given_list_replaces_the_default_of_the_chart() -> None:
    given, default = chart(valueYamlFiles=[VALUES_FILE]).toleration_lists()

    assert [entry.at("key").text() for entry in given.tolerations.items()] == ["gpu"]
    assert [entry.at("key").text() for entry in default.tolerations.items()] == [
        "node-role.kubernetes.io/master",
        "node-role.kubernetes.io/control-plane",
        "nvidia.com/gpu",
    ]


def test_a_driver_that_a_values_file_switches_off_is_no_second_driver() -> None:
    operator = release(values={}, valueYamlFiles=[VALUES_FILE])

    assert found("driver-double-install", operator, node_group()) == []


def test_a_driver_that_a_values_file_switches_on_is_a_second_driver() -> None:
    operator = release(values={}, valueYamlFiles=["driver: {enabled: true}"])

    (finding, *_) = found("driver-double-install", operator, node_group())
    assert finding.resource == "gpu-operator"


def test_only_releases_and_charts_of_helm_are_charts() -> None:
    others = [
        node_group(),
        Resource("kubernetes:nvidia.com/v1alpha1:NVIDIADriver", "driver", "", {}),
        Resource("kubernetes:kyverno.io/v1:ClusterPolicy", "policy", "", {}),
    ]

    assert len(read_charts([release(), *others])) == 1


@pytest.mark.parametrize(
    ("labels", "version"),
    [
        ({"helm.sh/chart": "gpu-operator-v26.3.3"}, "v26.3.3"),
        ({"helm.sh/chart": "gpu-operator-crds"}, ""),
        ({}, ""),
    ],
)
def test_a_rendered_operator_says_its_version_in_a_label(
    labels: dict[str, str], version: str
) -> None:
    props = {"metadata": {"labels": labels}, "spec": {"driver": {"enabled": False}}}
    rendered = Resource("kubernetes:nvidia.com/v1:ClusterPolicy", "cluster-policy", "", props)

    (operator,) = read_charts([rendered])
    assert operator.version == version
    assert operator.name == "gpu-operator"
    assert operator.is_local
    assert operator.values.at("driver", "enabled").boolean() is False
    assert [entry.path for entry in operator.toleration_lists()] == OPERATOR_LISTS[:1]
