"""Volumes of a container by path, and user data of a launch template."""

import base64
from typing import Any

import pytest

from berth.rules.stack_view import view_stack
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.user_data import decoded_user_data
from berth.rules.stack_view.volumes import Volume, mounted_volume, mounted_volumes
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError
from tests.unit.rules.stacks import container, deployment, pod_spec

CLAIM = {"name": "weights", "persistentVolumeClaim": {"claimName": "weights-claim"}}
CACHE = {"name": "cache", "emptyDir": {"sizeLimit": "10Gi"}}
OWN = {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {"a": "own"}}}}
TEMPLATES = [{"metadata": {"name": "shard"}, "spec": {"a": "set"}}]


def mounted(*mounts: Any, volumes: Any = (CLAIM, CACHE, OWN), templates: Any = TEMPLATES) -> Any:
    """The first container of a StatefulSet with these mounts."""
    spec = pod_spec(container(volumeMounts=list(mounts)), volumes=volumes)
    made = deployment(spec, kind="StatefulSet")
    props = {"spec": {**made.props["spec"], "volumeClaimTemplates": templates}}
    resource = type(made)(made.type, made.name, made.urn, props)
    return next(view_stack([resource]).containers())


def mount(name: Any, path: Any) -> dict[str, Any]:
    return {"name": name, "mountPath": path}


def test_what_a_mount_is_of() -> None:
    made = mounted(
        mount("weights", "/w"), mount("cache", "/c"), mount("own", "/o"), mount("shard", "/s")
    )
    claim, cache, own, shard = mounted_volumes(made)

    assert (claim.claim, claim.template) == ("weights-claim", None)
    assert cache.source.at("emptyDir", "sizeLimit").text() == "10Gi"
    assert own.template is not None
    assert own.template.at("spec", "a").text() == "own"
    assert shard.source.is_absent
    assert shard.template is not None
    assert shard.template.at("spec", "a").text() == "set"


@pytest.mark.parametrize("path", [None, "", 5])
def test_a_mount_without_a_path_is_none(path: Any) -> None:
    assert list(mounted_volumes(mounted(mount("weights", path)))) == []


def test_an_unknown_name_is_not_guessed() -> None:
    with pytest.raises(KnownAfterApplyError):
        list(mounted_volumes(mounted(mount(UNKNOWN, "/w"))))


@pytest.mark.parametrize(
    ("path", "exact", "expected"),
    [
        ("/models", False, "/models/"),
        ("/models/", False, "/models/"),
        ("/models/./llama", False, "/models/"),
        ("/models/big", False, "/models/big"),
        ("/models/big/x", False, "/models/big"),
        ("/models2", False, None),
        ("/", False, None),
        ("/models", True, "/models/"),
        ("/models/big/x", True, None),
    ],
)
def test_the_nearest_mount_holds_a_path(path: str, exact: bool, expected: str | None) -> None:
    made = mounted(mount("weights", "/models/"), mount("cache", "/models/big"))

    found = mounted_volume(made, path, exact=exact)
    assert (found.mount_path if found else None) == expected


def test_a_volume_at_the_root_holds_everything() -> None:
    found = mounted_volume(mounted(mount("weights", "/")), "/models")

    assert isinstance(found, Volume)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (base64.b64encode(b"#!/bin/bash\n").decode(), "#!/bin/bash\n"),
        ("#!/bin/bash\n", "#!/bin/bash\n"),
        (base64.b64encode(b"\xff").decode(), "\ufffd"),
        ("echo 'ok ok'", "echo 'ok ok'"),
        ("", ""),
        (None, ""),
    ],
)
def test_user_data_is_decoded_where_it_is_base64(text: Any, expected: str) -> None:
    assert decoded_user_data(Field({"userData": text})) == expected
