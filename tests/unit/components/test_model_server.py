"""The Deployment, Service and disruption budget of one model server."""

from typing import Any

import pytest

from berth.planner.plan import PoolPlan, ServerPlan
from components.model_pod import termination_grace_s
from components.model_server import ModelServer, ModelServerArgs
from tests.unit.components.engine import RecordingEngine, declare
from tests.unit.components.plans import a_pool, a_server, an_existing_pool

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
SERVICE = "kubernetes:core/v1:Service"
BUDGET = "kubernetes:policy/v1:PodDisruptionBudget"
SKIP_AWAIT = "pulumi.com/skipAwait"


def server(
    plan: ServerPlan | None = None, pool: PoolPlan | None = None, nodes_expected: bool = True
) -> RecordingEngine:
    args = ModelServerArgs(
        plan=plan or a_server(), pool=pool or a_pool(), nodes_expected=nodes_expected
    )
    return declare(lambda: ModelServer("berth-chat", args))


@pytest.fixture(scope="module")
def engine() -> RecordingEngine:
    return server()


@pytest.fixture
def pod(engine: RecordingEngine) -> dict[str, Any]:
    spec: dict[str, Any] = engine.one(DEPLOYMENT)["spec"]["template"]["spec"]
    return spec


@pytest.fixture
def container(pod: dict[str, Any]) -> dict[str, Any]:
    (only,) = pod["containers"]
    found: dict[str, Any] = only
    return found


def test_every_selector_matches_the_labels_of_the_pods(engine: RecordingEngine) -> None:
    spec = engine.one(DEPLOYMENT)["spec"]
    labels = spec["template"]["metadata"]["labels"].items()

    assert spec["selector"]["matchLabels"].items() <= labels
    assert engine.one(SERVICE)["spec"]["selector"].items() <= labels
    assert engine.one(BUDGET)["spec"]["selector"]["matchLabels"].items() <= labels


def test_no_selector_matches_the_pods_of_another_server(engine: RecordingEngine) -> None:
    other = declare(
        lambda: ModelServer(
            "berth-code",
            ModelServerArgs(plan=a_server(name="code"), pool=a_pool(), nodes_expected=True),
        )
    )
    labels = other.one(DEPLOYMENT)["spec"]["template"]["metadata"]["labels"].items()

    assert not engine.one(DEPLOYMENT)["spec"]["selector"]["matchLabels"].items() <= labels


def test_requests_equal_limits(container: dict[str, Any]) -> None:
    resources = container["resources"]

    assert resources["limits"] == {"cpu": "32", "memory": "128Gi", "nvidia.com/gpu": "2"}
    assert resources["requests"] == resources["limits"]


def test_vllm_runs_with_the_arguments_of_the_plan(container: dict[str, Any]) -> None:
    assert container["image"] == "vllm/vllm-openai:v0.32.0"
    assert tuple(container["args"]) == a_server().vllm_args


def test_the_token_comes_from_a_secret_and_must_be_there(container: dict[str, Any]) -> None:
    assert container["env"] == [
        {
            "name": "HF_TOKEN",
            "valueFrom": {"secretKeyRef": {"name": "hf-token", "key": "HF_TOKEN"}},
        }
    ]


def test_a_service_called_vllm_could_not_set_its_port(pod: dict[str, Any]) -> None:
    assert pod["enableServiceLinks"] is False


def test_workers_share_memory_of_the_planned_size(
    pod: dict[str, Any], container: dict[str, Any]
) -> None:
    volumes = {each["name"]: each["emptyDir"] for each in pod["volumes"]}
    mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}

    assert volumes[mounts["/dev/shm"]] == {"medium": "Memory", "sizeLimit": "16Gi"}
    assert volumes[mounts["/root/.cache/huggingface"]] == {"sizeLimit": "100Gi"}


def test_the_startup_probe_waits_at_least_the_budget(container: dict[str, Any]) -> None:
    probe = container["startupProbe"]

    # 1,795 s in periods of 10 s are 180, the last of them not full.
    assert (probe["periodSeconds"], probe["failureThreshold"]) == (10, 180)
    assert container["readinessProbe"]["timeoutSeconds"] == 5
    assert container["livenessProbe"]["failureThreshold"] >= 3


def test_kubernetes_and_pulumi_wait_longer_than_the_probe(engine: RecordingEngine) -> None:
    assert engine.one(DEPLOYMENT)["spec"]["progressDeadlineSeconds"] > 1800


@pytest.mark.parametrize(
    ("vllm_args", "expected_s"),
    [
        pytest.param((), 45, id="no-drain-15-and-30"),
        pytest.param(("--shutdown-timeout", "60"), 105, id="drain-of-60"),
        pytest.param(("--shutdown-timeout=60", "--port=8000"), 105, id="written-with-equals"),
    ],
)
def test_the_kill_comes_after_pause_drain_and_margin(
    vllm_args: tuple[str, ...], expected_s: int
) -> None:
    assert termination_grace_s(vllm_args) == expected_s


def test_the_pod_has_no_rights_that_it_does_not_need(
    pod: dict[str, Any], container: dict[str, Any]
) -> None:
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }


def test_rocm_gets_the_two_rights_that_it_needs() -> None:
    engine = server(a_server(gpu_resource="amd.com/gpu"), an_existing_pool())

    pod = engine.one(DEPLOYMENT)["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"seccompProfile": {"type": "Unconfined"}}
    assert pod["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], "add": ["SYS_PTRACE"]},
    }


@pytest.mark.parametrize(
    ("rollout", "expected"),
    [
        pytest.param(
            "surge",
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            id="spare-gpus",
        ),
        pytest.param(
            "one_by_one",
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            id="no-spare-gpus",
        ),
        pytest.param("recreate", {"type": "Recreate"}, id="one-replica"),
    ],
)
def test_the_rollout_is_the_planned_one(rollout: str, expected: dict[str, Any]) -> None:
    engine = server(a_server(rollout=rollout))

    assert engine.one(DEPLOYMENT)["spec"]["strategy"] == expected


def test_only_the_cluster_reaches_the_service(engine: RecordingEngine) -> None:
    spec = engine.one(SERVICE)["spec"]

    assert spec["type"] == "ClusterIP"
    assert spec["ports"] == [{"name": "http", "port": 8000, "targetPort": "http"}]


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [pytest.param(1, 0, id="one"), pytest.param(2, 1, id="two")],
)
def test_a_drain_leaves_a_replica_where_there_are_two(replicas: int, expected: int) -> None:
    engine = server(a_server(replicas=replicas))

    assert len(engine.all(BUDGET)) == expected


@pytest.mark.parametrize(
    ("replicas", "nodes_expected", "skips"),
    [
        pytest.param(2, True, False, id="replicas-and-nodes"),
        pytest.param(0, True, True, id="no-replica"),
        pytest.param(2, False, True, id="block-not-open"),
    ],
)
def test_up_waits_only_for_replicas_that_can_start(
    replicas: int, nodes_expected: bool, skips: bool
) -> None:
    engine = server(a_server(replicas=replicas), nodes_expected=nodes_expected)

    annotations = engine.one(DEPLOYMENT)["metadata"].get("annotations", {})
    assert (annotations.get(SKIP_AWAIT) == "true") is skips
