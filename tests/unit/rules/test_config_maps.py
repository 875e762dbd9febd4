"""What containers take from ConfigMaps of the same stack."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view.config_maps import (
    mounted_file,
    name_of,
    namespace_of,
    read_config_maps,
    with_config_maps,
)
from berth.rules.stack_view.field import Field
from berth.rules.unknown import UNKNOWN


def config_map(data: Any, *, kind: str = "core/v1:ConfigMap", **metadata: Any) -> Resource:
    props = {"metadata": {"name": "settings", **metadata}, "data": data}
    return Resource(f"kubernetes:{kind}", "settings", "urn:settings", props)


MAPS = read_config_maps([config_map({"TP": "4", "run.sh": "echo"})])
FROM = {"configMapRef": {"name": "settings"}}


def variables(body: Any, namespace: str = "default") -> Any:
    return with_config_maps(Field(body), namespace, MAPS).value


def key_of(name: Any = "settings", key: Any = "TP") -> dict[str, Any]:
    return {"name": "SIZE", "valueFrom": {"configMapKeyRef": {"name": name, "key": key}}}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [({"namespace": "serving"}, "serving"), ({}, "default"), ({"namespace": ""}, "default"),
     ({"namespace": UNKNOWN}, "default"), ({"namespace": 5}, "default")],
)  # fmt: skip
def test_the_namespace_is_default_where_none_is_said(
    metadata: dict[str, Any], expected: str
) -> None:
    assert namespace_of(config_map({}, **metadata)) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("a", "a"), ("", None), (UNKNOWN, None), (5, None), (None, None)]
)
def test_a_name_may_be_known_after_apply(name: Any, expected: str | None) -> None:
    assert name_of(config_map({}, name=name)) == expected


@pytest.mark.parametrize(
    "resource",
    [
        config_map({"A": "1"}, kind="core/v1:Secret"),
        config_map({"A": "1"}, name=UNKNOWN),
        config_map(UNKNOWN),
        config_map(None),
        config_map("text"),
    ],
)
def test_only_named_config_maps_with_data_are_read(resource: Resource) -> None:
    assert read_config_maps([resource]) == {}


def test_all_keys_become_variables() -> None:
    assert variables({"envFrom": [FROM]}) == [
        {"name": "TP", "value": "4"},
        {"name": "run.sh", "value": "echo"},
    ]


def test_a_prefix_goes_before_each_name() -> None:
    names = [v["name"] for v in variables({"envFrom": [{**FROM, "prefix": "VLLM_"}]})]

    assert names == ["VLLM_TP", "VLLM_run.sh"]


def test_a_literal_variable_comes_after_those_of_config_maps() -> None:
    literal = {"name": "TP", "value": "8"}

    assert variables({"envFrom": [FROM], "env": [literal]})[-1] == literal


def test_one_key_becomes_the_value_of_a_variable() -> None:
    assert variables({"env": [key_of()]}) == [{"name": "SIZE", "value": "4"}]


@pytest.mark.parametrize(
    "item", [key_of(name="other"), key_of(key="PP"), key_of(key=UNKNOWN), key_of(name=UNKNOWN)]
)
def test_a_key_that_the_stack_does_not_show_stays_a_reference(item: dict[str, Any]) -> None:
    assert variables({"env": [item]}) == [item]


def test_config_maps_of_another_namespace_do_not_count() -> None:
    assert variables({"env": [key_of()], "envFrom": [FROM]}, "other") == [key_of()]


@pytest.mark.parametrize(
    "body", [{"env": UNKNOWN, "envFrom": [FROM]}, {"env": UNKNOWN}], ids=["both", "env"]
)
def test_unknown_variables_stay_unknown(body: Any) -> None:
    assert variables(body) is UNKNOWN


def test_unknown_sources_leave_the_literal_variables() -> None:
    literal = {"name": "A", "value": "1"}

    assert variables({"env": [literal], "envFrom": UNKNOWN}) == [literal]


VOLUME = {"name": "files", "configMap": {"name": "settings"}}


def file_text(path: str, mounts: Any, volumes: Any = (VOLUME,)) -> str | None:
    spec = Field({"volumes": volumes})
    return mounted_file(path, Field({"volumeMounts": mounts}), spec, "default", MAPS)


@pytest.mark.parametrize(
    ("path", "mount", "text"),
    [
        ("/etc/app/run.sh", {"mountPath": "/etc/app"}, "echo"),
        ("/etc/app/run.sh", {"mountPath": "/etc/app/"}, "echo"),
        ("/start.sh", {"mountPath": "/start.sh", "subPath": "run.sh"}, "echo"),
        ("/etc/app/other", {"mountPath": "/etc/app"}, None),
        ("/etc/app", {"mountPath": "/etc/app"}, None),
        ("/etc/application/run.sh", {"mountPath": "/etc/app"}, None),
        ("/run.sh", {"mountPath": "/start.sh", "subPath": "run.sh"}, None),
        ("/etc/app/run.sh", {"mountPath": UNKNOWN}, None),
    ],
)
def test_a_file_of_a_mounted_config_map(path: str, mount: dict[str, Any], text: str | None) -> None:
    assert file_text(path, [{"name": "files", **mount}]) == text


def test_the_volume_of_the_mount_is_read_and_no_other() -> None:
    mounts = [{"name": "weights", "mountPath": "/etc/app"}]

    assert file_text("/etc/app/run.sh", mounts) is None
    assert file_text("/etc/app/run.sh", mounts, [VOLUME, {**VOLUME, "name": "weights"}]) == "echo"


def test_a_later_mount_may_hold_the_file() -> None:
    mounts = [{"name": "other", "mountPath": "/etc"}, {"name": "files", "mountPath": "/etc/app"}]

    assert file_text("/etc/app/run.sh", mounts) == "echo"


@pytest.mark.parametrize(
    ("mounts", "volumes"),
    [
        (UNKNOWN, [VOLUME]),
        ([{"name": "files", "mountPath": "/etc/app"}], UNKNOWN),
        ([{"name": "files", "mountPath": "/etc/app"}], [{"name": "files", "emptyDir": {}}]),
        ([{"name": "files", "mountPath": "/etc/app"}], []),
        ([], [VOLUME]),
    ],
)
def test_no_file_where_the_stack_does_not_show_one(mounts: Any, volumes: Any) -> None:
    assert file_text("/etc/app/run.sh", mounts, volumes) is None
