"""Resources that make pods: where each kind keeps templates, counts and roles."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view import view_stack
from berth.rules.stack_view.workload import Workload
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError
from tests.unit.rules.stacks import container, leader_worker_set, pod_spec

POD = pod_spec()
TEMPLATE = {"metadata": {"labels": {"app": "chat"}}, "spec": POD}


def workload(token: str, spec: Any, **more: Any) -> Workload:
    resource = Resource(f"kubernetes:{token}", "w", "urn:w", {"spec": spec, **more})
    (found,) = view_stack([resource]).workloads
    return found


def roles(found: Workload) -> list[tuple[str, int]]:
    """Role and number of the pods of each template."""
    return [(pod.role, pod.count) for pod in found.pods]


@pytest.mark.parametrize(
    ("token", "spec", "count"),
    [
        ("apps/v1:Deployment", {"replicas": 2, "template": TEMPLATE}, 2),
        ("apps/v1:StatefulSet", {"template": TEMPLATE}, 1),
        ("batch/v1:Job", {"parallelism": 3, "replicas": 9, "template": TEMPLATE}, 3),
        (
            "batch/v1:CronJob",
            {"jobTemplate": {"spec": {"parallelism": 2, "template": TEMPLATE}}},
            2,
        ),
    ],
)
def test_how_many_pods_a_workload_makes(token: str, spec: Any, count: int) -> None:
    found = workload(token, spec)

    assert roles(found) == [("", count)]
    assert found.pods[0].label("app") == "chat"
    assert not found.is_group
    assert found.group_size == 1


def test_a_pod_is_its_own_template() -> None:
    found = workload("core/v1:Pod", POD, metadata={"labels": {"app": "chat"}})

    assert roles(found) == [("", 1)]
    assert found.pods[0].label("app") == "chat"
    assert found.pods[0].spec.at("containers").path == "spec.containers"


@pytest.mark.parametrize(
    ("kind", "is_job", "is_ray"),
    [
        ("batch/v1:Job", True, False),
        ("batch/v1:CronJob", True, False),
        ("ray.io/v1:RayJob", True, True),
        ("ray.io/v1:RayService", False, True),
        ("apps/v1:Deployment", False, False),
    ],
)
def test_what_ends_and_what_is_ray(kind: str, is_job: bool, is_ray: bool) -> None:
    found = workload(kind, {})

    assert (found.is_job, found.is_ray) == (is_job, is_ray)


@pytest.mark.parametrize(
    ("token", "is_workload"),
    [
        ("kubernetes:apps/v1beta2:Deployment", True),
        ("kubernetes:core/v1:Pod", True),
        ("kubernetes:batch/v1:Deployment", False),
        ("kubernetes:apps/v1:Pod", False),
        ("kubernetes:nvidia.com/v1alpha1:DynamoGraphDeployment", True),
        ("kubernetes:example.com/v1:DynamoGraphDeployment", False),
        ("kubernetes:serving.kserve.io/v1beta1:InferenceService", True),
        ("kubernetes:ray.io/v1:InferenceService", False),
        ("other:apps/v1:Deployment", False),
        ("kubernetes:example.com/v1:Thing", False),
    ],
)
def test_kinds_count_in_their_own_group_only(token: str, is_workload: bool) -> None:
    view = view_stack([Resource(token, "w", "", {"spec": {}})])

    assert bool(view.workloads) is is_workload


@pytest.mark.parametrize(
    ("size", "workers"), [(3, 2), (1, 0), (None, 0), (0, 0)]
)  # fmt: skip
def test_a_leader_is_one_of_its_group(size: Any, workers: int) -> None:
    (found,) = view_stack([leader_worker_set(container(), size=size)]).workloads

    assert roles(found) == [("leader", 1), ("worker", workers)]
    assert found.is_group
    assert found.group_size == (size or 1)


def test_without_a_leader_template_all_pods_are_workers() -> None:
    template = {"size": 4, "workerTemplate": TEMPLATE}
    found = workload(
        "leaderworkerset.x-k8s.io/v1:LeaderWorkerSet",
        {"replicas": 2, "leaderWorkerTemplate": template},
    )

    assert roles(found) == [("worker", 8)]
    assert found.group_size == 4


def test_a_group_of_unknown_size() -> None:
    (found,) = view_stack([leader_worker_set(container(), size=UNKNOWN)]).workloads

    with pytest.raises(KnownAfterApplyError):
        _ = found.pods[1].count


def test_hosts_and_replicas_of_ray_worker_groups() -> None:
    cluster = {
        "headGroupSpec": {"template": TEMPLATE},
        "workerGroupSpecs": [{"replicas": 2, "numOfHosts": 4, "template": TEMPLATE}],
    }
    found = workload("ray.io/v1:RayCluster", cluster)

    assert roles(found) == [("leader", 1), ("worker", 8)]
    assert found.is_group
    assert [pod.label("app") for pod in found.pods] == ["chat", "chat"]


def test_unknown_worker_groups_leave_the_head() -> None:
    assert roles(workload("ray.io/v1:RayCluster", {"workerGroupSpecs": UNKNOWN})) == [("leader", 1)]


SERVE = """
applications:
  - name: llm
    args:
      llm_configs:
        - model_loading_config: {model_id: chat, model_source: org/m}
          engine_kwargs: {tensor_parallel_size: 2, enforce_eager: true}
"""
DEEP = "{a: " * 12 + "{engine_kwargs: {x: 1}}" + "}" * 12


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SERVE, ("--model=org/m", "--tensor-parallel-size=2", "--enforce-eager")),
        ("model_source: 5", ()),
        ("model_id: chat", ()),
        ("engine_kwargs: text", ()),
        ("text", ()),
        ("a: [1", ()),
        (DEEP, ()),
        (UNKNOWN, ()),
        (None, ()),
    ],
)
def test_engine_options_of_a_ray_application(text: Any, words: tuple[str, ...]) -> None:
    found = workload("ray.io/v1:RayService", {"serveConfigV2": text})

    assert found.serve_words == words
    assert workload("ray.io/v1:RayCluster", {"serveConfigV2": text}).serve_words == ()


def test_a_ray_worker_with_gpus_runs_the_application() -> None:
    worker = container(image="rayproject/ray-llm:2.49", args=["x"], command=["ray"])
    spec = {
        "serveConfigV2": SERVE,
        "rayClusterConfig": {
            "headGroupSpec": {
                "template": {
                    "spec": pod_spec(container(image="rayproject/ray:2", args=["x"], resources={}))
                }
            },
            "workerGroupSpecs": [{"template": {"spec": pod_spec(worker)}}],
        },
    }
    head, first = (pod.containers[0] for pod in workload("ray.io/v1:RayService", spec).pods)

    assert head.engine_arguments is None
    assert first.engine_arguments is not None
    assert first.engine_arguments.path == "spec.serveConfigV2"
    assert first.model == "org/m"
