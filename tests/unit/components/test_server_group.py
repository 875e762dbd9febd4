"""What is declared for a server whose replicas take several nodes."""

from dataclasses import replace
from typing import Any

import pytest

from berth.costs.estimate import Estimate
from components.model_server import ModelServer, ModelServerArgs
from components.platform import Platform, PlatformArgs
from components.summary import summary
from tests.unit.components.engine import RecordingEngine, declare
from tests.unit.components.plans import ON_DEMAND, a_plan, a_pool, a_server

GROUP = "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet"
RELEASE = "kubernetes:helm.sh/v3:Release"
ARGS = (
    *("--model", "deepseek-ai/DeepSeek-V3", "--tensor-parallel-size", "8"),
    *("--pipeline-parallel-size", "2", "--nnodes", "2", "--shutdown-timeout", "60"),
)
SERVER = a_server(gpus_per_replica=16, nodes_per_replica=2, nodes=4, vllm_args=ARGS)
POOL = a_pool(capacity=ON_DEMAND, nodes_per_replica=2, efa_interfaces=32, planned_nodes=4)


def server_group(nodes_expected: bool = True, **changes: Any) -> RecordingEngine:
    args = ModelServerArgs(
        plan=replace(SERVER, **changes), pool=POOL, nodes_expected=nodes_expected
    )
    return declare(lambda: ModelServer("berth-chat", args))


@pytest.fixture(scope="module")
def engine() -> RecordingEngine:
    return server_group()


def container(engine: RecordingEngine, role: str) -> dict[str, Any]:
    template = engine.one(GROUP)["spec"]["leaderWorkerTemplate"][f"{role}Template"]
    (found,) = template["spec"]["containers"]
    body: dict[str, Any] = found
    return body


def test_one_group_of_pods_stands_for_each_replica(engine: RecordingEngine) -> None:
    spec = engine.one(GROUP)["spec"]

    assert engine.all("kubernetes:apps/v1:Deployment") == {}
    assert (spec["replicas"], spec["leaderWorkerTemplate"]["size"]) == (2, 2)


def test_a_group_starts_together_and_begins_anew_together(engine: RecordingEngine) -> None:
    """Ranks wait for each other while loading, and a lost one cannot join again."""
    spec = engine.one(GROUP)["spec"]

    assert spec["startupPolicy"] == "LeaderCreated"
    assert spec["leaderWorkerTemplate"]["restartPolicy"] == "RecreateGroupOnPodRestart"


@pytest.mark.parametrize(
    ("rollout", "surge", "unavailable"),
    [("surge", 1, 0), ("one_by_one", 0, 1), ("recreate", 0, 1)],
)
def test_a_new_version_comes_group_by_group(rollout: Any, surge: int, unavailable: int) -> None:
    spec = server_group(rollout=rollout).one(GROUP)["spec"]

    assert spec["rolloutStrategy"]["rollingUpdateConfiguration"] == {
        "maxSurge": surge,
        "maxUnavailable": unavailable,
    }


def test_every_rank_has_its_number_and_the_first_ones_address(engine: RecordingEngine) -> None:
    ranks = ["--node-rank", "$(LWS_WORKER_INDEX)", "--master-addr", "$(LWS_LEADER_ADDRESS)"]

    assert container(engine, "leader")["args"] == [*ARGS, *ranks]
    assert container(engine, "worker")["args"] == [*ARGS, *ranks, "--headless"]


def test_only_the_first_rank_listens_and_is_asked(engine: RecordingEngine) -> None:
    probes = {"startupProbe", "readinessProbe", "livenessProbe", "ports"}
    selector = engine.one("kubernetes:core/v1:Service")["spec"]["selector"]

    assert probes <= set(container(engine, "leader"))
    assert not probes & set(container(engine, "worker"))
    assert selector["leaderworkerset.sigs.k8s.io/worker-index"] == "0"


def test_each_pod_takes_the_gpus_and_interfaces_of_its_node(engine: RecordingEngine) -> None:
    for role in ("leader", "worker"):
        resources = container(engine, role)["resources"]
        assert resources["limits"] == resources["requests"]
        assert resources["limits"]["nvidia.com/gpu"] == "8"
        assert resources["limits"]["vpc.amazonaws.com/efa"] == "32"
        assert container(engine, role)["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]


def test_a_server_in_one_node_beside_it_leaves_the_interfaces(engine: RecordingEngine) -> None:
    args = ModelServerArgs(plan=a_server(), pool=POOL, nodes_expected=True)
    deployment = declare(lambda: ModelServer("berth-chat", args)).one(
        "kubernetes:apps/v1:Deployment"
    )
    (found,) = deployment["spec"]["template"]["spec"]["containers"]

    assert "vpc.amazonaws.com/efa" not in found["resources"]["limits"]
    assert "add" not in found["securityContext"]["capabilities"]


@pytest.mark.parametrize(
    ("nodes_expected", "annotations"),
    [(True, {"pulumi.com/waitFor": "condition=Available"}), (False, None)],
)
def test_up_waits_for_groups_whose_nodes_can_come(nodes_expected: bool, annotations: Any) -> None:
    metadata = server_group(nodes_expected).one(GROUP)["metadata"]

    assert metadata.get("annotations") == annotations


def test_its_own_service_and_the_groups_have_other_names(engine: RecordingEngine) -> None:
    """The controller makes a Service that is called like the group."""
    assert engine.one(GROUP)["metadata"]["name"] == "chat-group"
    assert engine.one("kubernetes:core/v1:Service")["metadata"]["name"] == "chat"


def test_the_controller_is_pinned_and_off_the_gpu_nodes() -> None:
    plan = a_plan(pools={"h100": POOL}, servers={"chat": SERVER}, group_controller_version="0.10.0")
    engine = declare(lambda: Platform("berth", PlatformArgs(plan=plan, stack="s")))
    release = engine.one(RELEASE, "berth-lws")

    assert release["chart"] == "oci://registry.k8s.io/lws/charts/lws"
    assert (release["version"], release["namespace"]) == ("0.10.0", "lws-system")
    assert release["values"] == {
        "image": {"manager": {"tag": "v0.10.0", "pullPolicy": "IfNotPresent"}},
        "nodeSelector": {"berth-gpu/role": "system"},
    }


@pytest.mark.parametrize(("efa_interfaces", "lines"), [(32, 1), (0, 0)])
def test_the_author_is_told_that_the_image_needs_the_fabrics_libraries(
    efa_interfaces: int, lines: int
) -> None:
    pool = replace(POOL, efa_interfaces=efa_interfaces)
    plan = a_plan(pools={"h100": pool}, servers={"chat": SERVER})
    said = summary(plan, Estimate(lines=[], one_off=[], unpriced=[]), has_token=True)

    assert sum("must hold libfabric" in line for line in said) == lines


@pytest.mark.parametrize(("version", "lines"), [("0.10.0", 0), (None, 1)])
def test_the_author_is_told_that_the_cluster_needs_the_controller(
    version: str | None, lines: int
) -> None:
    plan = a_plan(pools={"h100": POOL}, servers={"chat": SERVER}, group_controller_version=version)
    said = summary(plan, Estimate(lines=[], one_off=[], unpriced=[]), has_token=True)

    assert sum(line.startswith("LeaderWorkerSet: not installed") for line in said) == lines
