"""The stand-in Kubernetes provider: what it fills in, refuses, replaces and shows."""

import json
import re
from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2

from berth.offline.values import UNKNOWN, Secret, to_struct
from tests.unit.offline.conftest import Engine, Providers

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
JOB = "kubernetes:batch/v1:Job"
RELEASE = "kubernetes:helm.sh/v3:Release"
SECRET = "kubernetes:core/v1:Secret"
SERVICE = "kubernetes:core/v1:Service"
SCALED_OBJECT = "kubernetes:keda.sh/v1alpha1:ScaledObject"


def a_deployment(app: str = "a", image: str = "i:1", **metadata: Any) -> dict[str, Any]:
    pod = {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }
    found: dict[str, Any] = {"spec": {"selector": {"matchLabels": {"app": app}}, "template": pod}}
    return {**found, "metadata": metadata} if metadata else found


def a_release(**changes: Any) -> dict[str, Any]:
    return {"chart": "gpu-operator", "version": "v26.3.3", **changes}


def test_names_and_versions_are_put_in(kubernetes: Engine) -> None:
    inputs, problems = kubernetes.check(DEPLOYMENT, a_deployment(), "web")

    assert problems == []
    assert (inputs["apiVersion"], inputs["kind"]) == ("apps/v1", "Deployment")
    assert inputs["metadata"]["namespace"] == "default"
    assert re.fullmatch(r"web-[0-9a-f]{8}", inputs["metadata"]["name"])
    assert inputs["metadata"]["annotations"] == {"pulumi.com/autonamed": "true"}
    assert kubernetes.check(DEPLOYMENT, a_deployment(), "web", inputs)[0] == inputs


def test_what_lives_outside_namespaces_gets_none(kubernetes: Engine) -> None:
    inputs, _ = kubernetes.check("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", {})
    resource_id, _ = kubernetes.create("kubernetes:core/v1:Namespace", {"metadata": {"name": "n"}})

    assert "namespace" not in inputs["metadata"]
    assert resource_id == "n"


def test_the_providers_namespace_is_the_default_one(providers: Providers) -> None:
    engine = providers.connect("kubernetes", {"namespace": "serving"})

    assert engine.create(DEPLOYMENT, a_deployment(name="web"))[0] == "serving/web"


@pytest.mark.parametrize(
    ("resource_type", "inputs", "expected"),
    [
        pytest.param(DEPLOYMENT, {**a_deployment(), "sepc": {}},
                     "unknown property sepc; did you mean spec", id="unknown"),
        pytest.param(DEPLOYMENT, {"spec": {**a_deployment()["spec"], "replica": 1}},
                     "unknown property spec.replica; did you mean replicas", id="unknown-inside"),
        pytest.param(DEPLOYMENT, {"spec": {**a_deployment()["spec"], "replicas": "1"}},
                     "spec.replicas must be an integer, not a string", id="text-for-a-number"),
        pytest.param(DEPLOYMENT, {}, "missing required property spec", id="missing"),
        pytest.param(CONFIG_MAP, {"data": {"k": 1}}, "data.k must be a string, not a number",
                     id="number-for-a-text"),
        pytest.param(RELEASE, {}, "missing required property chart", id="release-without-chart"),
        pytest.param(SCALED_OBJECT, {"spec": {}}, "no such type in pulumi-kubernetes",
                     id="custom-without-a-version"),
    ],
)  # fmt: skip
def test_refused(
    kubernetes: Engine, resource_type: str, inputs: dict[str, Any], expected: str
) -> None:
    (problem,) = kubernetes.problems(resource_type, inputs, "web")

    assert problem.startswith(f"{resource_type} web: {expected}")


def test_a_quantity_may_be_a_number_or_a_text(kubernetes: Engine) -> None:
    """As in most manifests: `nvidia.com/gpu: 1`, `cpu: 0.5`."""
    limits: dict[str, Any] = {"nvidia.com/gpu": 1, "cpu": 0.5}
    asked = {"limits": limits, "requests": {"nvidia.com/gpu": "1"}}
    inputs = a_deployment()
    inputs["spec"]["template"]["spec"]["containers"][0]["resources"] = asked

    assert kubernetes.problems(DEPLOYMENT, inputs, "web") == []

    limits["nvidia.com/gpu"] = True
    (problem,) = kubernetes.problems(DEPLOYMENT, inputs, "web")
    assert problem.endswith('resources.limits["nvidia.com/gpu"] must be a string, not a boolean')


def test_a_port_may_be_a_number_or_a_name(kubernetes: Engine) -> None:
    ports = [{"port": 80, "targetPort": 8000}, {"port": 81, "targetPort": "http"}]

    assert kubernetes.problems(SERVICE, {"spec": {"ports": ports}}) == []


def test_a_custom_resource_is_taken_as_it_is(kubernetes: Engine) -> None:
    scaled = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "spec": {"any": [1]}}
    resource_id, outputs = kubernetes.create(SCALED_OBJECT, {**scaled, "metadata": {"name": "s"}})

    assert resource_id == "default/s"
    assert outputs["spec"] == {"any": [1]}


@pytest.mark.parametrize(
    ("resource_type", "old", "new", "replaced"),
    [
        pytest.param(DEPLOYMENT, a_deployment(), a_deployment(image="i:2"), [], id="image"),
        pytest.param(DEPLOYMENT, a_deployment("a"), a_deployment("b"), ["spec"], id="selector"),
        pytest.param(DEPLOYMENT, a_deployment(name="a"), a_deployment(name="b"), ["metadata"],
                     id="name"),
        pytest.param(DEPLOYMENT, a_deployment(namespace="a"), a_deployment(namespace="b"),
                     ["metadata"], id="namespace"),
        pytest.param(JOB, {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}},
                     {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}, ["spec"],
                     id="job-template"),
        pytest.param(SERVICE, {"spec": {"clusterIP": "None"}}, {"spec": {"clusterIP": "1.2.3.4"}},
                     ["spec"], id="cluster-ip"),
        pytest.param(CONFIG_MAP, {"data": {"a": "b"}}, {"data": {"a": "c"}}, ["data"],
                     id="config-map"),
        pytest.param(RELEASE, a_release(values={"a": 1}), a_release(values={"a": 2}), [],
                     id="values"),
        pytest.param(RELEASE, a_release(namespace="a"), a_release(namespace="b"), ["namespace"],
                     id="release-namespace"),
    ],
)  # fmt: skip
def test_changes(
    kubernetes: Engine,
    resource_type: str,
    old: dict[str, Any],
    new: dict[str, Any],
    replaced: list[str],
) -> None:
    response = kubernetes.diff(resource_type, old, new)

    assert response.changes == response.DIFF_SOME
    assert list(response.replaces) == replaced


def test_contents_that_the_provider_takes_for_mutable_change_in_place(
    providers: Providers,
) -> None:
    engine = providers.connect("kubernetes", {"enableConfigMapMutable": "true"})
    old, new = {"data": {"a": "b"}}, {"data": {"a": "c"}}

    assert list(engine.diff(CONFIG_MAP, old, new).replaces) == []
    assert list(engine.diff(CONFIG_MAP, {**old, "immutable": True}, new).replaces) == ["data"]


def test_only_a_name_of_the_programs_own_is_deleted_first(kubernetes: Engine) -> None:
    made = kubernetes.diff(DEPLOYMENT, a_deployment("a"), a_deployment("b"))
    given = kubernetes.diff(DEPLOYMENT, a_deployment("a", name="n"), a_deployment("b", name="n"))
    moved = kubernetes.diff(DEPLOYMENT, a_deployment("a", name="n"), a_deployment("b", name="m"))

    assert [r.deleteBeforeReplace for r in (made, given, moved)] == [False, True, False]


def test_a_preview_leaves_unknown_what_the_server_adds(kubernetes: Engine) -> None:
    service = kubernetes.preview(SERVICE, {"spec": {"ports": [{"port": 80}]}})
    release = kubernetes.preview(RELEASE, a_release())

    assert service["status"] is UNKNOWN
    assert service["spec"]["clusterIP"] is UNKNOWN
    assert service["metadata"]["uid"] is UNKNOWN
    assert release["status"] is UNKNOWN


def test_what_exists_shows_its_status(kubernetes: Engine) -> None:
    _, deployment = kubernetes.create(DEPLOYMENT, a_deployment())
    _, balanced = kubernetes.create(
        SERVICE, {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}
    )
    _, release = kubernetes.create(RELEASE, a_release(name="gpu-operator", namespace="gpu"))

    assert deployment["status"]["readyReplicas"] == 1
    assert balanced["status"]["loadBalancer"]["ingress"][0]["hostname"].endswith(".amazonaws.com")
    assert release["status"]["name"] == "gpu-operator"
    assert release["status"]["namespace"] == "gpu"
    assert (release["status"]["status"], release["status"]["revision"]) == ("deployed", 1)


def test_an_upgrade_is_a_revision_more(kubernetes: Engine) -> None:
    inputs, _ = kubernetes.check(RELEASE, a_release(name="g"))
    resource_id, outputs = kubernetes.create(RELEASE, a_release(name="g"))
    newer = a_release(name="g", version="v26.3.4")

    updated = kubernetes.update(RELEASE, resource_id, (inputs, outputs), newer)

    assert (updated["status"]["revision"], updated["status"]["version"]) == (2, "v26.3.4")


def test_a_secrets_contents_are_secret(kubernetes: Engine) -> None:
    inputs, _ = kubernetes.check(SECRET, {"stringData": {"token": "hunter2"}})
    _, outputs = kubernetes.create(SECRET, {"stringData": {"token": "hunter2"}})

    assert inputs["stringData"] == Secret({"token": "hunter2"})
    assert outputs["data"] == Secret({"token": "aHVudGVyMg=="})


def test_a_second_one_of_the_same_name_fails(kubernetes: Engine) -> None:
    policy = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
    kubernetes.create(policy, {"metadata": {"name": "p"}}, "one")
    kubernetes.create(RELEASE, a_release(name="g"), "one")

    with pytest.raises(Exception, match=r'networkpolicies\.networking\.k8s\.io "p" already exists'):
        kubernetes.create(policy, {"metadata": {"name": "p"}}, "two")
    with pytest.raises(Exception, match="cannot re-use a name that is still in use: g"):
        kubernetes.create(RELEASE, a_release(name="g"), "two")


def a_kubeconfig(server: str) -> str:
    return json.dumps(
        {
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
            "clusters": [{"name": "x", "cluster": {"server": server}}],
        }
    )


def test_clusters_do_not_see_each_other(providers: Providers) -> None:
    one = providers.connect("kubernetes", {"kubeconfig": a_kubeconfig("https://one")})
    two = providers.connect("kubernetes", {"kubeconfig": a_kubeconfig("https://two")})

    assert one.create(DEPLOYMENT, a_deployment(name="n")) is not None
    assert two.create(DEPLOYMENT, a_deployment(name="n")) is not None


@pytest.mark.parametrize(
    ("kubeconfig", "expected"),
    [
        pytest.param("~/.kube/config", [], id="path-of-a-file"),
        pytest.param(a_kubeconfig("https://one"), [], id="contents"),
        pytest.param(UNKNOWN, [], id="not-known-yet"),
        pytest.param("nonsense", ["kubeconfig is neither YAML nor JSON nor the path"], id="else"),
    ],
)
def test_a_kubeconfig(kubernetes: Engine, kubeconfig: Any, expected: list[str]) -> None:
    request = provider_pb2.CheckRequest(news=to_struct({"kubeconfig": kubeconfig}))

    failures = [failure.reason for failure in kubernetes.stub.CheckConfig(request).failures]

    assert [text in reason for text, reason in zip(expected, failures, strict=True)] == (
        [True] * len(expected)
    )


def test_an_object_is_read_by_name_alone_in_the_default_namespace(kubernetes: Engine) -> None:
    kubernetes.create(DEPLOYMENT, a_deployment(name="web"))

    found = kubernetes.read(DEPLOYMENT, "web")

    assert found.id == "default/web"
    assert found.inputs["kind"] == "Deployment"
    assert kubernetes.read(DEPLOYMENT, "web2").id == ""


def test_manifests_are_decoded(kubernetes: Engine) -> None:
    found = kubernetes.invoke("kubernetes:yaml:decode", {"text": "a: 1\n---\n---\nb: 2\n"})

    assert found == {"result": [{"a": 1}, {"b": 2}]}
