"""The control plane, who may use it, its add-ons and its system nodes."""

import json
from typing import Any

import pulumi
import pytest

from berth.config.stack import NewCluster, PublicEndpoint
from berth.planner.plan import SystemPool
from components.cluster import Cluster, ClusterArgs
from tests.unit.components.engine import RecordingEngine, declare

ADMIN = "arn:aws:iam::111122223333:role/team/PlatformAdmin"
PRIVATE = NewCluster(kubernetes_version="1.35", endpoint="private", admin_role_arns=(ADMIN,))


def cluster(config: NewCluster = PRIVATE, region: str = "us-east-1") -> RecordingEngine:
    return declare(lambda: _build(config, region))


def _build(config: NewCluster, region: str = "us-east-1") -> Cluster:
    args = ClusterArgs(
        config=config,
        system_pool=SystemPool(instance_type="m7i.large", nodes=2),
        region=region,
        stack="h100-prod",
        subnet_ids=["subnet-a", "subnet-b"],
        tags={"berth:stack": "h100-prod"},
    )
    return Cluster("berth", args)


@pytest.fixture(scope="module")
def engine() -> RecordingEngine:
    return cluster()


def control_plane(engine: RecordingEngine) -> dict[str, Any]:
    return engine.one("aws:eks/cluster:Cluster")


def test_a_private_endpoint_is_not_public(engine: RecordingEngine) -> None:
    assert control_plane(engine)["vpcConfig"] == {
        "subnetIds": ["subnet-a", "subnet-b"],
        "endpointPrivateAccess": True,
        "endpointPublicAccess": False,
    }


def test_a_public_endpoint_is_open_to_the_named_networks_only() -> None:
    public = NewCluster(
        kubernetes_version="1.35", endpoint=PublicEndpoint(public_cidrs=("203.0.113.0/24",))
    )

    config = control_plane(cluster(public))["vpcConfig"]

    assert config["endpointPublicAccess"] is True
    assert config["publicAccessCidrs"] == ["203.0.113.0/24"]
    assert config["endpointPrivateAccess"] is True


def test_access_goes_by_entries(engine: RecordingEngine) -> None:
    assert control_plane(engine)["accessConfig"] == {
        "authenticationMode": "API",
        "bootstrapClusterCreatorAdminPermissions": True,
    }
    association = engine.one(
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
        "berth-111122223333-role-PlatformAdmin",
    )
    assert association["principalArn"] == ADMIN
    assert association["accessScope"] == {"type": "cluster"}
    assert (
        association["policyArn"]
        == "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
    )


def test_secrets_are_encrypted_with_a_key_of_the_stack(engine: RecordingEngine) -> None:
    assert control_plane(engine)["encryptionConfig"]["resources"] == ["secrets"]
    assert engine.one("aws:kms/key:Key")["enableKeyRotation"] is True


def test_all_logs_of_the_control_plane_are_kept(engine: RecordingEngine) -> None:
    assert sorted(control_plane(engine)["enabledClusterLogTypes"]) == [
        "api",
        "audit",
        "authenticator",
        "controllerManager",
        "scheduler",
    ]


def test_addons_are_those_of_eks_at_versions_that_eks_chooses(engine: RecordingEngine) -> None:
    addons = engine.all("aws:eks/addon:Addon").values()

    assert sorted(addon["addonName"] for addon in addons) == [
        "aws-ebs-csi-driver",
        "coredns",
        "eks-node-monitoring-agent",
        "eks-pod-identity-agent",
        "kube-proxy",
        "metrics-server",
        "vpc-cni",
    ]
    assert not any("addonVersion" in addon for addon in addons)
    assert control_plane(engine)["bootstrapSelfManagedAddons"] is False


def test_network_policies_are_enforced(engine: RecordingEngine) -> None:
    cni = engine.one("aws:eks/addon:Addon", "berth-vpc-cni")

    assert json.loads(cni["configurationValues"]) == {"enableNetworkPolicy": "true"}


def test_system_nodes_are_as_planned(engine: RecordingEngine) -> None:
    group = engine.one("aws:eks/nodeGroup:NodeGroup")

    assert group["instanceTypes"] == ["m7i.large"]
    assert group["scalingConfig"] == {"minSize": 2, "desiredSize": 2, "maxSize": 2}
    assert group["amiType"] == "AL2023_x86_64_STANDARD"
    assert group["labels"] == {"berth-gpu/role": "system"}


def test_nodes_open_shells_by_ssm_and_not_by_ssh(engine: RecordingEngine) -> None:
    policies = {
        each["policyArn"].rpartition("/")[2]
        for each in engine.all("aws:iam/rolePolicyAttachment:RolePolicyAttachment").values()
    }

    assert "AmazonSSMManagedInstanceCore" in policies
    assert "remoteAccess" not in engine.one("aws:eks/nodeGroup:NodeGroup")


def test_arns_are_those_of_the_regions_partition() -> None:
    engine = cluster(region="us-gov-west-1")

    arns = [
        each["policyArn"]
        for each in engine.all("aws:iam/rolePolicyAttachment:RolePolicyAttachment").values()
    ]
    assert {arn.split(":")[1] for arn in arns} == {"aws-us-gov"}


def test_the_kubeconfig_asks_for_a_token_and_holds_none() -> None:
    texts: list[str] = []

    def build() -> pulumi.Output[None]:
        return _build(PRIVATE).kubeconfig.apply(texts.append)

    declare(build)

    (text,) = texts
    config = json.loads(text)
    user = config["users"][0]["user"]
    assert list(user) == ["exec"]
    assert user["exec"]["command"] == "aws"
    assert user["exec"]["args"][:4] == ["eks", "get-token", "--cluster-name", "berth-1a2b3c4"]
    assert config["clusters"][0]["cluster"] == {
        "server": "https://0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com",
        "certificate-authority-data": "Q0VSVA==",
    }
