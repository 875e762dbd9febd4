"""A whole stack: what is declared, in which relation, and what a change leaves alone."""

import json
from collections import Counter
from typing import Any

import pulumi
import pytest

from berth.config.stack import NewCluster
from berth.planner.plan import Ownership, Plan
from components.platform import Platform, PlatformArgs
from tests.unit.components.engine import RecordingEngine, declare
from tests.unit.components.plans import (
    a_plan,
    a_pool,
    a_server,
    an_existing_plan,
    an_l4_pool,
)

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
RELEASE = "kubernetes:helm.sh/v3:Release"
SECRET = "kubernetes:core/v1:Secret"

SECRET_MARK = "4dabf18193072939515e22adb298388d"
SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270"
"""How Pulumi's protocol marks a secret: sdk/go/common/resource/properties.go of pulumi/pulumi."""


def platform(plan: Plan, hf_token: pulumi.Input[str] | None = None) -> RecordingEngine:
    return declare(
        lambda: Platform("berth", PlatformArgs(plan=plan, stack="h100-prod", hf_token=hf_token))
    )


def two_tiers() -> Plan:
    return a_plan(
        pools={"h100": a_pool(), "l4": an_l4_pool()},
        servers={
            "chat": a_server(),
            "small": a_server(name="small", tier="l4", gpus_per_replica=1, replicas=1),
        },
    )


@pytest.fixture(scope="module")
def h100() -> RecordingEngine:
    return platform(a_plan())


@pytest.fixture(scope="module")
def mixed() -> RecordingEngine:
    return platform(two_tiers())


def pod_of(engine: RecordingEngine, name: str = "berth-chat") -> dict[str, Any]:
    pod: dict[str, Any] = engine.one(DEPLOYMENT, name)["spec"]["template"]["spec"]
    return pod


@pytest.mark.parametrize(
    ("token", "count"),
    [
        pytest.param("aws:ec2/vpc:Vpc", 1, id="vpc"),
        pytest.param("aws:ec2/subnet:Subnet", 4, id="public-and-private-in-two-zones"),
        pytest.param("aws:ec2/natGateway:NatGateway", 1, id="nat-gateway"),
        pytest.param("aws:ec2/vpcEndpoint:VpcEndpoint", 3, id="s3-and-two-of-ecr"),
        pytest.param("aws:eks/cluster:Cluster", 1, id="cluster"),
        pytest.param("aws:eks/accessEntry:AccessEntry", 1, id="access-entry"),
        pytest.param(NODE_GROUP, 2, id="system-and-gpu-nodes"),
        pytest.param("aws:ec2/launchTemplate:LaunchTemplate", 2, id="a-template-each"),
        pytest.param(RELEASE, 1, id="gpu-operator"),
        pytest.param(DEPLOYMENT, 1, id="model-server"),
        pytest.param("kubernetes:core/v1:Service", 1, id="service"),
    ],
)
def test_a_new_cluster_has_everything(h100: RecordingEngine, token: str, count: int) -> None:
    assert len(h100.all(token)) == count


def test_every_component_has_its_fixed_type(h100: RecordingEngine) -> None:
    types = {token for token, _ in h100.identities() if token.startswith("berth:")}

    assert types == {
        "berth:index:Platform",
        "berth:index:Network",
        "berth:index:Cluster",
        "berth:index:GpuNodeGroup",
        "berth:index:NvidiaGpuOperator",
        "berth:index:ModelServer",
    }


def test_no_two_resources_of_a_type_share_a_name(mixed: RecordingEngine) -> None:
    assert max(Counter(mixed.identities()).values()) == 1


def test_another_tier_renames_nothing(h100: RecordingEngine, mixed: RecordingEngine) -> None:
    assert set(h100.identities()) <= set(mixed.identities())


def test_the_order_of_tiers_and_servers_changes_no_input(mixed: RecordingEngine) -> None:
    plan = two_tiers()
    turned = a_plan(
        pools=dict(reversed(list(plan.pools.items()))),
        servers=dict(reversed(list(plan.servers.items()))),
    )

    again = platform(turned)

    assert {(each.typ, each.name): each.inputs for each in again.declared} == {
        (each.typ, each.name): each.inputs for each in mixed.declared
    }


def test_every_node_selector_is_a_static_label_of_its_node_group(mixed: RecordingEngine) -> None:
    labels = {name: group["labels"] for name, group in mixed.all(NODE_GROUP).items()}

    assert pod_of(mixed, "berth-chat")["nodeSelector"].items() <= labels["berth-h100"].items()
    assert pod_of(mixed, "berth-small")["nodeSelector"].items() <= labels["berth-l4"].items()
    operator = mixed.one(RELEASE)["values"]["operator"]
    assert operator["nodeSelector"].items() <= labels["berth-system"].items()


def test_no_selector_matches_a_second_node_group(mixed: RecordingEngine) -> None:
    selector = pod_of(mixed, "berth-chat")["nodeSelector"].items()

    matching = [
        name for name, group in mixed.all(NODE_GROUP).items() if selector <= group["labels"].items()
    ]

    assert matching == ["berth-h100"]


def tolerates(tolerations: list[dict[str, Any]], taint: dict[str, Any]) -> bool:
    effects = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute"}
    return any(
        each["key"] == taint["key"]
        and each["operator"] == "Exists"
        and each["effect"] == effects[taint["effect"]]
        for each in tolerations
    )


@pytest.mark.parametrize("group", ["berth-h100", "berth-l4"])
def test_all_that_must_run_on_gpu_nodes_tolerates_their_taint(
    mixed: RecordingEngine, group: str
) -> None:
    (taint,) = mixed.one(NODE_GROUP, group)["taints"]
    values = mixed.one(RELEASE)["values"]
    agent = json.loads(
        mixed.one("aws:eks/addon:Addon", "berth-eks-node-monitoring-agent")["configurationValues"]
    )

    assert tolerates(pod_of(mixed)["tolerations"], taint)
    assert tolerates(values["daemonsets"]["tolerations"], taint)
    assert tolerates(values["node-feature-discovery"]["worker"]["tolerations"], taint)
    assert tolerates(agent["dcgmAgent"]["tolerations"], taint)


def test_system_nodes_are_not_tainted(h100: RecordingEngine) -> None:
    assert "taints" not in h100.one(NODE_GROUP, "berth-system")


def test_everything_in_aws_carries_the_stack_and_its_environment(h100: RecordingEngine) -> None:
    provider = h100.one("pulumi:providers:aws")

    assert json.loads(provider["defaultTags"]) == {
        "tags": {"berth:stack": "h100-prod", "berth:environment": "prod"}
    }
    assert provider["region"] == "us-east-1"


def test_an_existing_cluster_gets_nothing_in_aws() -> None:
    engine = platform(an_existing_plan())

    assert [token for token, _ in engine.identities() if token.startswith("aws:")] == []
    assert engine.all("pulumi:providers:aws") == {}
    assert engine.one("pulumi:providers:kubernetes") == {
        "kubeconfig": "~/.kube/config",
        "context": "mi300x",
    }


def test_amd_servers_ask_for_amd_gpus_and_tolerate_their_taint() -> None:
    engine = platform(an_existing_plan())

    pod = pod_of(engine)
    assert pod["containers"][0]["resources"]["limits"]["amd.com/gpu"] == "2"
    assert [each["key"] for each in pod["tolerations"]] == ["amd.com/gpu"]


def test_a_token_of_the_stack_becomes_the_secret_that_servers_read() -> None:
    engine = platform(a_plan(), hf_token="hf_example")

    secret = engine.one(SECRET)
    (variable,) = pod_of(engine)["containers"][0]["env"]
    assert secret["metadata"]["name"] == variable["valueFrom"]["secretKeyRef"]["name"]
    assert secret["metadata"]["namespace"] == engine.one(DEPLOYMENT)["metadata"]["namespace"]
    # Wrapped: the engine keeps it encrypted and shows `[secret]`.
    assert secret["stringData"][SECRET_MARK] == SECRET_SIGNATURE
    key = variable["valueFrom"]["secretKeyRef"]["key"]
    assert secret["stringData"]["value"] == {key: "hf_example"}


def test_without_a_token_the_secret_is_somebody_elses(h100: RecordingEngine) -> None:
    assert h100.all(SECRET) == {}


def test_no_gpu_software_where_no_pool_needs_it() -> None:
    engine = platform(a_plan(gpu_software=None))

    assert engine.all(RELEASE) == {}


def test_a_new_cluster_without_a_region_is_no_plan() -> None:
    assert isinstance(a_plan().cluster, NewCluster)
    with pytest.raises(ValueError, match="has region and system pool"):
        platform(a_plan(region=None))


def test_everything_that_costs_says_who_pays() -> None:
    """The provider's tags reach what has none of its own; instances and disks inherit neither."""
    theirs = Ownership(owner="search", cost_center="4712")
    plan = a_plan(
        ownership=Ownership(owner="platform", cost_center="4711"),
        pools={"h100": a_pool(ownership=theirs)},
    )
    engine = platform(plan)
    ours = {"berth:owner": "platform", "berth:cost-center": "4711"}
    tags = {"berth:owner": "search", "berth:cost-center": "4712"}

    provider = engine.one("pulumi:providers:aws")
    assert ours.items() <= json.loads(provider["defaultTags"])["tags"].items()
    groups = {each["labels"]["berth-gpu/role"]: each for each in engine.all(NODE_GROUP).values()}
    assert tags.items() <= groups["gpu"]["tags"].items()
    templates = {
        each["tags"]["Name"].rpartition("-")[2]: each
        for each in engine.all("aws:ec2/launchTemplate:LaunchTemplate").values()
    }
    for name, expected in (("h100", tags), ("system", ours)):
        for kind in templates[name]["tagSpecifications"]:
            assert expected.items() <= kind["tags"].items()


def test_objects_of_a_server_are_labelled_with_the_owner_of_its_tier() -> None:
    plan = a_plan(pools={"h100": a_pool(ownership=Ownership(owner="search", cost_center=None))})
    engine = platform(plan)
    deployment = engine.one(DEPLOYMENT)

    for metadata in (deployment["metadata"], deployment["spec"]["template"]["metadata"]):
        assert metadata["labels"]["berth-gpu/owner"] == "search"
        assert "berth-gpu/cost-center" not in metadata["labels"]
    assert "berth-gpu/owner" not in deployment["spec"]["selector"]["matchLabels"]


def test_namespaces_are_labelled_with_the_owner_of_the_stack() -> None:
    engine = platform(a_plan(ownership=Ownership(owner="platform", cost_center="4711")))
    labels = [
        each["metadata"]["labels"] for each in engine.all("kubernetes:core/v1:Namespace").values()
    ]

    assert len(labels) == 2
    assert all(each["berth-gpu/owner"] == "platform" for each in labels)
    assert all(each["berth-gpu/cost-center"] == "4711" for each in labels)
