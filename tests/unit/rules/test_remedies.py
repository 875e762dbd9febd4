"""What is mended mechanically: the rule is content afterwards, and nothing else has changed."""

import copy
from typing import Any

import pytest

from berth.rules.check import check
from berth.rules.edit import Edit, SealedError, apply_edits, path_of
from berth.rules.example import load_example
from berth.rules.remedies import REMEDIES, remedied
from berth.rules.resource import Resource, manifest_type
from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import container, deployment, gpus, pod_spec

SEALED = {"sealed": "never-read"}


def is_sealed(value: Any) -> bool:
    return value is UNKNOWN or (isinstance(value, dict) and "sealed" in value)


def mended(rule_id: str, resource: Resource, raw: Any = None) -> dict[str, Any] | None:
    props = resource.props if raw is None else raw
    before = copy.deepcopy(props)
    after = remedied(rule_id, resource, props, {}, is_sealed)
    assert props == before
    return after


def paths_changed(before: Any, after: Any, path: str = "") -> set[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        keys = before.keys() | after.keys()
        return {p for k in keys for p in paths_changed(before.get(k), after.get(k), f"{path}.{k}")}
    if isinstance(before, list) and isinstance(after, list) and len(before) <= len(after):
        longer = {f"{path}[{i}]" for i in range(len(before), len(after))}
        pairs = enumerate(zip(before, after, strict=False))
        return longer | {p for i, (b, a) in pairs for p in paths_changed(b, a, f"{path}[{i}]")}
    return set() if before == after else {path}


POD = ".spec.template.spec"
CHANGED = {
    "disruption-unprotected": {".spec.template.metadata.annotations"},
    "gpu-request-limit-mismatch": {f"{POD}.containers[0].resources.requests.nvidia.com/gpu"},
    "rollout-deadlock": {".spec.strategy.rollingUpdate"},
    "service-env-collision": {f"{POD}.enableServiceLinks"},
    "shm-too-small": {f"{POD}.volumes[1]", f"{POD}.containers[0].volumeMounts[1]"},
    "startup-probe-too-short": {f"{POD}.containers[0].startupProbe.failureThreshold"},
}


@pytest.mark.parametrize("rule_id", REMEDIES)
def test_the_bad_example_is_mended_where_it_is_wrong(rule_id: str) -> None:
    *rest, body = load_example(rule_id).bad
    token = manifest_type(body["apiVersion"], body["kind"])

    after = mended(rule_id, Resource(token, "chat", "chat", body))

    assert after is not None
    assert paths_changed(body, after) == CHANGED[rule_id]
    others = [e for e in rest if "apiVersion" in e]
    stack = [Resource(manifest_type(e["apiVersion"], e["kind"]), "", "", e) for e in others]
    stack += [Resource(e["type"], e["name"], "", e["properties"]) for e in rest if "type" in e]
    assert check([*stack, Resource(token, "chat", "chat", after)]).findings == ()
    assert mended(rule_id, Resource(token, "chat", "chat", after)) is None


def test_only_the_safe_ones_are_mended() -> None:
    assert set(REMEDIES) == set(CHANGED)


@pytest.mark.parametrize(
    ("limit", "request_", "expected"),
    [
        (2, 1, {"limits": 2, "requests": 2}),
        (0.5, 0.5, None),
        (2, 2, None),
    ],
)
def test_requests_follow_limits(limit: Any, request_: Any, expected: Any) -> None:
    resource = deployment(pod_spec(container(resources=gpus(limit, request_))))

    after = mended("gpu-request-limit-mismatch", resource)

    if expected is None:
        assert after is None
    else:
        stated = after["spec"]["template"]["spec"]["containers"][0]["resources"]  # type: ignore[index]
        assert {kind: stated[kind]["nvidia.com/gpu"] for kind in stated} == expected


def test_a_request_without_a_limit_becomes_the_limit() -> None:
    resource = deployment(pod_spec(container(resources={"requests": {"nvidia.com/gpu": 4}})))

    after = mended("gpu-request-limit-mismatch", resource)

    assert after is not None
    stated = after["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert stated["limits"] == {"nvidia.com/gpu": 4}


def test_an_unknown_amount_is_left_alone() -> None:
    resource = deployment(pod_spec(container(resources=gpus(UNKNOWN, 1))))

    assert remedied("gpu-request-limit-mismatch", resource, resource.props, {}, is_sealed) is None


def test_a_secret_limit_is_not_copied_into_the_open() -> None:
    resource = deployment(pod_spec(container(resources=gpus(2, 1))))
    raw = copy.deepcopy(dict(resource.props))
    raw["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = SEALED

    assert mended("gpu-request-limit-mismatch", resource, raw) is None


def test_a_secret_pod_is_left_alone() -> None:
    resource = deployment(pod_spec(container(resources=gpus(2, 1))))
    raw = {"spec": {"template": SEALED}}

    assert mended("gpu-request-limit-mismatch", resource, raw) is None


def test_an_exception_is_an_exception_here_too() -> None:
    notes = {"annotations": {"berth.dev/except-gpu-request-limit-mismatch": "on purpose"}}
    resource = deployment(pod_spec(container(resources=gpus(2, 1))), metadata=notes)

    assert mended("gpu-request-limit-mismatch", resource) is None


def test_shared_memory_that_is_too_small_grows_in_place() -> None:
    args = ["--model", "m", "--tensor-parallel-size", "4"]
    mounts = [{"name": "s", "mountPath": "/dev/shm"}]
    volumes = [{"name": "s", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}]
    server = container(args=args, resources=gpus(4, 4), volumeMounts=mounts)

    after = mended("shm-too-small", deployment(pod_spec(server, volumes=volumes)))

    assert after is not None
    assert after["spec"]["template"]["spec"]["volumes"] == [
        {"name": "s", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}
    ]


def test_a_liveness_probe_is_copied_to_a_startup_probe_that_waits() -> None:
    probe = {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 5}
    server = container(args=["--model", "m"], livenessProbe=probe)

    after = mended("startup-probe-too-short", deployment(pod_spec(server)))

    assert after is not None
    made = after["spec"]["template"]["spec"]["containers"][0]
    assert made["livenessProbe"] == probe
    assert made["startupProbe"] == {
        "httpGet": {"path": "/health", "port": 8000},
        "periodSeconds": 10,
        "failureThreshold": 60,  # twice 300 s
    }


def test_a_volume_gets_a_name_that_is_free() -> None:
    args = ["--model", "m", "--tensor-parallel-size", "2"]
    volumes = [{"name": "dshm", "emptyDir": {}}]
    servers = [container(name=name, args=args, resources=gpus(2, 2)) for name in ("a", "b")]

    after = mended("shm-too-small", deployment(pod_spec(*servers, volumes=volumes)))

    assert after is not None
    names = [v["name"] for v in after["spec"]["template"]["spec"]["volumes"]]
    assert names == ["dshm", "dshm-0", "dshm-1"]


def test_a_volume_at_a_folder_above_is_no_shared_memory() -> None:
    args = ["--model", "m", "--tensor-parallel-size", "2"]
    server = container(
        args=args, resources=gpus(2, 2), volumeMounts=[{"name": "s", "mountPath": "/dev"}]
    )
    volumes = [{"name": "s", "emptyDir": {}}]

    after = mended("shm-too-small", deployment(pod_spec(server, volumes=volumes)))

    assert after is not None
    assert after["spec"]["template"]["spec"]["volumes"] == [
        {"name": "s", "emptyDir": {}},
        {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "4Gi"}},
    ]


def test_a_volume_that_is_no_folder_of_the_pod_is_left_alone() -> None:
    args = ["--model", "m", "--tensor-parallel-size", "2"]
    mounts = [{"name": "s", "mountPath": "/dev/shm"}]
    volumes = [{"name": "s", "hostPath": {"path": "/mnt"}}]
    server = container(args=args, resources=gpus(2, 2), volumeMounts=mounts)

    assert mended("shm-too-small", deployment(pod_spec(server, volumes=volumes))) is None


def test_a_startup_probe_of_its_own_is_not_replaced() -> None:
    probe = {"httpGet": {"path": "/ready", "port": 8000}, "failureThreshold": 3}
    liveness = {"httpGet": {"path": "/health", "port": 8000}}
    server = container(args=["--model", "m"], startupProbe=probe, livenessProbe=liveness)

    after = mended("startup-probe-too-short", deployment(pod_spec(server)))

    assert after is not None
    made = after["spec"]["template"]["spec"]["containers"][0]
    assert made["startupProbe"]["httpGet"]["path"] == "/ready"
    assert made["livenessProbe"] == liveness


@pytest.mark.parametrize(
    ("kind", "image", "is_mended"),
    [
        ("kubernetes:apps/v1:Deployment", "vllm/vllm-openai:v0.32.0", True),
        ("kubernetes:batch/v1:Job", "vllm/vllm-openai:v0.32.0", False),
        ("kubernetes:apps/v1:Deployment", "nginx:1.29", False),
    ],
)
def test_only_servers_on_gpus_are_kept_where_they_are(
    kind: str, image: str, *, is_mended: bool
) -> None:
    is_server = image.startswith("vllm")
    served = container(image=image) if is_server else {"name": "web", "image": image}
    resource = deployment(pod_spec(served))
    resource = Resource(kind, "chat", "urn:chat", resource.props)

    assert (mended("disruption-unprotected", resource) is not None) is is_mended


def test_edits_reach_through_keys_with_dots_and_make_what_is_missing() -> None:
    path = path_of("spec.containers[1].resources.limits[nvidia.com/gpu]")
    assert path == ("spec", "containers", 1, "resources", "limits", "nvidia.com/gpu")

    after = apply_edits({"spec": {"containers": [{}, {}]}}, [Edit(path, 1)], is_sealed)

    assert after["spec"]["containers"] == [{}, {"resources": {"limits": {"nvidia.com/gpu": 1}}}]


@pytest.mark.parametrize(
    ("props", "edit"),
    [
        ({"a": SEALED}, Edit(("a", "b"), 1)),
        ({"a": SEALED}, Edit(("a",), 1)),
        ({"a": {"b": [SEALED]}}, Edit(("c",), copied_from=("a",))),
        ({"a": UNKNOWN}, Edit(("a",), 1, append=True)),
        ({"a": "text"}, Edit(("a", "b"), 1)),
        ({"a": []}, Edit(("a", 3, "b"), 1)),
        ({}, Edit(("c",), copied_from=("a",))),
    ],
)
def test_what_is_sealed_or_of_another_shape_is_not_edited(
    props: dict[str, Any], edit: Edit
) -> None:
    with pytest.raises(SealedError):
        apply_edits(props, [edit], is_sealed)
